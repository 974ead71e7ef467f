"""What each phase proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from displays.pictures import as_svg, bare_axes, bottoms, heights, legend_of, notes
from thresher import HalfspaceClassifier
from thresher.displays import PhasesDisplay
from thresher.simulate import PoisonedTable


@pytest.fixture
def made(classifier: HalfspaceClassifier) -> Callable[..., PhasesDisplay]:
    """A maker of displays of made-up numbers; every second phase has half of the radius."""

    def make(n_phases: int = 4, **changes: Any) -> PhasesDisplay:
        phases = []
        for k in range(n_phases):
            radius = 0.5 if k % 2 else 1.0
            fields: dict[str, Any] = {
                "variance_lower": 2.0 * radius**2,
                "variance_upper": 3.0 * radius**2,
                "optimum_lower": 1.5 * radius**2,
                "loss": 0.2,
                "loss_gap": 0.05,
                "n_kept": (n_phases - k) * 100,
                "n_pruned": 0,
                "removal_status": "tightest",
                "loss_status": "converged",
            }
            fields.update((name, values[k]) for name, values in changes.items() if k in values)
            base = classifier.phases_[0]
            phases.append(replace(base, phase=replace(base.phase, l2_radius=radius), **fields))
        return PhasesDisplay(phases).plot(bare_axes(3))

    return make


def markers(axes: Any, label: str) -> Any:
    """The heights of the points with this label."""
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line.get_ydata()


@pytest.fixture
def display(classifier: HalfspaceClassifier) -> PhasesDisplay:
    return PhasesDisplay.from_estimator(classifier, ax=bare_axes(3))


def test_boxes_reach_from_the_lower_to_the_upper_bound_per_squared_radius(
    display: PhasesDisplay, classifier: HalfspaceClassifier
) -> None:
    (boxes,) = display.axes_[0].containers
    unit = [phase.phase.l2_radius**2 for phase in classifier.phases_]
    np.testing.assert_allclose(
        bottoms(boxes), [p.variance_lower / u for p, u in zip(classifier.phases_, unit)]
    )
    np.testing.assert_allclose(
        np.add(bottoms(boxes), heights(boxes)),
        [p.variance_upper / u for p, u in zip(classifier.phases_, unit)],
    )
    np.testing.assert_allclose(
        markers(display.axes_[0], "no allowed weights leave less"),
        [p.optimum_lower / u for p, u in zip(classifier.phases_, unit)],
    )


def test_bars_are_hinge_losses_with_their_gaps_at_the_top(
    display: PhasesDisplay, classifier: HalfspaceClassifier
) -> None:
    losses, gaps = display.axes_[1].containers
    expected = [phase.loss for phase in classifier.phases_]
    np.testing.assert_array_equal(heights(losses), expected)
    np.testing.assert_allclose(heights(gaps), [phase.loss_gap for phase in classifier.phases_])
    np.testing.assert_allclose(np.add(bottoms(gaps), heights(gaps)), expected)


def test_bars_are_the_rows_in_the_band(
    display: PhasesDisplay, classifier: HalfspaceClassifier
) -> None:
    (bars,) = display.axes_[2].containers
    expected = [phase.n_kept for phase in classifier.phases_]
    np.testing.assert_array_equal(heights(bars), expected)
    assert notes(display.axes_[2]) == [str(n) for n in expected]


def test_the_lower_bound_of_a_label_aware_phase_is_not_said_to_hold_for_the_weights_used(
    made: Callable[..., PhasesDisplay], poisoned: PoisonedTable
) -> None:
    assert "bottom: for Algorithm 2's weights" in legend_of(made().axes_[0])[0]
    corollary = HalfspaceClassifier(5, 0.1, label_aware=False, random_state=0)
    other = PhasesDisplay.from_estimator(corollary.fit(poisoned.X, poisoned.y), ax=bare_axes(3))
    assert legend_of(other.axes_[0])[0] in ("proven interval", "proven bound")


def test_intervals_that_look_like_lines_are_lines_in_the_legend(
    made: Callable[..., PhasesDisplay],
) -> None:
    flat = made(2, variance_upper={0: 2.001, 1: 2.001 / 4})
    assert legend_of(flat.axes_[0])[0] == "bound for the weights used"
    (handle, *_) = flat.axes_[0].get_legend().legend_handles
    assert type(handle).__name__ == "Line2D"


def test_phases_of_different_radius_can_be_compared(made: Callable[..., PhasesDisplay]) -> None:
    (boxes,) = made().axes_[0].containers
    assert bottoms(boxes) == [2.0] * 4


@pytest.mark.parametrize(("name", "panel"), [("removal_status", 0), ("loss_status", 1)])
def test_phases_that_are_not_certified_are_marked_where_it_matters(
    name: str, panel: int, made: Callable[..., PhasesDisplay]
) -> None:
    shown = made(**{name: {1: "undecided", 3: "undecided"}})
    for i, axes in enumerate(shown.axes_):
        spans = [patch for patch in axes.patches if patch.get_hatch() == "xx"]
        expected = [1.5, 3.5] if i == panel else []
        assert [span.get_x() for span in spans] == expected
        assert ("not certified" in legend_of(axes)) == (i == panel)


def test_certified_phases_are_not_marked(display: PhasesDisplay) -> None:
    assert all("not certified" not in legend_of(axes) for axes in display.axes_)


def test_a_missing_upper_bound_leaves_a_mark_at_the_lower_one(
    made: Callable[..., PhasesDisplay],
) -> None:
    shown = made(variance_upper={2: np.inf})
    assert markers(shown.axes_[0], "lower bound; no upper bound known").tolist() == [2.0]
    assert len(shown.axes_[0].containers[0]) == 3


def test_a_missing_lower_bound_is_zero(made: Callable[..., PhasesDisplay]) -> None:
    shown = made(variance_lower={2: np.nan})
    assert bottoms(shown.axes_[0].containers[0]) == [2.0, 2.0, 0.0, 2.0]


@pytest.mark.parametrize("gap", [np.inf, np.nan])
def test_a_gap_that_is_not_proven_reaches_down_to_zero(
    gap: float, made: Callable[..., PhasesDisplay]
) -> None:
    shown = made(loss_gap={1: gap})
    np.testing.assert_allclose(bottoms(shown.axes_[1].containers[1]), [0.15, 0.0, 0.15, 0.15])


def test_numbers_that_are_not_known_are_said_to_be_so(made: Callable[..., PhasesDisplay]) -> None:
    names = ("variance_lower", "variance_upper", "optimum_lower", "loss", "loss_gap")
    shown = made(2, **{key: {0: np.nan, 1: np.nan} for key in names})
    assert notes(shown.axes_[0]) == notes(shown.axes_[1]) == ["unknown", "unknown"]
    assert "<svg" in as_svg(shown.figure_)


def test_pruned_rows_are_the_top_of_the_bars(made: Callable[..., PhasesDisplay]) -> None:
    shown = made(n_pruned={0: 30, 3: 10})
    _, pruned = shown.axes_[2].containers
    assert heights(pruned) == [30, 0, 0, 10]
    assert np.add(bottoms(pruned), heights(pruned)).tolist() == [400, 300, 200, 100]
    assert legend_of(shown.axes_[2]) == ["pruned: an entry is too large"]


@pytest.mark.parametrize(("factor", "scale"), [(1.0, "linear"), (100.0, "log")])
def test_variances_far_apart_get_a_logarithmic_axis(
    factor: float, scale: str, made: Callable[..., PhasesDisplay]
) -> None:
    assert made(variance_upper={0: 3.0 * factor}).axes_[0].get_yscale() == scale


@pytest.mark.parametrize("upper", [3.0, 300.0])
def test_every_value_lies_within_the_axes_below_the_legend(
    upper: float, made: Callable[..., PhasesDisplay]
) -> None:
    shown = made(variance_upper={0: upper})
    as_svg(shown.figure_)
    for axes, highest in zip(shown.axes_, (upper, 0.2, 400)):
        top = axes.transData.transform((1, highest))[1]
        legend = axes.get_legend()
        limit = axes.bbox.y1 if legend is None else legend.get_window_extent().y0
        assert axes.bbox.y0 < top < limit


def test_many_phases_are_drawn_without_numbers_above(made: Callable[..., PhasesDisplay]) -> None:
    shown = made(25)
    assert notes(shown.axes_[0]) == []
    assert len(shown.axes_[0].containers[0]) == 25
    assert "<svg" in as_svg(shown.figure_)
