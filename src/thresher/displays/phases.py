"""`PhasesDisplay`: what each phase of learning proved."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.displays.canvas import (
    COLORS,
    HATCHES,
    OUTLINE,
    brief_count,
    check_classifier,
    explain,
    number_phases,
    take_axes,
    use_logarithm,
    write_above,
)
from thresher.validation import FloatArray

BLUE, RED = COLORS[:2]
WIDE = 30.0  # ratio of the bounds from which they are drawn on a logarithmic axis


class PhasesDisplay:
    """The bounds that were proven in each phase, and how many rows it was about.

    Three panels: variance that outlier removal left, hinge loss of the fit, and rows in the band.
    A phase whose solver did not reach what it was asked for, with proof, has a hatched background.

    The variance is the largest in any sparse direction, uncentered, as Algorithm 2 has it. A
    label-aware phase measures it around the medians of the classes, unless the table is sparse, and
    afterwards lowers some weights further: there the upper bound holds for the weights that were
    used, but the lower one only for those of Algorithm 2.

    Parameters
    ----------
    variance_lower, variance_upper : (k,) bounds on the variance, in the units of the phase's radius
    optimum_lower : (k,) what no weights that Algorithm 2 may choose can go below, in these units
    l2_radius : (k,) the phase's radius. Variances are drawn divided by its square, as of directions
        of length one, so that phases can be compared
    loss, loss_gap : (k,) hinge loss, and its proven distance from the least
    n_kept, n_pruned : (k,) rows in the band, and how many of them were pruned
    removal_is_certified, loss_is_certified : (k,) whether the solvers reached what they were asked
    label_aware : whether labels helped to judge the rows

    Attributes
    ----------
    axes_, figure_ : the three axes, and their figure, once plotted

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thresher import HalfspaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 12))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> model = HalfspaceClassifier(sparsity=2, random_state=0).fit(X, y)
    >>> display = PhasesDisplay.from_estimator(model, ax=Figure().subplots(1, 3))
    >>> int(display.n_kept[0]), bool((display.variance_lower <= display.variance_upper).all())
    (500, True)
    """

    def __init__(
        self,
        *,
        variance_lower: FloatArray,
        variance_upper: FloatArray,
        optimum_lower: FloatArray,
        l2_radius: FloatArray,
        loss: FloatArray,
        loss_gap: FloatArray,
        n_kept: NDArray[np.intp],
        n_pruned: NDArray[np.intp],
        removal_is_certified: NDArray[np.bool_],
        loss_is_certified: NDArray[np.bool_],
        label_aware: bool,
    ) -> None:
        self.variance_lower = variance_lower
        self.variance_upper = variance_upper
        self.optimum_lower = optimum_lower
        self.l2_radius = l2_radius
        self.loss = loss
        self.loss_gap = loss_gap
        self.n_kept = n_kept
        self.n_pruned = n_pruned
        self.removal_is_certified = removal_is_certified
        self.loss_is_certified = loss_is_certified
        self.label_aware = label_aware

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot what the phases of a fitted classifier proved.

        Parameters
        ----------
        estimator : fitted `HalfspaceClassifier` or `HalfspaceClassifierCV`
        ax : three matplotlib axes, as of `figure.subplots(1, 3)`; new ones of pyplot by default

        Raises
        ------
        TypeError, ValueError
            For another estimator, or something else than three axes.
        NotFittedError
            For an estimator that was not fitted.
        ImportError
            When matplotlib is missing.
        """
        check_classifier(estimator)
        phases = estimator.phases_
        measured = ("variance_lower", "variance_upper", "optimum_lower", "loss", "loss_gap")
        counted = ("n_kept", "n_pruned")
        return cls(
            **{name: np.array([float(getattr(p, name)) for p in phases]) for name in measured},
            **{name: np.array([int(getattr(p, name)) for p in phases]) for name in counted},
            l2_radius=np.array([p.phase.l2_radius for p in phases]),
            removal_is_certified=np.array(
                [p.removal_status in ("tightest", "feasible") for p in phases]
            ),
            loss_is_certified=np.array([p.loss_status == "converged" for p in phases]),
            label_aware=any(p.phase.label_aware for p in phases),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the three panels.

        Parameters
        ----------
        ax : three matplotlib axes; new ones of pyplot by default
        """
        self.axes_ = take_axes(ax, 3, (14.0, 4.8))
        self.figure_ = self.axes_[0].figure
        self._draw_variances(self.axes_[0])
        self._draw_losses(self.axes_[1])
        self._draw_rows(self.axes_[2])
        for axes in self.axes_:
            number_phases(axes, len(self.loss))
            axes.set_xlabel("phase")
        return self

    # -- the panels --------------------------------------------------------------------------

    def _draw_variances(self, axes: Any) -> None:
        unit = np.square(self.l2_radius)
        lower, upper = self.variance_lower / unit, self.variance_upper / unit
        optimum = self.optimum_lower / unit
        places = np.arange(1, lower.size + 1)
        self._mark(axes, self.removal_is_certified)
        known = np.isfinite(upper)
        # A mean of squares is never negative, so a bound that is missing is zero.
        least = np.where(np.isfinite(lower), lower, 0.0)
        self._draw_intervals(axes, places[known], least[known], upper[known])
        endless = np.isfinite(lower) & ~known
        if endless.any():
            label = "at least this; no upper bound"
            axes.plot(places[endless], lower[endless], "k^", markersize=9, label=label)
        _say_unknown(axes, places[~known & ~endless])
        known = np.isfinite(optimum)
        if known.any():
            style = {"linestyle": "none", "marker": ">", "color": RED, "markeredgecolor": "black"}
            label = "Algorithm 2 cannot go below this"
            axes.plot(places[known] - 0.38, optimum[known], label=label, **style)
        low, high = _choose_scale(axes, np.concatenate([lower, upper, optimum]))
        axes.set_ylabel("variance (direction of length 1)")
        axes.set_title("Largest variance left in a sparse direction")
        explain(axes, low, high, "upper left")

    def _draw_intervals(
        self, axes: Any, places: NDArray[np.intp], lower: FloatArray, upper: FloatArray
    ) -> None:
        if not places.size:
            return
        label = "it lies in here"
        if self.label_aware:  # see the docstring of the class
            label = "top: proven for the weights used\nbottom: only for Algorithm 2's own"
        boxes = axes.bar(
            places, upper - lower, 0.5, lower, color=BLUE, edgecolor="black", label=label
        )
        write_above(axes, boxes, [f"{value:.3g}" for value in upper])

    def _draw_losses(self, axes: Any) -> None:
        places, known = np.arange(1, self.loss.size + 1), np.isfinite(self.loss)
        self._mark(axes, self.loss_is_certified)
        _say_unknown(axes, places[~known])
        loss, places = self.loss[known], places[known]
        # Hinge losses are never negative, so a gap that was not proven ends at zero.
        gap = np.fmin(np.nan_to_num(self.loss_gap[known], nan=np.inf), loss)
        if loss.size:
            bars = axes.bar(places, loss, 0.6, color=BLUE, label="loss of the fit", **OUTLINE)
            write_above(axes, bars, [f"{value:.3g}" for value in loss])
            style = {"color": RED, "hatch": HATCHES[1], "label": "the least possible lies in here"}
            axes.bar(places, gap, 0.6, loss - gap, **style, **OUTLINE)
        axes.set_ylabel("mean hinge loss (own margin in each phase)")
        axes.set_title("Hinge loss of the fit, and the least possible")
        explain(axes, 0.0, float(loss.max(initial=0.0)) or 1.0, "upper left")

    def _draw_rows(self, axes: Any) -> None:
        places = np.arange(1, self.n_kept.size + 1)
        bars = axes.bar(places, self.n_kept, 0.6, color=BLUE, **OUTLINE)
        write_above(axes, bars, [brief_count(int(n)) for n in self.n_kept])
        if np.any(self.n_pruned):
            style = {"color": RED, "hatch": HATCHES[1], "label": "pruned for too large an entry"}
            axes.bar(places, self.n_pruned, 0.6, self.n_kept - self.n_pruned, **style, **OUTLINE)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.locator_params(axis="y", integer=True)
        explain(axes, 0.0, float(np.max(self.n_kept, initial=1)), "upper right")
        axes.set_ylabel("number of rows")
        axes.set_title("Rows in the band around the boundary")

    def _mark(self, axes: Any, is_certified: NDArray[np.bool_]) -> None:
        """A hatched background for the phases that are not certified."""
        label: str | None = "not certified"
        for place in np.flatnonzero(~np.asarray(is_certified)) + 1:
            axes.axvspan(
                place - 0.5,
                place + 0.5,
                facecolor="0.93",
                edgecolor="0.82",
                hatch="xx",
                linewidth=0,
                zorder=0,
                label=label,
            )
            label = None


def _choose_scale(axes: Any, values: FloatArray) -> tuple[float, float]:
    """The ends of the axis: from zero, unless values are so far apart that it is logarithmic."""
    known = values[np.isfinite(values)]
    high = float(known.max(initial=0.0)) or 1.0
    if known.size and known.min() > 0 and high > WIDE * known.min():
        use_logarithm(axes)
        return float(known.min()) / 1.5, high
    return 0.0, high


def _say_unknown(axes: Any, places: NDArray[np.intp]) -> None:
    """Words where a value should be."""
    for place in places:
        axes.text(
            place, 0.02, "unknown", transform=axes.get_xaxis_transform(), ha="center", fontsize=9
        )
