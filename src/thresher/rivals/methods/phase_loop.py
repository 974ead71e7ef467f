"""The phase loops of the literature: Algorithm 1 with some of its steps left out.

All of them narrow a band around the current halfspace (but the last), and minimize a hinge loss on
labels from the band near the current halfspace:

                          outliers     constraint   prune   threshold   labels
Balcan–Long 2013          stay         l2           no      no          of all rows drawn
Awasthi et al. 2016       stay         l2, l1       no      yes         of all rows drawn
Awasthi–Balcan–Long 2017  variance     l2           no      no          of a sample by weight
Zhang 2018                stay         l2 and l1    no      yes         of all rows drawn
Zeng–Shen 2025            sparse var.  l2 and l1    yes     yes         of all rows, one phase
Algorithm 1               sparse var.  l2 and l1    yes     yes         of a sample by weight

Without l1 constraint and threshold, a loop is told that every feature matters: s = d makes both
empty. Awasthi, Balcan and Long start from Klivans, Long and Servedio's halfspace; a first phase by
the hinge loss is better, and stands beside theirs. Constants, sample sizes and stopping rules are
those of `PracticalSchedule`, for all alike: what a comparison shows is what the steps are worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.errors import LearningStopped
from thresher.learning import Phase, PhaseOutcome, PracticalSchedule, Task, complete, learn
from thresher.learning.history import History
from thresher.learning.practical import draw_limits
from thresher.rivals.methods.averages import KlivansLongServedio
from thresher.rivals.methods.method import Learn, Method, Source
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
        return replace(phase, **changes)

    def n_phases(self, task: Task) -> int:
        """How many phases the task gets."""
        return super().n_phases(task) if self.localize else 1


@dataclass(frozen=True)
class PhaseLoop:
    """Algorithm 1 with a schedule that leaves some of its steps out.

    Parameters
    ----------
    schedule : which steps, and the constants
    is_dense : whether it is to treat every feature as one that matters
    is_realizable : whether it takes every label for true, and so narrows as far as labels reach
    start : who has the first phase, and its labels, instead of the hinge loss

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(40), target=random_target(40, 3, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=40, sparsity=3, noise_rate=0.0, label_budget=300)
    >>> loop = PhaseLoop(LoopSchedule(remove_outliers=False))
    >>> w = loop(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.01, source.n_labels <= 300
    (True, True)
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
        """The first phase as another method has it: what the loop goes on from."""
        phase = self.schedule.next_phase(task, ())
        if self.start is None or phase is None:
            return ()
        n_labels = phase.n_queries or phase.n_unlabeled
        halfspace = self.start(source, replace(task, label_budget=n_labels), rng)
        counts: dict[str, Any] = dict.fromkeys(COUNTS, n_labels)
        return (PhaseOutcome(phase=phase, halfspace=halfspace, **counts),)


def _awasthi_et_al() -> PhaseLoop:
    """Zhang's loop before Zhang: its l1 constraint does not shrink.

    Departure: theirs is ‖w‖₁ ≤ √s. The ball of radius 2√s around the last halfspace is the
    smallest one around it that surely holds theirs, and the hinge solver knows no other.
    """
    return PhaseLoop(replace(ZHANG.schedule, shrink_l1_radius=False))


# Labels a phase that a dense loop needs, over the number of features: six would be as many as a
# sparse loop gets for each feature that matters, but leave no second phase to most budgets.
DENSE_LABELS = 1.0

BALCAN_LONG = PhaseLoop(
    LoopSchedule(
        remove_outliers=False,
        prune_rows=False,
        sample_labels=False,
        min_labels_per_phase=DENSE_LABELS,
    ),
    is_dense=True,
    is_realizable=True,
)
HINGE_START = PhaseLoop(
    LoopSchedule(sparse_removal=False, prune_rows=False, min_labels_per_phase=DENSE_LABELS),
    is_dense=True,
)
AWASTHI_BALCAN_LONG = replace(HINGE_START, start=KlivansLongServedio())
ZHANG = PhaseLoop(LoopSchedule(remove_outliers=False, prune_rows=False, sample_labels=False))
ZENG_SHEN = PhaseLoop(LoopSchedule(localize=False, sample_labels=False))

METHODS = (
    Method(
        name="balcan-long",
        title="Balcan–Long 2013",
        learn=BALCAN_LONG,
        is_active=True,
        is_sparse=False,
        claim="no noise; labels grow with log(1/ε)",
    ),
    Method(
        name="awasthi-et-al-2016",
        title="Awasthi et al. 2016",
        learn=_awasthi_et_al(),
        is_active=True,
        is_sparse=True,
        claim="Ω(ε) adversarial label noise",
    ),
    Method(
        name="awasthi-balcan-long",
        title="Awasthi–Balcan–Long 2017",
        learn=AWASTHI_BALCAN_LONG,
        is_active=True,
        is_sparse=False,
        claim="Ω(ε) malicious noise, from d² rows",
    ),
    Method(
        name="awasthi-balcan-long-hinge-start",
        title="Awasthi–Balcan–Long 2017, first phase by the hinge loss",
        learn=HINGE_START,
        is_active=True,
        is_sparse=False,
        claim="Ω(ε) malicious noise, from d² rows",
    ),
    Method(
        name="zhang-2018",
        title="Zhang 2018",
        learn=ZHANG,
        is_active=True,
        is_sparse=True,
        claim="Ω(ε) adversarial label noise, from Õ(s) labels",
    ),
    Method(
        name="zeng-shen",
        title="Zeng–Shen 2025",
        learn=ZENG_SHEN,
        is_active=False,
        is_sparse=True,
        claim="a constant rate of malicious noise, given a margin",
    ),
)
