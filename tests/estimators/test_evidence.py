"""Evidence: rows stand out where they are planted, and seldom where they are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.estimators.evidence import Evidence, compare_with_chance, improvement

SIGNS = np.where(np.arange(200) % 2, 1.0, -1.0)
ASKED: dict[str, Any] = {"l1_ratio": 2.0, "outlier_fraction": 0.1, "seed": 0}


def clean(seed: int, n_columns: int = 10) -> np.ndarray:
    """Normal rows, the columns of which are correlated."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n_columns) + 0.3 * rng.standard_normal((n_columns, n_columns)) / 3
    return rng.standard_normal((200, n_columns)) @ mixing


# -- variance --------------------------------------------------------------------------------


def test_clean_rows_seldom_stand_out() -> None:
    # Each of 12 tables is compared with the largest of three drawn by chance: by symmetry, one in
    # four stands out at most. Eight or more have a probability below .3 %.
    alarms = [np.greater(*compare_with_chance(clean(s), SIGNS, **ASKED)[:2]) for s in range(12)]
    assert sum(alarms) < 8


def test_rows_at_the_stated_distance_stand_out() -> None:
    seen = 0
    for seed in range(6):
        rows = clean(seed)
        *_, distance = compare_with_chance(rows, SIGNS, **ASKED)
        rows[:20, :4] += distance / 2 * SIGNS[:20, None]  # l1_ratio² columns
        gain, by_chance, _ = compare_with_chance(rows, SIGNS, **ASKED)
        seen += gain > by_chance
    assert seen >= 5


def test_the_shares_are_shares_and_the_distance_is_positive() -> None:
    gain, by_chance, distance = compare_with_chance(clean(0), SIGNS, **ASKED)
    assert 0 <= gain <= 1
    assert 0 <= by_chance < 1
    assert distance > 0


def test_equal_seeds_give_equal_numbers() -> None:
    first, second = (compare_with_chance(clean(0), SIGNS, **ASKED) for _ in range(2))
    assert first == second


def test_sparse_rows_are_seen_like_dense_ones() -> None:
    rows = clean(1)
    sparse = compare_with_chance(sp.csr_array(rows), SIGNS, **ASKED)
    assert sparse == pytest.approx(compare_with_chance(rows, SIGNS, **ASKED))


def test_rows_of_zeros_do_not_stand_out() -> None:
    gain, by_chance, distance = compare_with_chance(np.zeros((200, 3)), SIGNS, **ASKED)
    assert gain <= by_chance
    assert np.isfinite(distance)


# -- errors ----------------------------------------------------------------------------------

WRONG, RIGHT = np.arange(200) < 20, np.zeros(200, dtype=bool)


def test_fewer_errors_are_an_improvement_and_more_are_the_opposite() -> None:
    better = improvement(WRONG, RIGHT, SIGNS, np.ones(200))
    assert better > 3
    assert improvement(RIGHT, WRONG, SIGNS, np.ones(200)) == -better
    assert improvement(WRONG, WRONG, SIGNS, np.ones(200)) == 0


def test_the_same_rate_of_errors_counts_more_in_a_larger_table() -> None:
    four = [np.tile(part, 4) for part in (WRONG, RIGHT, SIGNS)]
    once = improvement(WRONG, RIGHT, SIGNS, np.ones(200))
    assert improvement(*four, np.ones(800)) == pytest.approx(2 * once)


def test_copies_of_a_row_say_no_more_about_chance_than_one() -> None:
    four = [np.tile(part, 4) for part in (WRONG, RIGHT, SIGNS)]
    once = improvement(WRONG, RIGHT, SIGNS, np.ones(200))
    copied = improvement(*four, np.ones(800), np.tile(np.arange(200), 4))
    assert copied == pytest.approx(once)


def test_rows_without_trust_do_not_count() -> None:
    trust = np.where(WRONG, 0.0, 1.0)
    assert improvement(WRONG, RIGHT, SIGNS, trust) == 0


def test_the_scale_of_the_trust_does_not_matter() -> None:
    trust = np.random.default_rng(0).random(200)
    once = improvement(WRONG, RIGHT, SIGNS, trust)
    assert improvement(WRONG, RIGHT, SIGNS, trust / 2) == pytest.approx(once)


def test_a_class_without_trust_is_no_error() -> None:
    assert np.isfinite(improvement(WRONG, RIGHT, SIGNS, (SIGNS > 0).astype(float)))


# -- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gain", "by_chance", "better", "stands_out", "words"),
    [
        (np.nan, np.nan, 2.0, True, "predict the trusted rows better (by 2.0 standard errors)"),
        (0.5, 0.2, 0.0, True, "removing 10.0% of them takes away 50.0% of the largest variance"),
        (0.1, 0.2, 0.9, False, "Nothing stands out above what 200 rows and 30 columns show"),
        (np.nan, np.nan, 0.0, False, "Nothing stands out"),
    ],
)
def test_the_sentence_says_what_stands_out(
    gain: float, by_chance: float, better: float, stands_out: bool, words: str
) -> None:
    evidence = Evidence(200, 30, 0.1, gain, by_chance, 4.0, better)
    assert evidence.stands_out == stands_out
    assert words in evidence.sentence()


@pytest.mark.parametrize(
    ("of_trusted", "of_most", "helps"), [(2.0, 2.0, True), (9.0, 0.9, False), (0.9, 9.0, False)]
)
def test_trust_helps_in_a_small_table_if_most_rows_are_predicted_better(
    of_trusted: float, of_most: float, helps: bool
) -> None:
    evidence = Evidence(200, 30, 0.1, 0.5, 0.2, 4.0, of_trusted, improvement_of_most=of_most)
    assert evidence.helps == helps and evidence.stands_out
    assert replace(evidence, n_distinct=1000).helps
    assert not replace(evidence, n_distinct=1000, improvement=0.0, gain=0.1).helps


def test_the_sentence_says_what_would_have_been_seen() -> None:
    sentence = Evidence(200, 30, 0.1, 0.1, 0.2, 4.03, 0.0).sentence()
    assert "Had 20 planted rows" in sentence
    assert "at 4.0 standard deviations" in sentence


def test_of_one_planted_row_the_sentence_speaks_in_the_singular() -> None:
    sentence = Evidence(50, 30, 0.02, 0.1, 0.2, 4.03, 0.0).sentence()
    assert "Had 1 planted row shared" in sentence
    assert sentence.endswith("4.0 standard deviations from its class, it would have been seen.")


@pytest.mark.parametrize("distance", [np.nan, 0.0, 0.04])
def test_without_a_distance_the_sentence_does_not_name_one(distance: float) -> None:
    sentence = Evidence(200, 30, 0.1, 0.0, 0.0, distance, 0.0).sentence()
    assert sentence == "Nothing stands out above what 200 rows and 30 columns show by chance."


def test_a_filter_that_looked_for_nothing_did_not_compare_with_chance() -> None:
    sentence = Evidence(200, 30, 0.0, np.nan, np.nan, np.nan, 0.0).sentence()
    assert sentence == "The filter looked for nothing, since the noise rate is 0."
