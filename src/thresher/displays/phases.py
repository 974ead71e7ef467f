"""`PhasesDisplay`: what each phase of learning proved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.displays import canvas
from thresher.displays.canvas import COLORS, HATCHES, OUTLINE
from thresher.learning import PhaseOutcome
from thresher.validation import FloatArray

BLUE, RED = COLORS[:2]
FLAT = 0.01  # of the axis: boxes that are less high look like lines
WIDE = 30.0  # ratio of the bounds from which they are drawn on a logarithmic axis


@dataclass(eq=False, repr=False)
class PhasesDisplay:
    """The bounds that each phase proved, and how many rows it looked at.

    Three panels: variance that outlier removal left, hinge loss of the fit, and rows in the band.
    A phase whose solver missed the requested precision has a hatched background.

    The variance is the largest in any sparse direction, uncentered, as in Algorithm 2; it is drawn
    divided by the phase's squared radius, as of unit directions, so that phases can be compared. A
    label-aware phase measures it around the class medians, unless the table is sparse, and lowers
    some weights further afterwards: there the upper bound holds for the weights that were used, but
    the lower one only for those of Algorithm 2.

    Parameters
    ----------
    phases : `phases_` of a fitted classifier

    Attributes
    ----------
    axes_, figure_ : the three axes and their figure, once plotted

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thresher import HalfspaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 12))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> model = HalfspaceClassifier(sparsity=2, random_state=0).fit(X, y)
    >>> display = PhasesDisplay.from_estimator(model, ax=Figure().subplots(1, 3))
    >>> [axes.get_title() for axes in display.axes_][1:]
    ['Hinge loss', 'Rows in the band around the boundary']
    """

    phases: Sequence[PhaseOutcome]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot what the phases of a fitted classifier proved.

        Parameters
        ----------
        estimator : fitted `HalfspaceClassifier` or `HalfspaceClassifierCV`
        ax : three matplotlib axes, as of `figure.subplots(1, 3)`; by default new ones of pyplot

        Raises
        ------
        TypeError, ValueError : another estimator, or anything but three axes
        NotFittedError : the estimator is not fitted
        ImportError : matplotlib is missing
        """
        canvas.check_classifier(estimator)
        return cls(estimator.phases_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the three panels, in these axes or new ones of pyplot."""
        self.axes_ = canvas.take_axes(ax, 3, (14.0, 4.8))
        self.figure_ = self.axes_[0].figure
        self._draw_variances(self.axes_[0])
        self._draw_losses(self.axes_[1])
        self._draw_rows(self.axes_[2])
        for axes in self.axes_:
            canvas.number_phases(axes, len(self.phases))
            axes.set_xlabel("phase")
        return self

    def _values(self, name: str) -> FloatArray:
        """One field of all phases."""
        return np.array([getattr(phase, name) for phase in self.phases], dtype=np.float64)

    # -- the panels --------------------------------------------------------------------------

    def _draw_variances(self, axes: Any) -> None:
        unit = np.array([phase.phase.l2_radius**2 for phase in self.phases])
        names = ("variance_lower", "variance_upper", "optimum_lower")
        lower, upper, optimum = (self._values(name) / unit for name in names)
        places = np.arange(1, lower.size + 1)
        self._mark(axes, "removal_is_certified")
        known = np.isfinite(upper)
        # A mean of squares is never negative, so a bound that is missing is zero.
        least = np.where(np.isfinite(lower), lower, 0.0)
        self._draw_intervals(axes, places[known], least[known], upper[known])
        endless = np.isfinite(lower) & ~known
        if endless.any():
            label = "lower bound; no upper bound known"
            axes.plot(places[endless], lower[endless], "k^", markersize=9, label=label)
        _say_unknown(axes, places[~known & ~endless])
        known = np.isfinite(optimum)
        if known.any():
            style = {"linestyle": "none", "marker": "_", "markersize": 18, "color": RED}
            label = "no allowed weights leave less"
            axes.plot(places[known], optimum[known], markeredgewidth=3, label=label, **style)
        low, high = _choose_scale(axes, np.concatenate([lower, upper, optimum]))
        axes.set_ylabel("variance (sparse unit direction)")
        axes.set_title("Largest variance that is left")
        canvas.explain(axes, low, high, "upper left")

    def _draw_intervals(
        self, axes: Any, places: NDArray[np.intp], lower: FloatArray, upper: FloatArray
    ) -> None:
        if not places.size:
            return
        label, short = "proven interval", "proven bound"
        if any(phase.phase.label_aware for phase in self.phases):  # see the docstring of the class
            label = "top: bound for the weights used\nbottom: for Algorithm 2's weights"
            short = "bound for the weights used"
        if is_flat := bool((upper - lower < FLAT * upper.max()).all()):
            axes.plot([], [], color="black", label=short)  # as the boxes look
        style = {"color": BLUE, "edgecolor": "black", "label": None if is_flat else label}
        boxes = axes.bar(places, upper - lower, 0.5, lower, **style)
        canvas.write_above(axes, boxes, [f"{value:.3g}" for value in upper])

    def _draw_losses(self, axes: Any) -> None:
        loss = self._values("loss")
        places, known = np.arange(1, loss.size + 1), np.isfinite(loss)
        self._mark(axes, "loss_is_certified")
        _say_unknown(axes, places[~known])
        loss, places = loss[known], places[known]
        # Hinge losses are never negative, so a gap that was not proven ends at zero.
        gap = np.fmin(np.nan_to_num(self._values("loss_gap")[known], nan=np.inf), loss)
        if loss.size:
            bars = axes.bar(places, loss, 0.6, color=BLUE, label="loss of the fit", **OUTLINE)
            canvas.write_above(axes, bars, [f"{value:.3g}" for value in loss])
            style = {"color": RED, "hatch": HATCHES[1], "label": "the minimum lies in here"}
            axes.bar(places, gap, 0.6, loss - gap, **style, **OUTLINE)
        axes.set_ylabel("mean hinge loss (margin differs by phase)")
        axes.set_title("Hinge loss")
        canvas.explain(axes, 0.0, float(loss.max(initial=0.0)) or 1.0, "upper left")

    def _draw_rows(self, axes: Any) -> None:
        kept, pruned = self._values("n_kept"), self._values("n_pruned")
        places = np.arange(1, kept.size + 1)
        bars = axes.bar(places, kept, 0.6, color=BLUE, **OUTLINE)
        canvas.write_above(axes, bars, [canvas.brief_count(int(n)) for n in kept])
        if np.any(pruned):
            style = {"color": RED, "hatch": HATCHES[1], "label": "pruned: an entry is too large"}
            axes.bar(places, pruned, 0.6, kept - pruned, **style, **OUTLINE)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.locator_params(axis="y", integer=True)
        canvas.explain(axes, 0.0, float(np.max(kept, initial=1)), "upper right")
        axes.set_ylabel("number of rows")
        axes.set_title("Rows in the band around the boundary")

    def _mark(self, axes: Any, name: str) -> None:
        """A hatched background for the phases that are not certified."""
        style = {"facecolor": "0.93", "edgecolor": "0.82", "hatch": "xx", "linewidth": 0}
        for n, place in enumerate(np.flatnonzero(self._values(name) == 0) + 1):
            label = None if n else "not certified"
            axes.axvspan(place - 0.5, place + 0.5, zorder=0, label=label, **style)


def _choose_scale(axes: Any, values: FloatArray) -> tuple[float, float]:
    """The ends of the axis: from zero, or logarithmic where values are far apart."""
    known = values[np.isfinite(values)]
    high = float(known.max(initial=0.0)) or 1.0
    if known.size and known.min() > 0 and high > WIDE * known.min():
        canvas.use_logarithm(axes)
        return float(known.min()) / 1.5, high
    return 0.0, high


def _say_unknown(axes: Any, places: NDArray[np.intp]) -> None:
    """The word where a value is missing."""
    style = {"transform": axes.get_xaxis_transform(), "ha": "center", "fontsize": 9}
    for place in places:
        axes.text(place, 0.02, "unknown", **style)
