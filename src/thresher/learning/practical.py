"""The schedule that people run: the paper's shape with calibrated constants.

What stays: phase 1 looks everywhere with radii 1 and √s; later phases have ρ = √(2s)·r, a band and
a hinge scale proportional to r, and an outlier fraction proportional to η over the band's mass.
What changes is named in docs/departures.md, and each change can be switched off here.
"""

import math
from dataclasses import Field, dataclass, fields, replace
from typing import Any, Self

from thresher.learning.history import History
from thresher.learning.posterior import UNCERTAIN_FEATURES
from thresher.learning.task import Cost, Phase, Task
from thresher.oracles import Draw
from thresher.validation import check_count, check_positive, check_switch


@dataclass(frozen=True, kw_only=True)
class PracticalSchedule:
    """Radii, bands, sample sizes and stopping rules with which the learner works in practice.

    Every constant was calibrated on simulated runs; none depends on the data it is used on.

    Parameters
    ----------
    first_radius : l2 radius of the second phase
    shrink : factor from one l2 radius to the next, while there is progress
    band_factor : band width over l2 radius
    hinge_factor : hinge scale over band width
    first_hinge_scale : hinge scale of the first phase, whose band is everything
    radius_per_angle : last l2 radius over the angle that belongs to the target error; a phase ends
        about this factor closer than its radius
    max_dirty_share : the narrowest band is the one in which an adversary who puts every dirty row
        there would own this share; learning stops there
    outlier_margin : outlier fraction over the expected share of dirty rows in the band
    max_outlier_fraction : no phase gives up more of its weight than this
    first_label_share : share of the labels that the first phase gets
    labels_per_floor : labels in all, over s(log2(1/ε) + log2(d/s)), when no budget is given
    clean_labels_per_floor : the same for a posterior without noise; in between, it grows with the
        noise rate up to half of the target error
    min_labels_per_phase : over the sparsity; a smaller budget means fewer phases
    unlabeled_factor : rows a phase over s²·ln d, between `min_unlabeled` and `max_unlabeled`
    min_unlabeled, max_unlabeled : bounds of the rows a phase draws
    variance_tolerance : a phase is certified if the proven variance of its weights exceeds what is
        proven for any weights by at most this, relatively. Ordinary phases stay below .5 (median
        .17 of 250), those with fewer rows than features below .8
    loss_tolerance : how far above its minimum the hinge loss may stay
    reuse_labels : let labels of earlier phases that lie in the band count again
    keep_radius_without_progress : do not shrink the radius after a phase whose fresh labels put
        the target outside the search region
    measure_band_mass : divide the noise rate by the share of draws that fell into the band, instead
        of by the mass that a Gaussian would have there
    keep_label_aware_fraction : with `label_aware`, do not divide the outlier fraction by the band's
        mass: rows that earlier phases distrusted stay distrusted
    count_distinct_labels : let the labels of a run count distinct rows, since a row is paid once;
        without it, every draw of line 8 counts, repetitions too
    sparse_removal : look for suspicious variance in sparse directions; without it, in all (the
        trace constraint alone, as Awasthi, Balcan and Long do)
    label_aware : with `use_every_row`, let labels help to judge the rows: variance is measured
        around the median of each class, in columns of equal mean square, and the rows with the
        largest losses are left out of the hinge loss
    trim_factor : with `label_aware`, the share of weight left out, over the noise rate
    use_every_row : let every row of the pool count with its weight, instead of drawing a sample by
        weight; for labels that cost nothing
    positive_weight : what a positive row costs in the hinge loss, relative to a negative one
    use_posterior : with labels that are bought, ask about rows close to the boundary in a posterior
        of the halfspace, and let its mean be the halfspace; without it, lines 8 and 10 of the paper
    candidates_per_feature : features that the posterior looks at, over the sparsity
    max_candidates : the posterior looks at no more; if that is less than three times the sparsity,
        there is none
    max_followed_share : questions are drawn from rows so close to the boundary that an adversary
        who puts every planted row there would own this share of them
    questions_per_feature : questions of one round, over the sparsity
    variance_factor : None for the least-variance form; a number C for the paper's form, weights
        whose variance is at most C(b² + r²)

    Examples
    --------
    >>> task = Task(n_features=500, sparsity=10, noise_rate=0.05, label_budget=1500)
    >>> schedule = PracticalSchedule()
    >>> schedule.n_phases(task), schedule.next_phase(task, ()).n_queries
    (6, 750)
    """

    first_radius: float = 0.5
    shrink: float = 0.6
    band_factor: float = 2.0
    hinge_factor: float = 0.5
    first_hinge_scale: float = 0.7
    radius_per_angle: float = 2.2
    max_dirty_share: float = 0.3
    outlier_margin: float = 1.5
    max_outlier_fraction: float = 0.35
    first_label_share: float = 0.5
    labels_per_floor: float = 10.0
    clean_labels_per_floor: float = 3.0
    min_labels_per_phase: float = 6.0
    unlabeled_factor: float = 20.0
    min_unlabeled: int = 4000
    max_unlabeled: int = 20_000
    variance_tolerance: float = 0.8
    loss_tolerance: float = 3e-3
    reuse_labels: bool = True
    keep_radius_without_progress: bool = True
    measure_band_mass: bool = True
    keep_label_aware_fraction: bool = True
    count_distinct_labels: bool = True
    sparse_removal: bool = True
    use_every_row: bool = False
    label_aware: bool = False
    trim_factor: float = 0.5
    positive_weight: float = 1.0
    use_posterior: bool = True
    candidates_per_feature: float = 10.0
    max_candidates: int = 300
    max_followed_share: float = 0.1
    questions_per_feature: float = 2.0
    variance_factor: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, _checked(getattr(self, item.name), item))
        for name in (
            "shrink",
            "max_outlier_fraction",
            "max_dirty_share",
            "first_label_share",
            "max_followed_share",
        ):
            if not getattr(self, name) < 1:
                raise ValueError(f"{name} must be below 1, got {getattr(self, name)}")
        if self.label_aware and not self.use_every_row:
            raise ValueError("label_aware needs use_every_row: labels that are bought come last")
        if self.min_unlabeled > self.max_unlabeled:
            raise ValueError(
                f"min_unlabeled must be at most max_unlabeled = {self.max_unlabeled}, "
                f"got {self.min_unlabeled}"
            )

    # -- the interface of a schedule ---------------------------------------------------------

    def next_phase(self, task: Task, history: History) -> Phase | None:
        """The next phase, or None when the radius, the noise or the budget says to stop."""
        n_phases, index = self.n_phases(task), len(history) + 1
        left = self.n_labels(task) - self._n_spent(history)
        if index > n_phases or self._is_exhausted(task, history, left):
            return None
        n_queries = self._n_queries(task, index, n_phases, left)
        r = 1.0 if index == 1 else self._radius(task, history)
        b = self.band_factor * r
        rho = math.sqrt(task.sparsity if index == 1 else 2 * task.sparsity) * r
        return Phase(
            index=index,
            band_width=b,
            l2_radius=r,
            l1_radius=rho,
            removal_l1_radius=rho if self.sparse_removal else math.sqrt(task.n_features) * r,
            hinge_scale=self.first_hinge_scale if index == 1 else self.hinge_factor * b,
            loss_tolerance=self.loss_tolerance,
            outlier_fraction=self._capped(self.outlier_margin * task.noise_rate),
            max_variance=self._max_variance(b, r),
            variance_tolerance=self.variance_tolerance,
            **draw_limits(self._n_unlabeled(task), task.n_features, b),
            n_queries=None if self.use_every_row else n_queries,
            failure_probability=None,
            label_aware=self.label_aware,
            trimmed_share=self.trim_factor * task.noise_rate if self.label_aware else 0.0,
            positive_weight=self.positive_weight,
            **self._questions(task, index),
        )

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase | None:
        """The phase with its outlier fraction divided by the band's mass, measured as kept/drawn.

        Departure: the paper bounds the mass by c8·b beforehand. And a label-aware phase remembers
        whom earlier ones distrusted, and keeps its fraction. None ends learning there: an adversary
        might own more than `max_dirty_share` of the band.
        """
        mass = min(GAUSSIAN_MASS_PER_WIDTH * phase.band_width, 1.0)
        if self.measure_band_mass:
            mass = drawn.n_rows / max(drawn.n_drawn, 1)
        if self.label_aware:
            eta = phase.trimmed_share / self.trim_factor
            is_owned = eta > self.max_dirty_share * (eta + (1 - eta) * mass)
            if phase.index > 1 and is_owned:
                return None
            if self.keep_label_aware_fraction:
                return phase
        mass = max(mass, 1e-9)
        share = phase.question_share / mass
        return replace(
            phase,
            outlier_fraction=self._capped(phase.outlier_fraction / mass),
            dirty_share=self._capped(phase.dirty_share / mass),
            question_share=share if share < WORTH_CHOOSING else 1.0,
        )

    def n_phases(self, task: Task) -> int:
        """How many phases the task gets: the fewest that radius, noise and labels allow.

        Departure: the paper's number follows from the target error alone, because its theorem
        assumes a noise rate small enough for it.
        """
        angle = math.pi * self._target_error(task)
        last_radius = max(
            self.radius_per_angle * angle, self._narrowest_band(task) / self.band_factor
        )
        n_shrinking = math.log(min(last_radius / self.first_radius, 1.0)) / math.log(self.shrink)
        n_phases = 2 + math.floor(n_shrinking + 0.5)
        if not self.use_every_row:
            needed, n_labels = self.min_labels_per_phase * task.sparsity, self.n_labels(task)
            n_later = math.floor((1 - self.first_label_share) * n_labels / needed)
            n_phases = min(n_phases, math.floor(n_labels / needed), 1 + n_later)
        n_before = task.n_phases_before
        return max(1, n_phases, n_before + 1 if n_before else 0)

    def n_labels(self, task: Task) -> int:
        """How many labels the run may pay.

        A multiple of what any method needs for the target error, and never more than the budget. A
        budget without a target error is spent whole.
        """
        if task.label_budget is not None and task.target_error is None:
            return task.label_budget
        bits = math.log2(1 / self._target_error(task)) + math.log2(task.n_features / task.sparsity)
        wanted = math.ceil(self._labels_per_floor(task) * task.sparsity * max(bits, 1.0))
        return wanted if task.label_budget is None else min(wanted, task.label_budget)

    def cost(self, task: Task) -> Cost:
        """What a run is expected to spend: every phase at its size, bands at Gaussian mass."""
        n_phases, n_labels = self.n_phases(task), self.n_labels(task)
        left, draws = n_labels, 0
        for k in range(1, n_phases + 1):
            n_queries = self._n_queries(task, k, n_phases, left)
            b = self.band_factor * (self.first_radius * self.shrink ** (k - 2))
            mass = 1.0 if k == 1 else math.erf(b / math.sqrt(2))
            draws += math.ceil(self._n_unlabeled(task) / mass)
            left -= n_queries
        return Cost(phases=n_phases, draws=draws, labels=n_labels)

    def for_table(self, n_rows: int, *, label_aware: bool = False) -> Self:
        """The same schedule for labeled rows: every one of them is drawn, used and free."""
        return replace(
            self,
            use_every_row=True,
            label_aware=label_aware,
            reuse_labels=False,
            min_unlabeled=n_rows,
            max_unlabeled=n_rows,
        )

    # -- the pieces --------------------------------------------------------------------------

    def _n_spent(self, history: History) -> int:
        """The labels that count against the run's.

        Departure: the paper counts every call of EX^y. An id is paid once here, so repetitions in
        the sample of line 8 and rows that come back in a later phase cost nothing.
        """
        if self.count_distinct_labels:
            return sum(outcome.n_labels for outcome in history)
        return sum(outcome.n_queries for outcome in history)

    def _is_exhausted(self, task: Task, history: History, n_left: int) -> bool:
        """Whether there are no labels left to pay, or too few free ones in the last band."""
        if not self.use_every_row:
            return n_left < 1
        needed = self.min_labels_per_phase * task.sparsity
        return bool(history) and history[-1].n_kept < needed

    def _target_error(self, task: Task) -> float:
        """The target error, or what the noise leaves within reach if none is given."""
        return task.target_error or max(DEFAULT_TARGET_ERROR, task.noise_rate / 5)

    def _narrowest_band(self, task: Task) -> float:
        """The b at which η/(η + (1−η)·mass) = max_dirty_share, for a mass of .8·b."""
        eta, share = task.noise_rate, self.max_dirty_share
        return eta * (1 - share) / ((1 - eta) * share) / GAUSSIAN_MASS_PER_WIDTH

    def _radius(self, task: Task, history: History) -> float:
        """The last radius times `shrink`, unless fresh labels say that the last region was missed.

        A phase beyond those that radius and noise allow, for a budget that was raised, keeps it.

        Of the rows in a band of width b around a halfspace at angle θ to the target, a share of
        about .4·θ/b is on the wrong side of it. The share that the last phase's fresh labels
        showed therefore estimates the angle that its region had to cover. Rows that an adversary
        places in the band fall on either side of it, so half of them count as wrong.

        Questions that were chosen by their margin say nothing about the band.

        Departure: the paper's radii halve whatever happens.
        """
        last = history[-1]
        if len(history) == 1:
            return self.first_radius
        if len(history) >= self.n_phases(replace(task, n_phases_before=0)):
            return last.phase.l2_radius
        planned = self.shrink * last.phase.l2_radius
        if not self.keep_radius_without_progress or last.phase.question_share < 1:
            return planned
        dirty = min(last.phase.outlier_fraction / self.outlier_margin, 0.5)
        angle = max(last.fresh_error - dirty / 2, 0.0) * last.phase.band_width / WRONG_PER_ANGLE
        return last.phase.l2_radius if angle > last.phase.l2_radius else planned

    def _capped(self, fraction: float) -> float:
        return min(fraction, self.max_outlier_fraction)

    def _questions(self, task: Task, index: int) -> dict[str, Any]:
        """How a phase chooses its questions; the share is of all rows until they are drawn."""
        s, eta, followed = task.sparsity, task.noise_rate, self.max_followed_share
        n_candidates = self._n_candidates(task)
        if n_candidates == 0:
            return {}
        share = eta * (1 - followed) / ((1 - eta) * followed)
        return {
            "dirty_share": self._capped(eta),
            "n_candidates": n_candidates,
            "question_share": 1.0 if index == 1 else share,
            "questions_per_round": math.ceil(self.questions_per_feature * s),
        }

    def _n_candidates(self, task: Task) -> int:
        """How many features a posterior looks at; 0 if there is none."""
        wanted = math.ceil(self.candidates_per_feature * task.sparsity)
        n_candidates = min(wanted, self.max_candidates)
        is_off = not self.use_posterior or self.use_every_row
        return 0 if is_off or n_candidates < UNCERTAIN_FEATURES * task.sparsity else n_candidates

    def _labels_per_floor(self, task: Task) -> float:
        if self._n_candidates(task) == 0:
            return self.labels_per_floor
        noise = min(2 * task.noise_rate / self._target_error(task), 1.0)
        clean = min(self.clean_labels_per_floor, self.labels_per_floor)
        return clean + noise * (self.labels_per_floor - clean)

    def _max_variance(self, b: float, r: float) -> float | None:
        """None, or C(b² + r²).

        Departure: None asks for the least variance that the outlier fraction can buy. The paper's
        C must be known beforehand, and a filter at level C leaves a bias of up to √(ξ·C).
        """
        return None if self.variance_factor is None else self.variance_factor * (b**2 + r**2)

    def _n_unlabeled(self, task: Task) -> int:
        wanted = self.unlabeled_factor * task.sparsity**2 * math.log(max(task.n_features, 2))
        return int(min(max(wanted, self.min_unlabeled), self.max_unlabeled))

    def _n_queries(self, task: Task, index: int, n_phases: int, left: int) -> int:
        if index == n_phases:
            return left
        n_labels = self.n_labels(task)
        first = round(self.first_label_share * n_labels)
        later = (n_labels - first) // max(n_phases - 1, 1)
        return max(1, min(first if index == 1 else later, left))


