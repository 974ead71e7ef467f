"""The passive learner: labeled tables, clean and poisoned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from runs import SMALL, Table, active, finish, oracle
from thresher.errors import DoubtfulLabels, LearningStopped
from thresher.geometry import Band
from thresher.learning import PracticalSchedule, learn_from_examples, learn_passively
from thresher.oracles import DrawRequest, LabeledStream
from thresher.simulate import FarClump, InBandMass, LabelFlip

TABLE = Table(1000, 30, 3)


def learned(X: Any = TABLE.X, y: Any = TABLE.y, **changes: Any) -> Any:
    """A passive run on a table."""
    options = {"sparsity": 3, "noise_rate": 0.0, "random_state": 0}
    return learn_passively(X, y, **{**options, **changes})


@cache
def whole() -> Any:
    """The run that many tests look at."""
    return learned()


def angle(halfspace: np.ndarray, target: np.ndarray) -> float:
    """The angle between two unit vectors."""
    return math.acos(min(1.0, float(halfspace @ target)))


def test_a_clean_table_gives_its_features() -> None:
    assert np.flatnonzero(whole().halfspace_).tolist() == np.flatnonzero(TABLE.target).tolist()


def test_a_clean_table_gives_its_direction() -> None:
    assert angle(whole().halfspace_, TABLE.target) < 0.1


def test_the_first_phase_uses_every_label() -> None:
    first = whole().phases_[0]
    assert (first.n_kept, first.n_labels, first.n_labels_used) == (1000, 1000, 1000)


def test_every_row_in_the_band_is_used_in_later_phases() -> None:
    learner = whole()
    for before, now in zip(learner.phases_, learner.phases_[1:]):
        inside = Band(before.halfspace, now.phase.band_width).admits(TABLE.X)
        assert now.n_labels_used == np.count_nonzero(inside)


def test_a_sparse_table_gives_the_same_features() -> None:
    sparse = learned(TABLE.csr)
    assert np.array_equal(np.flatnonzero(sparse.halfspace_), np.flatnonzero(TABLE.target))


@pytest.mark.parametrize("adversary", [InBandMass(3.0), FarClump(), LabelFlip()], ids=str)
def test_a_poisoned_table_still_gives_the_features(adversary: Any) -> None:
    # The seeds are fixed: 5 % of the rows are dirty, and the same each time.
    source = oracle(30, 3, noise_rate=0.05, adversary=adversary, seed=4)
    draw = source.draw(DrawRequest(n_rows=2000, band=Band(np.zeros(30), np.inf)))
    learner = learned(draw.X, source.reveal(draw.ids), noise_rate=0.05)
    assert np.array_equal(np.flatnonzero(learner.halfspace_), np.flatnonzero(source.target))
    assert source.error_rate(learner.halfspace_) < 0.05


def test_a_schedule_of_your_own_is_used() -> None:
    learner = learned(schedule=SMALL)
    assert learner.phases_[0].n_kept == SMALL.max_unlabeled


def test_with_a_schedule_that_samples_it_is_the_active_learner() -> None:
    active_learner = finish(
        active(TABLE.X, noise_rate=0.0, label_budget=None, random_state=0), TABLE.reveal
    )
    passive = learned(schedule=SMALL)
    assert passive.halfspace_.tobytes() == active_learner.halfspace_.tobytes()


def test_lists_are_tables_too() -> None:
    learner = learned(TABLE.X.tolist(), [int(label) for label in TABLE.y])
    assert learner.halfspace_.tobytes() == whole().halfspace_.tobytes()


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_a_tiny_table_is_learned_without_a_crash(n_rows: int) -> None:
    learner = learned(TABLE.X[:n_rows], TABLE.y[:n_rows])
    assert np.linalg.norm(learner.halfspace_) == pytest.approx(1.0)


def test_one_class_is_learned_without_a_crash() -> None:
    with pytest.warns(DoubtfulLabels, match="of one class"):
        learner = learned(y=np.ones(1000))
    assert np.linalg.norm(learner.halfspace_) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TABLE.y[:-1], "y must have length 1000, got 999"),
        ((TABLE.y + 1) / 2, r"y must be -1 or \+1, but y\[\d+\] is 0.0"),
        (np.where(np.arange(1000) == 17, np.nan, TABLE.y), r"y\[17\] is nan"),
        (TABLE.y[:, None], "y must have one dimension"),
        ([], "y is empty"),
    ],
    ids=["short", "zero and one", "nan", "column", "empty"],
)
def test_labels_that_are_none_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learned(y=y)


def test_labels_of_text_are_refused() -> None:
    with pytest.raises(TypeError, match="y must hold real numbers"):
        learned(y=np.where(TABLE.y > 0, "yes", "no"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named(value: float) -> None:
    X = TABLE.X.copy()
    X[12, 3] = value
    with pytest.raises(ValueError, match=r"X\[12, 3\]"):
        learned(X)


def test_a_table_far_out_of_scale_is_stopped_with_advice() -> None:
    with pytest.raises(LearningStopped, match="mean 0 and variance 1"):
        learned(1e6 * TABLE.X)


# -- examples from EX ------------------------------------------------------------------------


def pairs(n_pairs: int, n_features: int = 20, seed: int = 0) -> Iterator[tuple[np.ndarray, float]]:
    """Gaussian rows with the sign of their first entry."""
    rng = np.random.default_rng(seed)
    for _ in range(n_pairs):
        row = rng.standard_normal(n_features)
        yield row, 1.0 if row[0] >= 0 else -1.0


def test_the_corollary_learns_from_an_oracle_that_gives_labeled_pairs() -> None:
    schedule = PracticalSchedule(
        use_every_row=True, reuse_labels=False, min_unlabeled=400, max_unlabeled=400
    )
    learner = learn_from_examples(
        pairs(20_000), sparsity=1, noise_rate=0.02, schedule=schedule, random_state=0
    )
    assert np.flatnonzero(learner.halfspace_).tolist() == [0]
    assert learner.n_draws_ > learner.n_labels_ > 400  # rejected pairs are paid with their labels


def test_pairs_and_a_source_of_the_same_rows_teach_the_same() -> None:
    schedule = PracticalSchedule(use_every_row=True, min_unlabeled=200, max_unlabeled=200)
    asked = {"sparsity": 1, "noise_rate": 0.02, "schedule": schedule, "random_state": 0}
    from_pairs = learn_from_examples(pairs(9000), **asked)
    from_source = learn_from_examples(LabeledStream(pairs(9000)), **asked)
    assert np.array_equal(from_pairs.halfspace_, from_source.halfspace_)


def test_every_example_in_the_band_is_used_with_its_label() -> None:
    learner = learn_from_examples(pairs(9000), sparsity=1, noise_rate=0.0, random_state=0)
    assert learner.phases_[0].n_labels == learner.phases_[0].n_kept


@pytest.mark.parametrize("examples", [[1.0, 2.0], [([1.0, 2.0], 0.5)], 7])
def test_what_is_not_a_pair_of_row_and_label_is_refused(examples: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"pair|label"):
        learn_from_examples(examples, sparsity=1, noise_rate=0.0)
