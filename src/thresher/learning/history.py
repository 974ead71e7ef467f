"""What happened in a phase: the record that schedules, drivers and reports read."""

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UncertifiedPhase, warn_caller
from thresher.learning.samples import LabeledRows
from thresher.learning.steps import Judged
from thresher.learning.task import Phase
from thresher.oracles import Draw, IdArray
from thresher.solvers import HingeMinimum
from thresher.validation import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class PhaseOutcome:
    """One finished phase: what it was asked, what it drew, proved and bought, and where it ended.

    The one list of what is known about a phase: records, tables and reports read these fields. The
    defaults stand for a phase about which nothing was proven.

    Parameters
    ----------
    phase : what was asked
    halfspace : the halfspace it ended with, unit norm (w_k)
    n_draws : instances drawn, including those outside the band (N_k)
    n_kept : rows in the band
    n_queries : rows drawn by weight, including repetitions (m_k)
    n_labels : distinct rows among them that no earlier phase had asked for
    n_labels_used : labeled rows in the hinge loss, including reused ones
    n_pruned : rows in the band with an entry beyond the pruning radius
    weight_removed : share of the pool's weight that is gone: 1 less the mean of `row_weights`
    weight_allowance : the largest share that may be gone. The phase's outlier fraction; in a
        label-aware phase, where several removals take weight, one outlier fraction for each of this
        phase plus what earlier phases took from the same rows
    weight_left_out : share of the pool's weight that the hinge loss leaves out on top of that, at
        most the phase's trimmed share
    variance_lower, variance_upper : proven bounds on the variance of `row_weights`, in the units of
        this phase's radius
    variance_allowance : the largest variance that was asked for: the phase's limit, or 1 + its
        tolerance times what is proven for any weights within the outlier fraction
    optimum_lower : proven lower bound on the variance of any weights within `weight_allowance`
    removal_status : "tightest" or "feasible" if variance_upper ≤ variance_allowance, the second
        where a limit was given or several removals took weight; "infeasible" if no weights can
        reach that; else "undecided"
    loss, loss_gap, loss_status : hinge loss of the candidate, and a proven bound on its distance
        from the minimum
    fresh_error : share of this phase's new labels that the previous halfspace gets wrong, an
        estimate that no fitting has spoiled; NaN in the first phase
    row_ids, row_weights : the rows that outlier removal looked at, and the trust of each, in [0, 1]
    is_left_out : which of them a label-aware phase left out of the hinge loss

    Examples
    --------
    >>> from thresher import learn_passively
    >>> X = np.random.default_rng(0).standard_normal((500, 4))
    >>> learner = learn_passively(X, np.sign(X[:, 0]), sparsity=1, noise_rate=0.1, random_state=0)
    >>> first = learner.phases_[0]
    >>> first.n_kept, first.is_certified, bool(first.variance_upper >= first.variance_lower)
    (500, True, True)
    """

    phase: Phase
    halfspace: FloatArray
    n_draws: int
    n_kept: int
    n_queries: int
    n_labels: int
    n_labels_used: int
    n_pruned: int = 0
    weight_removed: float = 0.0
    weight_allowance: float = 0.0
    weight_left_out: float = 0.0
    removal_status: str = "undecided"
    variance_lower: float = 0.0
    variance_upper: float = np.inf
    variance_allowance: float = 0.0
    optimum_lower: float = 0.0
    loss: float = np.nan
    loss_gap: float = np.nan
    loss_status: str = "undecided"
    fresh_error: float = np.nan
    row_ids: IdArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    row_weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    is_left_out: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def removal_is_certified(self) -> bool:
        """Whether variance and weight removed are within what was asked for, with proof."""
        return self.removal_status in ("tightest", "feasible")

    @property
    def loss_is_certified(self) -> bool:
        """Whether the hinge loss reached what it was asked for, with proof."""
        return self.loss_status == "converged"

    @property
    def is_certified(self) -> bool:
        """Whether both solvers reached what they were asked for, with proof."""
        return self.loss_is_certified and self.removal_is_certified

    def warn_if_uncertified(self) -> None:
        """Warn the code that called Thresher if a solver did not reach what it was asked for."""
        if not self.is_certified:
            warn_caller(
                f"phase {self.phase.index}: uncertified; outlier removal is {self.removal_status}, "
                f"hinge minimization is {self.loss_status}; see phases_ for the bounds",
                UncertifiedPhase,
            )

    def as_record(self) -> dict[str, Any]:
        """The outcome as plain numbers and strings, the halfspace by its support and values.

        Single rows are left out.
        """
        support = np.flatnonzero(self.halfspace)
        record = {**vars(self.phase), **vars(self)}
        for name in ("phase", "row_ids", "row_weights", "is_left_out"):
            del record[name]
        values = self.halfspace[support].tolist()
        return {**record, "halfspace": {"support": support.tolist(), "values": values}}


History: TypeAlias = tuple[PhaseOutcome, ...]


def least_trust(history: History, ids: IdArray) -> FloatArray:
    """The smallest weight that a phase left to each of these rows; 1 if none looked at it.

    Examples
    --------
    >>> least_trust((), np.array([4, 9]))
    array([1., 1.])
    """
    trust = np.ones(ids.size)
    for outcome in history:
        _, here, there = np.intersect1d(
            ids, outcome.row_ids, assume_unique=True, return_indices=True
        )
        trust[here] = np.minimum(trust[here], outcome.row_weights[there])
    return trust


def summarize(
    phase: Phase,
    halfspace: FloatArray,
    drawn: Draw,
    judged: Judged,
    labeled: LabeledRows,
    minimum: HingeMinimum,
    previous: FloatArray,
) -> PhaseOutcome:
    """The outcome of a phase, from what its steps returned."""
    pool, removal = judged.pool, judged.removal
    is_left_out = np.zeros(pool.n_rows, dtype=np.bool_)
    if phase.label_aware:
        is_left_out = (labeled.weights == 0) & (removal.weights > 0)
    return PhaseOutcome(
        phase=phase,
        halfspace=halfspace,
        n_draws=drawn.n_drawn,
        n_kept=drawn.n_rows,
        n_pruned=drawn.n_rows - pool.n_rows,
        n_queries=round(float(labeled.weights[-labeled.n_fresh :].sum())),
        n_labels=labeled.n_new,
        n_labels_used=labeled.n_rows,
        weight_removed=1 - math.fsum(removal.weights) / pool.n_rows,
        weight_allowance=judged.weight_allowance,
        weight_left_out=float(removal.weights[is_left_out].sum()) / pool.n_rows,
        removal_status=removal.status,
        variance_lower=removal.variance_lower,
        variance_upper=removal.variance_upper,
        variance_allowance=judged.variance_allowance,
        optimum_lower=removal.optimum_lower,
        loss=minimum.loss,
        loss_gap=minimum.gap,
        loss_status=minimum.status,
        fresh_error=labeled.fresh_error(previous),
        row_ids=pool.ids,
        row_weights=removal.weights,
        is_left_out=is_left_out,
    )