def draw_limits(n_unlabeled: int, n_features: int, band_width: float) -> dict[str, Any]:
    """The pruning radius of a phase with that many rows, and the draws after which it gives up."""
    return {
        "n_unlabeled": n_unlabeled,
        "max_abs_entry": 2 + math.log(n_unlabeled * n_features),
        "max_draws": math.ceil(40 * n_unlabeled / min(band_width, 1.0)),
    }


def _checked(value: Any, item: Field[Any]) -> Any:
    """A schedule's parameter as a plain number or switch, by the kind of its default."""
    if isinstance(item.default, bool):
        return check_switch(value, item.name)
    if value is None and item.default is None:
        return None
    check = check_count if isinstance(item.default, int) else check_positive
    return check(value, item.name)


DEFAULT_TARGET_ERROR = 0.01
GAUSSIAN_MASS_PER_WIDTH = 0.8  # P(|g| ≤ b) ≈ 2φ(0)·b; log-concave densities differ by a constant
SHARES = (
    "shrink",
    "max_outlier_fraction",
    "max_dirty_share",
    "first_label_share",
    "max_followed_share",
)
WORTH_CHOOSING = 0.9  # a larger share of the pool is as good as the whole of it
WRONG_PER_ANGLE = 0.4  # φ(0), see PracticalSchedule._radius
