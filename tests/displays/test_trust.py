"""Who lost weight, and in which phase."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from displays.pictures import as_svg, bare_axes, heights, legend_of, notes, overlaps
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.displays import TrustDisplay
from thresher.displays.trust import first_loss, lost_by_group, weights_by_phase
from thresher.simulate import PoisonedTable


def outcome(n_kept: int, ids: list[int], weights: list[float], left_out: list[int]) -> Any:
    """A phase as `weights_by_phase` reads it."""
    return SimpleNamespace(
        n_kept=n_kept,
        row_ids=np.array(ids),
        row_weights=np.array(weights),
        is_left_out=np.isin(ids, left_out),
    )


# Six rows. The first phase sees all, prunes row 5 and leaves out row 3; the second sees rows 1, 2
# and 5, and prunes row 5 again.
BY_HAND = [
    outcome(6, [0, 1, 2, 3, 4], [1.0, 0.75, 0.5, 0.9, 1.0], left_out=[3]),
    outcome(3, [1, 2], [0.25, 0.0], left_out=[]),
]


def test_weights_by_phase_of_an_example_by_hand() -> None:
    nan = np.nan
    np.testing.assert_array_equal(
        weights_by_phase(BY_HAND, 6),
        [[1.0, 0.75, 0.5, 0.0, 1.0, 0.0], [nan, 0.25, 0.0, nan, nan, nan]],
    )


def test_the_phase_that_took_half_of_an_example_by_hand() -> None:
    np.testing.assert_array_equal(first_loss(weights_by_phase(BY_HAND, 6)), [0, 2, 1, 1, 0, 1])


def test_the_shares_that_groups_of_an_example_by_hand_lost() -> None:
    is_first = np.array([True, True, True, False, False, False])
    lost, n_looked = lost_by_group(weights_by_phase(BY_HAND, 6), [is_first, ~is_first])
    np.testing.assert_allclose(lost, [[0.25, 0.875], [2 / 3, np.nan]])
    np.testing.assert_array_equal(n_looked, [[3, 2], [3, 0]])


def origins(poisoned: PoisonedTable) -> Any:
    return np.where(poisoned.is_planted, "planted", "clean")


@pytest.fixture
def display(classifier: HalfspaceClassifier, poisoned: PoisonedTable) -> TrustDisplay:
    return TrustDisplay.from_estimator(classifier, groups=origins(poisoned), ax=bare_axes(2))


def test_bars_count_the_rows_of_each_group_by_trust(
    display: TrustDisplay, classifier: HalfspaceClassifier, poisoned: PoisonedTable
) -> None:
    for bars, is_member in zip(
        display.axes_[0].containers, (~poisoned.is_planted, poisoned.is_planted)
    ):
        expected, _ = np.histogram(classifier.row_weights_[is_member], 10, (0, 1))
        np.testing.assert_array_equal(heights(bars), expected)
    assert display.counts_.sum() == classifier.row_weights_.size
    assert display.axes_[0].get_yscale() == "log"


def test_bars_of_phases_are_the_shares_that_were_lost(
    display: TrustDisplay, classifier: HalfspaceClassifier, poisoned: PoisonedTable
) -> None:
    first = classifier.phases_[0]
    kept = np.where(first.is_left_out, 0.0, first.row_weights)
    planted = poisoned.is_planted[first.row_ids]
    np.testing.assert_allclose(
        display.lost_share[:, 0], [1 - kept[~planted].mean(), 1 - kept[planted].mean()]
    )
    for bars, own in zip(display.axes_[1].containers, display.lost_share):
        np.testing.assert_array_equal(heights(bars), own)
    assert display.lost_share.shape == (2, classifier.n_iter_)
    np.testing.assert_array_equal(
        display.n_looked.sum(axis=0), [phase.row_ids.size for phase in classifier.phases_]
    )


def test_planted_rows_are_left_out_or_lose_their_weight_in_the_first_phase(
    display: TrustDisplay, poisoned: PoisonedTable
) -> None:
    assert display.lost_share[1, 0] > 0.9
    is_lost = (display.phase_lost == 1) | (display.row_weights == 0)
    assert np.mean(is_lost[poisoned.is_planted]) > 0.9
    assert np.mean(display.phase_lost[~poisoned.is_planted] == 0) > 0.7


def test_a_phase_without_a_row_of_a_group_has_a_dash() -> None:
    shown = TrustDisplay(
        row_weights=np.array([1.0, 0.2]),
        groups=np.array(["a", "b"]),
        group_names=["a", "b"],
        lost_share=np.array([[0.0, 0.25], [0.8, np.nan]]),
        n_looked=np.array([[1, 1], [1, 0]]),
        phase_lost=np.array([0, 1]),
    ).plot(bare_axes(2))
    assert notes(shown.axes_[1]) == ["0%", "25%", "80%", "–"]
    assert "–: no rows" in shown.axes_[1].get_xlabel()
    assert "<svg" in as_svg(shown.figure_)


def test_groups_have_their_own_color_and_hatch_in_both_panels(
    classifier: HalfspaceClassifier,
) -> None:
    kinds = np.arange(classifier.row_weights_.size) % 4
    shown = TrustDisplay.from_estimator(classifier, groups=kinds, ax=bare_axes(2))
    looks = [
        [(bars[0].get_facecolor(), bars[0].get_hatch()) for bars in axes.containers]
        for axes in shown.axes_
    ]
    assert looks[0] == looks[1]
    assert len({color for color, _ in looks[0]}) == len({hatch for _, hatch in looks[0]}) == 4


def test_the_legend_names_groups_and_counts_rows(display: TrustDisplay) -> None:
    assert legend_of(display.axes_[0]) == ["569 rows: clean", "63 rows: planted"]


def test_without_groups_all_rows_are_one(classifier: HalfspaceClassifier) -> None:
    shown = TrustDisplay.from_estimator(classifier, ax=bare_axes(2))
    assert (shown.group_names, legend_of(shown.axes_[0])) == (["rows"], ["632 rows"])


def test_phases_are_numbered_with_the_rows_they_looked_at(
    display: TrustDisplay, classifier: HalfspaceClassifier
) -> None:
    expected = [f"{p.phase.index}\n{p.row_ids.size}" for p in classifier.phases_]
    assert [text.get_text() for text in display.axes_[1].get_xticklabels()] == expected


def test_the_numbers_above_bars_do_not_overlap(
    classifier: HalfspaceClassifier, poisoned: PoisonedTable
) -> None:
    kinds = np.where(poisoned.is_planted, "planted", poisoned.y)
    shown = TrustDisplay.from_estimator(classifier, groups=kinds, ax=bare_axes(2))
    assert len(notes(shown.axes_[1])) == 3 * classifier.n_iter_
    assert not overlaps(shown.axes_[1], shown.axes_[1].texts)


def test_the_check_of_overlaps_finds_one() -> None:
    axes = bare_axes(1)
    assert overlaps(axes, [axes.text(0.5, 0.5, "one"), axes.text(0.5, 0.5, "another")])


def test_names_of_groups_are_taken_as_they_are(classifier: HalfspaceClassifier) -> None:
    kinds = np.full(classifier.row_weights_.size, "_$\\frac{ " + "long" * 20)
    shown = TrustDisplay.from_estimator(classifier, groups=kinds, ax=bare_axes(2))
    assert len(legend_of(shown.axes_[0])[0]) == len("632 rows: ") + 24
    assert "<svg" in as_svg(shown.figure_)


def test_the_labels_of_the_chosen_classifier_may_be_the_groups(
    chosen: HalfspaceClassifierCV, poisoned: PoisonedTable
) -> None:
    shown = TrustDisplay.from_estimator(chosen, groups=poisoned.y, ax=bare_axes(2))
    assert shown.group_names == ["benign", "malignant"]
    np.testing.assert_array_equal(shown.row_weights, chosen.row_weights_)


@pytest.mark.parametrize("groups", [["a", "b"], "planted", np.zeros((632, 2))])
def test_groups_of_another_length_are_refused(groups: Any, classifier: HalfspaceClassifier) -> None:
    with pytest.raises(ValueError, match="groups must have one label for each of the 632"):
        TrustDisplay.from_estimator(classifier, groups=groups, ax=bare_axes(2))


def test_too_many_groups_are_refused(classifier: HalfspaceClassifier) -> None:
    with pytest.raises(ValueError, match="groups must have at most 4 distinct labels, got 632"):
        TrustDisplay.from_estimator(classifier, groups=np.arange(632), ax=bare_axes(2))


def test_rows_that_were_pruned_are_lost_in_the_first_phase() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = (X[:, 0] > 0).astype(int)
    X[:3, 4] = 500.0
    model = HalfspaceClassifier(1, 0.05, scale=False, random_state=0).fit(X, y)
    assert model.phases_[0].n_pruned == 3
    shown = TrustDisplay.from_estimator(model, ax=bare_axes(2))
    np.testing.assert_array_equal(shown.phase_lost[:3], 1)
    assert shown.n_looked[0, 0] == 300
