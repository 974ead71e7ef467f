"""`TrustDisplay`: which rows lost trust, and in which phase."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.displays import canvas
from thresher.displays.canvas import COLORS, HATCHES, OUTLINE
from thresher.learning import PhaseOutcome
from thresher.validation import FloatArray, refuse_masked
from thresher.wording import count, one_line

MAX_GROUPS = 4  # can be told apart in gray print
N_BINS = 10
MAX_LABELED_BARS = 12  # the numbers above more bars would overlap
ALL_ROWS = "rows"  # the name of the only group when no groups are given


@dataclass(kw_only=True, eq=False, repr=False)
class TrustDisplay:
    """How far rows were trusted, by group: over all phases, and in each phase.

    The left panel counts rows by `row_weights_`, their mean weight over the phases. The right one
    shows the share of its weight that a group lost in each phase, to outlier removal or by being
    left out for a large loss. Only rows that the phase looked at count.

    Parameters
    ----------
    row_weights : (n,) the trust in each training row, from 0 to 1
    groups : (n,) the name of each row's group
    group_names : the g names, in the order of the rows of the next two
    lost_share : (g, k) share of its weight that a group lost in a phase, from 0 to 1; NaN where the
        phase looked at none of its rows
    n_looked : (g, k) number of rows of the group that the phase looked at
    phase_lost : (n,) first phase in which a row had lost at least half of its weight; 0 for never,
        and for rows that were left out before the phases

    Attributes
    ----------
    counts_ : (g, 10) heights of the left panel, once plotted
    axes_, figure_ : the two axes, and their figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thresher import HalfspaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 12))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> X[:20, 3], y[:20] = 4.0, "no"  # planted
    >>> model = HalfspaceClassifier(sparsity=2, random_state=0).fit(X, y)
    >>> origin = np.where(np.arange(500) < 20, "planted", "clean")
    >>> display = TrustDisplay.from_estimator(model, groups=origin, ax=Figure().subplots(1, 2))
    >>> display.group_names, np.unique(display.phase_lost[:20])
    (['clean', 'planted'], array([1]))
    """

    row_weights: FloatArray
    groups: NDArray[np.str_]
    group_names: Sequence[str]
    lost_share: FloatArray
    n_looked: NDArray[np.intp]
    phase_lost: NDArray[np.intp]

    @classmethod
    def from_estimator(cls, estimator: Any, *, groups: Any = None, ax: Any = None) -> Self:
        """Plot the trust of a fitted classifier in the rows it was fitted to.

        Parameters
        ----------
        estimator : fitted `HalfspaceClassifier` or `HalfspaceClassifierCV`
        groups : (n,) labels of the training rows, at most four distinct ones, such as y; by default
            all rows are one group
        ax : two matplotlib axes, as of `figure.subplots(1, 2)`; by default new ones of pyplot

        Raises
        ------
        TypeError, ValueError : another estimator, groups of the wrong length or too many of them,
            or anything but two axes
        NotFittedError : the estimator is not fitted
        ImportError : matplotlib is missing
        """
        canvas.check_classifier(estimator)
        n_rows = estimator.row_weights_.size
        labels = _check_groups(groups, n_rows)
        names = np.unique(labels).tolist()
        kept = weights_by_phase(estimator.phases_, n_rows)
        lost, n_looked = lost_by_group(kept, [labels == name for name in names])
        return cls(
            row_weights=estimator.row_weights_,
            groups=labels,
            group_names=names,
            lost_share=lost,
            n_looked=n_looked,
            phase_lost=first_loss(kept),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw both panels, in these axes or new ones of pyplot."""
        self.axes_ = canvas.take_axes(ax, 2, (11.0, 4.8))
        self.figure_ = self.axes_[0].figure
        self._draw_trust(self.axes_[0])
        self._draw_losses(self.axes_[1])
        return self

    def _draw_trust(self, axes: Any) -> None:
        edges = np.linspace(0.0, 1.0, N_BINS + 1)
        trust = np.clip(self.row_weights, 0.0, 1.0)  # rounding
        members = [trust[self.groups == name] for name in self.group_names]
        self.counts_ = np.array([np.histogram(part, edges)[0] for part in members])
        names = ["" if name == ALL_ROWS else f": {one_line(name, 24)}" for name in self.group_names]
        labels = [f"{count(m.size, 'row')}{name}" for name, m in zip(names, members)]
        self._draw_bars(axes, edges[:-1] + 0.05, 0.1, self.counts_, labels)
        canvas.use_logarithm(axes)
        canvas.explain(axes, 0.7, max(float(self.counts_.max(initial=0)), 10.0), "upper center")
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("trust (0: none, 1: full)")
        axes.set_ylabel("number of rows (log scale)")
        axes.set_title("Trust in the rows")

    def _draw_losses(self, axes: Any) -> None:
        n_phases = self.lost_share.shape[1]
        middles = np.arange(1.0, n_phases + 1)
        drawn = self._draw_bars(axes, middles, 0.8, self.lost_share, [None] * len(self.lost_share))
        wanted = "{:.0%}" if self.lost_share.size <= MAX_LABELED_BARS else ""
        for bars, own in zip(drawn, self.lost_share):
            canvas.write_above(axes, bars, ["–" if np.isnan(x) else wanted.format(x) for x in own])
        n_rows = [canvas.brief_count(int(n)) for n in self.n_looked.sum(axis=0)]
        canvas.number_phases(axes, n_phases, n_rows)
        canvas.explain(axes, 0.0, 1.0, "upper right")
        axes.set_yticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
        has_dashes = any(text.get_text() == "–" for text in axes.texts)
        note = "  (–: no rows)" if has_dashes else ""
        axes.set_xlabel("phase, and number of rows in it" + note)
        axes.set_ylabel("share of weight lost")
        axes.set_title("Weight lost in each phase")

    def _draw_bars(
        self, axes: Any, middles: FloatArray, width: float, heights: Any, labels: Sequence[Any]
    ) -> list[Any]:
        """One bar for each group around every middle."""
        each = 0.9 * width / len(heights)
        drawn = []
        for g, own in enumerate(heights):
            offset = (g - (len(heights) - 1) / 2) * each
            style = {"color": COLORS[g], "hatch": HATCHES[g], "label": labels[g], **OUTLINE}
            drawn.append(axes.bar(middles + offset, own, each, **style))
        return drawn


