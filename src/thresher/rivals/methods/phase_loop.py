"""The phase loops of the literature: Algorithm 1 without some of its steps.

All but Zeng and Shen's narrow a band around the current halfspace, and minimize a hinge loss on
labels from the band, near the current halfspace:

                          outliers     constraint   prune   threshold   labels
Balcan–Long 2013          stay         l2           no      no          of all rows drawn
Awasthi et al. 2016       stay         l2, l1       no      yes         of all rows drawn
Awasthi–Balcan–Long 2017  variance     l2           no      no          of a sample by weight
Zhang 2018                stay         l2 and l1    no      yes         of all rows drawn
Zeng–Shen 2025            sparse var.  l2 and l1    yes     yes         of all rows, one phase
Algorithm 1               sparse var.  l2 and l1    yes     yes         of a sample by weight

A loop without l1 constraint and threshold gets s = d, which makes both empty. Awasthi, Balcan and
Long start from Klivans, Long and Servedio's halfspace; a first phase by the hinge loss is better,
and has an entry of its own. All take constants, sample sizes and stopping rules from
`PracticalSchedule`, so that a comparison shows what the steps are worth.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.errors import LearningStopped
from thresher.learning import Phase, PhaseOutcome, PracticalSchedule, Task, complete, learn
from thresher.learning.history import History
from thresher.learning.practical import draw_limits
from thresher.rivals.methods.earliest import learn_without_outliers
from thresher.rivals.methods.method import Learn, Method, Source, variant
from thresher.rivals.worlds import DENSE, DENSE_TILT, FLIPS, MARGIN
from thresher.validation import FloatArray

# What a phase by another method reports: it labels every row that it draws.
COUNTS = ("n_draws", "n_kept", "n_queries", "n_labels", "n_labels_used")


@dataclass(frozen=True, kw_only=True)
class LoopSchedule(PracticalSchedule):
    """The practical schedule for loops that leave out some steps of Algorithm 1.

    Parameters
    ----------
    remove_outliers : run Algorithm 2; without it every row keeps its whole weight
    prune_rows : drop rows with a huge entry
    sample_labels : label a sample of a larger pool; without it, a phase draws as many rows as it
        has labels for, and labels all of them
    shrink_l1_radius : let the l1 radius shrink with the l2 radius; without it, the l1 radius is 2√s
        after the first phase
    localize : have phases after the first
    limit_trace : bound the trace of H in Algorithm 2; without it, the l1 constraint stands alone,
        and variance is sought in single features
    use_posterior : as in `PracticalSchedule`; none of these loops does

    Examples
    --------
    >>> task = Task(n_features=40, sparsity=4, noise_rate=0.0, label_budget=300)
    >>> phase = LoopSchedule(sample_labels=False, localize=False).next_phase(task, ())
    >>> phase.n_unlabeled, phase.n_queries is None
    (300, True)
    """

    remove_outliers: bool = True
    prune_rows: bool = True
    sample_labels: bool = True
    shrink_l1_radius: bool = True
    localize: bool = True
    limit_trace: bool = True
    use_posterior: bool = False

    def next_phase(self, task: Task, history: History) -> Phase | None:
        """The next phase without the steps that are left out."""
        phase = super().next_phase(task, history)
        if phase is None:
            return None
        changes: dict[str, Any] = {}
        if not self.remove_outliers:
            changes["max_variance"] = math.inf
        if not self.sample_labels and phase.n_queries is not None:
            changes.update(draw_limits(phase.n_queries, task.n_features, phase.band_width))
            changes["n_queries"] = None
        if not self.prune_rows:
            changes["max_abs_entry"] = math.inf
        if not self.shrink_l1_radius and phase.index > 1:
            changes["l1_radius"] = 2 * math.sqrt(task.sparsity)
        if not self.limit_trace:  # tr H ≤ ‖H‖₁, so that equal radii leave the l1 constraint alone
            changes["removal_l1_radius"] = phase.l2_radius
        return replace(phase, **changes)

    def n_phases(self, task: Task) -> int:
        """How many phases the task gets."""
        return super().n_phases(task) if self.localize else 1


@dataclass(frozen=True)
class PhaseLoop:
    """Algorithm 1 with a schedule that leaves out some of its steps.

    Parameters
    ----------
    schedule : which steps, and the constants
    is_dense : whether every feature may matter: s = d
    is_realizable : whether it assumes that all labels are true: η = 0
    start : the method that replaces the first phase, with its labels; None: the hinge loss
    """

    schedule: LoopSchedule
    is_dense: bool = False
    is_realizable: bool = False
    start: Learn | None = None

    def __call__(self, source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        """The halfspace of the last phase.

        Raises
        ------
        LearningStopped : the source had no usable row in the first phase
        """
        if self.is_dense:
            task = replace(task, sparsity=task.n_features)
        if self.is_realizable:
            task = replace(task, noise_rate=0.0)
        start = self._start(source, task, rng)
        run = learn(task, self.schedule, rng, history=start)
        history = complete(run, source.draw, source.reveal)
        if not history:
            raise LearningStopped("the source gave no usable row in the first phase")
        return history[-1].halfspace

    def _start(self, source: Source, task: Task, rng: np.random.Generator) -> History:
        """The first phase by another method, if it has one."""
        phase = self.schedule.next_phase(task, ())
        if self.start is None or phase is None:
            return ()
        n_labels = phase.n_queries or phase.n_unlabeled
        halfspace = self.start(source, replace(task, label_budget=n_labels), rng)
        counts: dict[str, Any] = dict.fromkeys(COUNTS, n_labels)
        return (PhaseOutcome(phase=phase, halfspace=halfspace, **counts),)


# Least labels per phase and feature of a dense loop. A sparse loop gets six per feature that
# matters, but with six per feature most budgets leave no second phase.
DENSE_LABELS = 1.0

ZHANG = PhaseLoop(LoopSchedule(remove_outliers=False, prune_rows=False, sample_labels=False))
BALCAN_LONG = PhaseLoop(
    replace(ZHANG.schedule, min_labels_per_phase=DENSE_LABELS), is_dense=True, is_realizable=True
)
# Departure: their l1 constraint is ‖w‖₁ ≤ √s. The ball of radius 2√s around the last halfspace is
# the smallest one around it that contains theirs; the hinge solver takes only balls around it.
AWASTHI_ET_AL = PhaseLoop(replace(ZHANG.schedule, shrink_l1_radius=False))
HINGE_START = PhaseLoop(
    LoopSchedule(sparse_removal=False, prune_rows=False, min_labels_per_phase=DENSE_LABELS),
    is_dense=True,
)
AWASTHI_BALCAN_LONG = replace(HINGE_START, start=learn_without_outliers)
ZENG_SHEN = PhaseLoop(LoopSchedule(localize=False, sample_labels=False))

_ABL = Method(
    name="awasthi-balcan-long",
    title="Awasthi–Balcan–Long 2017",
    learn=AWASTHI_BALCAN_LONG,
    claim="Ω(ε) malicious noise, from d² rows",
    world=DENSE_TILT.at_most(0.007, beats="klivans-long-servedio"),
)
METHODS = (
    Method(
        name="balcan-long",
        title="Balcan–Long 2013",
        learn=BALCAN_LONG,
        claim="no noise; labels grow with log(1/ε)",
        world=DENSE.at_most(0.007, beats="averaging-of-all-rows"),
    ),
    Method(
        name="awasthi-et-al-2016",
        title="Awasthi et al. 2016",
        learn=AWASTHI_ET_AL,
        claim="Ω(ε) adversarial label noise",
        world=FLIPS.at_most(0.018, beats="l1-logistic"),
    ),
    _ABL,
    variant(_ABL, "hinge-start", "first phase by the hinge loss", HINGE_START),
    Method(
        name="zhang-2018",
        title="Zhang 2018",
        learn=ZHANG,
        claim="Ω(ε) adversarial label noise, from Õ(s) labels",
        world=FLIPS.at_most(0.023, beats="l1-logistic"),
    ),
    Method(
        name="zeng-shen",
        title="Zeng–Shen 2025",
        learn=ZENG_SHEN,
        claim="a constant rate of malicious noise, given a margin",
        world=MARGIN.at_most(0.001, beats="averaging-of-all-rows"),
    ),
)
