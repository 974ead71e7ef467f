"""What is asked of every display."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from displays.pictures import as_svg, bare_axes
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay

KINDS = [(FeaturesDisplay, 1), (PhasesDisplay, 3), (TrustDisplay, 2)]
every_display = pytest.mark.parametrize(("kind", "n_panels"), KINDS)


def axes_of(display: Any) -> list[Any]:
    return display.axes_ if hasattr(display, "axes_") else [display.ax_]


@every_display
@pytest.mark.parametrize("estimator", ["classifier", "nameless", "chosen"])
def test_given_axes_are_used_and_become_an_svg(
    kind: Any, n_panels: int, estimator: str, request: pytest.FixtureRequest
) -> None:
    ax = bare_axes(n_panels)
    display = kind.from_estimator(request.getfixturevalue(estimator), ax=ax)
    assert axes_of(display) == ([ax] if n_panels == 1 else list(ax))
    assert display.figure_ is axes_of(display)[0].figure
    assert "<svg" in as_svg(display.figure_)


@every_display
def test_given_axes_open_no_figure_of_pyplot(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier
) -> None:
    from matplotlib import pyplot

    kind.from_estimator(classifier, ax=bare_axes(n_panels))
    assert pyplot.get_fignums() == []


@every_display
def test_without_axes_pyplot_makes_a_figure(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier
) -> None:
    from matplotlib import pyplot

    display = kind.from_estimator(classifier)
    assert display.figure_ is pyplot.gcf()
    assert display.figure_.axes == axes_of(display)
    assert len(axes_of(display)) == n_panels


@every_display
def test_a_display_can_be_plotted_again(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier
) -> None:
    display = kind.from_estimator(classifier, ax=bare_axes(n_panels))
    before = display.figure_
    assert display.plot(bare_axes(n_panels)) is display
    assert display.figure_ is not before


@every_display
@pytest.mark.parametrize("estimator", [HalfspaceClassifier(), HalfspaceClassifierCV()])
def test_an_estimator_has_to_be_fitted(kind: Any, n_panels: int, estimator: Any) -> None:
    with pytest.raises(NotFittedError):
        kind.from_estimator(estimator, ax=bare_axes(n_panels))


@every_display
def test_another_estimator_is_refused(kind: Any, n_panels: int) -> None:
    with pytest.raises(TypeError, match=r"estimator must be .* got LogisticRegression"):
        kind.from_estimator(LogisticRegression(), ax=bare_axes(n_panels))


@every_display
def test_another_number_of_axes_is_refused(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier
) -> None:
    with pytest.raises(ValueError, match=rf"ax must be .* got {n_panels + 1} axes"):
        kind.from_estimator(classifier, ax=bare_axes(n_panels + 1))


@every_display
def test_something_else_than_axes_is_refused(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier
) -> None:
    with pytest.raises(TypeError, match="ax must be matplotlib axes"):
        kind.from_estimator(classifier, ax=["axes"] * n_panels)


@every_display
def test_without_matplotlib_the_error_says_what_to_install(
    kind: Any, n_panels: int, classifier: HalfspaceClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    ax = bare_axes(n_panels)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r'pip install "thresher\[plot\]"'):
        kind.from_estimator(classifier, ax=ax)