def weights_by_phase(phases: Sequence[PhaseOutcome], n_rows: int) -> FloatArray:
    """The weight with which each row counted in each phase, (k, n); NaN if it was not looked at.

    A phase that was shown the whole table, as the first one is, has pruned the rows that it did not
    look at, and they count 0. Which rows later phases pruned is not known, only how many.

    Examples
    --------
    >>> weights_by_phase((), 3).shape
    (0, 3)
    """
    kept = np.full((len(phases), n_rows), np.nan)
    for own, outcome in zip(kept, phases):
        if outcome.n_kept == n_rows:
            own[:] = 0.0
        own[outcome.row_ids] = np.where(outcome.is_left_out, 0.0, outcome.row_weights)
    return kept


def lost_by_group(
    kept: FloatArray, members: Sequence[NDArray[np.bool_]]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The share of its weight that each group lost in each phase, and how many rows that is about.

    Examples
    --------
    >>> kept = np.array([[1.0, 0.5, 0.0], [np.nan, np.nan, 0.0]])
    >>> lost_by_group(kept, [np.array([True, True, False]), np.array([False, False, True])])
    (array([[0.25,  nan], [1.  , 1.  ]]), array([[2, 0], [1, 1]]))
    """
    n_looked = np.array([(~np.isnan(kept[:, own])).sum(axis=1) for own in members])
    weight = np.array([np.nansum(kept[:, own], axis=1) for own in members])
    share = np.divide(weight, n_looked, out=np.full(weight.shape, np.nan), where=n_looked > 0)
    return np.clip(1 - share, 0.0, 1.0), n_looked


def first_loss(kept: FloatArray) -> NDArray[np.intp]:
    """The first phase, from 1, that left a row no more than half of its weight; 0 for never.

    Examples
    --------
    >>> first_loss(np.array([[1.0, 0.6, 0.5], [1.0, 0.1, np.nan]]))
    array([0, 2, 1])
    """
    is_lost = kept <= 0.5  # never so where it is NaN
    first = is_lost.argmax(axis=0) + 1 if len(kept) else np.zeros(kept.shape[1], dtype=np.intp)
    return np.where(is_lost.any(axis=0), first, 0)


def _check_groups(groups: Any, n_rows: int) -> NDArray[np.str_]:
    if groups is None:
        return np.full(n_rows, ALL_ROWS)
    refuse_masked(groups, "groups")
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        wanted = f"one label for each of the {n_rows} training rows"
        raise ValueError(f"groups must have {wanted}, got shape {labels.shape}")
    texts = labels.astype(np.str_)
    n_groups = np.unique(texts).size
    if n_groups > MAX_GROUPS:
        raise ValueError(f"groups must have at most {MAX_GROUPS} distinct labels, got {n_groups}")
    return texts
