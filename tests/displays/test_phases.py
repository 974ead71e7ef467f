"""What each phase proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from displays.pictures import as_svg, bare_axes, bottoms, heights, legend_of, notes
from thresher import HalfspaceClassifier
from thresher.displays import PhasesDisplay
from thresher.simulate import PoisonedTable


def made(n_phases: int = 4, **changes: Any) -> PhasesDisplay:
    """A display of made-up numbers; every second phase has half of the radius."""
    ones = np.ones(n_phases)
    radius = np.where(np.arange(n_phases) % 2, 0.5, 1.0)
    data = {
        "variance_lower": 2.0 * radius**2,
        "variance_upper": 3.0 * radius**2,
        "optimum_lower": 1.5 * radius**2,
        "l2_radius": radius,
        "loss": 0.2 * ones,
        "loss_gap": 0.05 * ones,
        "n_kept": np.arange(n_phases, 0, -1) * 100,
        "n_pruned": np.zeros(n_phases, dtype=np.intp),
        "removal_is_certified": ones.astype(bool),
        "loss_is_certified": ones.astype(bool),
        "label_aware": True,
    }
    return PhasesDisplay(**{**data, **changes}).plot(bare_axes(3))  # type: ignore[arg-type]


def changed(values: Any, place: int, value: Any) -> Any:
    copy = np.array(values)
    copy[place] = value
    return copy


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
        markers(display.axes_[0], "Algorithm 2 cannot go below this"),
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


def test_a_phase_is_certified_if_both_of_its_solvers_are(
    display: PhasesDisplay, classifier: HalfspaceClassifier
) -> None:
    both = display.removal_is_certified & display.loss_is_certified
    assert both.tolist() == [phase.is_certified for phase in classifier.phases_]


def test_the_lower_bound_of_a_label_aware_phase_is_not_said_to_hold_for_the_weights_used(
    display: PhasesDisplay, poisoned: PoisonedTable
) -> None:
    assert "bottom: only for Algorithm 2's own" in legend_of(display.axes_[0])[0]
    corollary = HalfspaceClassifier(5, 0.1, label_aware=False, random_state=0)
    other = PhasesDisplay.from_estimator(corollary.fit(poisoned.X, poisoned.y), ax=bare_axes(3))
    assert legend_of(other.axes_[0])[0] == "it lies in here"


def test_phases_of_different_radius_can_be_compared() -> None:
    (boxes,) = made().axes_[0].containers
    assert bottoms(boxes) == [2.0] * 4


@pytest.mark.parametrize(("name", "panel"), [("removal_is_certified", 0), ("loss_is_certified", 1)])
def test_phases_that_are_not_certified_are_marked_where_it_matters(name: str, panel: int) -> None:
    shown = made(**{name: np.array([True, False, True, False])})
    for i, axes in enumerate(shown.axes_):
        spans = [patch for patch in axes.patches if patch.get_hatch() == "xx"]
        expected = [1.5, 3.5] if i == panel else []
        assert [span.get_x() for span in spans] == expected
        assert ("not certified" in legend_of(axes)) == (i == panel)


def test_certified_phases_are_not_marked(display: PhasesDisplay) -> None:
    assert all("not certified" not in legend_of(axes) for axes in display.axes_)


def test_a_missing_upper_bound_leaves_a_mark_at_the_lower_one() -> None:
    shown = made(variance_upper=changed(made().variance_upper, 2, np.inf))
    assert markers(shown.axes_[0], "at least this; no upper bound").tolist() == [2.0]
    assert len(shown.axes_[0].containers[0]) == 3


def test_a_missing_lower_bound_is_zero() -> None:
    shown = made(variance_lower=changed(made().variance_lower, 2, np.nan))
    assert bottoms(shown.axes_[0].containers[0]) == [2.0, 2.0, 0.0, 2.0]


@pytest.mark.parametrize("gap", [np.inf, np.nan])
def test_a_gap_that_is_not_proven_reaches_down_to_zero(gap: float) -> None:
    shown = made(loss_gap=changed(made().loss_gap, 1, gap))
    np.testing.assert_allclose(bottoms(shown.axes_[1].containers[1]), [0.15, 0.0, 0.15, 0.15])


def test_numbers_that_are_not_known_are_said_to_be_so() -> None:
    nothing = np.full(2, np.nan)
    names = ("variance_lower", "variance_upper", "optimum_lower", "loss", "loss_gap")
    shown = made(2, **dict.fromkeys(names, nothing))
    assert notes(shown.axes_[0]) == notes(shown.axes_[1]) == ["unknown", "unknown"]
    assert "<svg" in as_svg(shown.figure_)


def test_pruned_rows_are_the_top_of_the_bars() -> None:
    shown = made(n_pruned=np.array([30, 0, 0, 10]))
    _, pruned = shown.axes_[2].containers
    assert heights(pruned) == [30, 0, 0, 10]
    assert np.add(bottoms(pruned), heights(pruned)).tolist() == shown.n_kept.tolist()
    assert legend_of(shown.axes_[2]) == ["pruned for too large an entry"]


@pytest.mark.parametrize(("factor", "scale"), [(1.0, "linear"), (100.0, "log")])
def test_variances_far_apart_get_a_logarithmic_axis(factor: float, scale: str) -> None:
    upper = changed(made().variance_upper, 0, 3.0 * factor)
    assert made(variance_upper=upper).axes_[0].get_yscale() == scale


def test_every_value_lies_within_the_axes_below_the_legend() -> None:
    for shown in (made(), made(variance_upper=changed(made().variance_upper, 0, 300.0))):
        as_svg(shown.figure_)
        for axes, highest in zip(shown.axes_, (shown.variance_upper.max(), 0.2, 400)):
            top = axes.transData.transform((1, highest))[1]
            legend = axes.get_legend()
            limit = axes.bbox.y1 if legend is None else legend.get_window_extent().y0
            assert axes.bbox.y0 < top < limit


def test_many_phases_are_drawn_without_numbers_above() -> None:
    shown = made(25)
    assert notes(shown.axes_[0]) == []
    assert len(shown.axes_[0].containers[0]) == 25
    assert "<svg" in as_svg(shown.figure_)
