"""Bars of the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

from displays.pictures import as_svg, bare_axes, legend_of, notes
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.displays import FeaturesDisplay


def tick_texts(display: FeaturesDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_bars_are_the_weights_of_scaled_columns_largest_first(
    classifier: HalfspaceClassifier,
) -> None:
    display = FeaturesDisplay.from_estimator(classifier, ax=bare_axes(1))
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(widths, display.weights)
    np.testing.assert_array_equal(np.sort(np.abs(widths))[::-1], np.abs(widths))
    in_units = classifier.coef_[0] * classifier.scaling_.scale
    named = dict(zip(classifier.feature_names_in_, in_units))
    np.testing.assert_allclose(widths, [named[name] for name in display.names])
    assert set(display.names) == set(classifier.feature_names_in_[classifier.support_])


def test_the_largest_weight_is_at_the_top(classifier: HalfspaceClassifier) -> None:
    display = FeaturesDisplay.from_estimator(classifier, ax=bare_axes(1))
    bottom, top = display.ax_.get_ylim()
    assert abs(top - display.bars_[0].get_y()) < abs(bottom - display.bars_[0].get_y())


def test_features_without_names_get_numbers(nameless: HalfspaceClassifier) -> None:
    display = FeaturesDisplay.from_estimator(nameless, max_features=60, ax=bare_axes(1))
    assert sorted(display.names) == sorted(f"x{j}" for j in nameless.support_)
    assert tick_texts(display) == display.names
    assert display.n_more == 0


def test_features_that_are_left_out_are_counted(nameless: HalfspaceClassifier) -> None:
    display = FeaturesDisplay.from_estimator(nameless, max_features=7, ax=bare_axes(1))
    assert len(display.bars_) == 7
    assert tick_texts(display)[7:] == [f"and {nameless.support_.size - 7} more"]
    left_out = np.setdiff1d(nameless.support_, [int(name[1:]) for name in display.names])
    assert np.abs(nameless.coef_[0] * nameless.scaling_.scale)[left_out].max() <= np.min(
        np.abs(display.weights)
    )


def test_sign_shows_in_color_and_hatch_and_the_legend_names_its_class() -> None:
    display = FeaturesDisplay(
        weights=np.array([0.5, -0.3, 0.1]), names=["a", "b", "c"], classes=["ham", "spam"]
    ).plot(bare_axes(1))
    looks = [(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in display.bars_]
    assert looks[0] == looks[2]
    assert looks[0][0] != looks[1][0] and looks[0][1] != looks[1][1]
    assert legend_of(display.ax_) == ["larger values favor spam", "larger values favor ham"]
    swatches = [to_hex(patch.get_facecolor()) for patch in display.ax_.get_legend().get_patches()]
    assert swatches == [looks[0][0], looks[1][0]]


def test_larger_values_do_speak_for_the_class_in_the_legend() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = np.where(X[:, 2] > 0, "high", "a low one")  # "high" is the second class
    model = HalfspaceClassifier(1, 0.0, random_state=0).fit(X, y)
    display = FeaturesDisplay.from_estimator(model, ax=bare_axes(1))
    assert (display.names, legend_of(display.ax_)) == (["x2"], ["larger values favor high"])


def test_the_chosen_classifier_is_shown_with_names(chosen: HalfspaceClassifierCV) -> None:
    display = FeaturesDisplay.from_estimator(chosen, ax=bare_axes(1))
    assert len(display.bars_) == chosen.support_.size
    assert set(display.names) <= set(chosen.feature_names_in_)


def test_no_feature_at_all_is_said_in_words() -> None:
    model = HalfspaceClassifier(2, 0.0, random_state=0)
    model.fit(np.zeros((40, 3)), np.repeat([0, 1], 20))
    assert model.support_.size == 0
    display = FeaturesDisplay.from_estimator(model, ax=bare_axes(1))
    assert display.bars_ == []
    assert "The model uses no feature" in notes(display.ax_)[0]


def test_long_names_are_shortened_and_dollars_are_no_mathematics() -> None:
    name = "$\\frac{ " + "long " * 20 + "$"
    display = FeaturesDisplay(
        weights=np.array([0.5]), names=[name], classes=["$\\no$", "$\\yes$"]
    ).plot(bare_axes(1))
    assert len(tick_texts(display)[0]) == 30
    assert "<svg" in as_svg(display.figure_)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (2.5, TypeError), ("all", TypeError)]
)
def test_the_number_of_features_is_checked(
    value: Any, error: type[Exception], classifier: HalfspaceClassifier
) -> None:
    with pytest.raises(error, match="max_features"):
        FeaturesDisplay.from_estimator(classifier, max_features=value, ax=bare_axes(1))
