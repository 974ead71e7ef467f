"""`FeaturesDisplay`: the features that a fitted classifier uses, and the class that each favors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from thresher.displays.canvas import COLORS, HATCHES, OUTLINE, check_classifier, take_axes
from thresher.estimators import HalfspaceModel
from thresher.validation import FloatArray, check_count
from thresher.wording import one_line

BAR_HEIGHT = 0.27  # inches
LEGEND_POINTS = 14.0  # height of a line of the legend


@dataclass(kw_only=True, eq=False, repr=False)
class FeaturesDisplay:
    """The largest coefficients of a classifier, as horizontal bars.

    They belong to scaled columns, so that they can be compared. Color and hatch show the class that
    larger values of the feature favor.

    Parameters
    ----------
    weights : (m,) coefficients of scaled columns, the largest first; positive for the second class
    names : m feature names
    classes : the two labels
    n_more : number of features that are not shown

    Attributes
    ----------
    bars_ : the bars, once plotted
    ax_, figure_ : where they were plotted

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thresher import HalfspaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 12))
    >>> y = np.where(2 * X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> model = HalfspaceClassifier(sparsity=2, random_state=0).fit(X, y)
    >>> display = FeaturesDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.names, np.sign(display.weights)
    (['x3', 'x5'], array([ 1., -1.]))
    """

    weights: FloatArray
    names: Sequence[str]
    classes: Sequence[Any]
    n_more: int = 0

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_features: int = 20, ax: Any = None) -> Self:
        """Plot the largest coefficients of a fitted classifier.

        Parameters
        ----------
        estimator : fitted `HalfspaceClassifier` or `HalfspaceClassifierCV`
        max_features : number of bars, at most
        ax : matplotlib axes; by default new ones of pyplot

        Raises
        ------
        TypeError, ValueError : another estimator, `max_features` below 1, or anything but axes
        NotFittedError : the estimator is not fitted
        ImportError : matplotlib is missing
        """
        check_classifier(estimator)
        return cls.from_model(estimator.to_model(), max_features=max_features, ax=ax)

    @classmethod
    def from_model(cls, model: HalfspaceModel, *, max_features: int = 20, ax: Any = None) -> Self:
        """Plot the largest coefficients of a model, see `from_estimator`."""
        n_shown = check_count(max_features, "max_features")
        order = np.argsort(-np.abs(model.weights), kind="stable")[:n_shown]
        chosen = model.support[order]
        given = model.feature_names
        return cls(
            weights=model.weights[order],
            names=[f"x{j}" if given is None else given[j] for j in chosen],
            classes=model.classes,
            n_more=model.support.size - chosen.size,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars, the largest at the top, in these axes or new ones of pyplot."""
        n_lines = len(self.names) + bool(self.n_more)
        (self.ax_,) = take_axes(ax, 1, (7.0, 1.7 + BAR_HEIGHT * max(n_lines, 4)))
        self.figure_ = self.ax_.figure
        if len(self.names):
            self._draw_bars()
            return self
        self.bars_: list[Any] = []
        self.ax_.set_axis_off()
        self.ax_.set_title("No coefficients")
        text = "The model uses no feature:\nevery row gets the same label"
        self.ax_.text(0.5, 0.5, text, transform=self.ax_.transAxes, ha="center", va="center")
        return self

    def _title(self) -> str:
        n_shown = len(self.names)
        if self.n_more:
            return f"The {n_shown} largest of {n_shown + self.n_more} coefficients"
        return "The only coefficient" if n_shown == 1 else f"All {n_shown} coefficients"

    def _draw_bars(self) -> None:
        axes, places = self.ax_, np.arange(len(self.names))
        side = (np.asarray(self.weights) > 0).astype(int)
        colors = [COLORS[1 - s] for s in side]
        self.bars_ = list(axes.barh(places, self.weights, color=colors, **OUTLINE))
        for bar, s in zip(self.bars_, side):
            bar.set_hatch(HATCHES[1 - s])
        more = [f"and {self.n_more} more"] if self.n_more else []
        texts = [one_line(name, 30) for name in self.names] + more
        # A dollar sign in a name does not start a formula.
        axes.set_yticks(np.arange(len(texts)), texts, parse_math=False)
        axes.set_ylim(len(texts) - 0.4, -0.6)
        axes.margins(x=0.06)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_xlabel("coefficient (of the scaled column)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        self._explain_sides(side)

    def _explain_sides(self, side: Any) -> None:
        """A legend between title and axes, where no bar can be."""
        firsts = [(s, int(np.argmax(side == s))) for s in (1, 0) if (side == s).any()]
        bars = [self.bars_[place] for _, place in firsts]
        texts = [f"larger values favor {one_line(self.classes[s], 24)}" for s, _ in firsts]
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
        legend = self.ax_.legend(bars, texts, frameon=False, fontsize=9, **place)
        for text in legend.get_texts():
            text.set_parse_math(False)
        self.ax_.set_title(self._title(), pad=12 + LEGEND_POINTS * len(firsts))
