"""What passive methods share: the number of labels, rows that do not overflow, the sparse cut."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.errors import LearningStopped
from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest
from thresher.rivals.methods.method import LARGEST_ENTRY, draw_sample, keep_largest


class OneRow:
    """A source with a single row, or none."""

    def __init__(self, *rows: list[float]) -> None:
        self.rows = rows

    def draw(self, request: DrawRequest) -> Draw:
        self.n_requested = request.n_rows
        X = np.array(self.rows).reshape(len(self.rows), request.n_features)
        return Draw(ids=np.arange(len(X)), X=X, n_drawn=len(X))

    def reveal(self, ids: np.ndarray) -> np.ndarray:
        return np.ones(len(ids))


def task(**options: int) -> Task:
    return Task(n_features=2, sparsity=1, noise_rate=0.0, **options)


@pytest.mark.parametrize(
    ("n_features", "label_budget", "n_rows"), [(3, 17, 17), (3, None, 4000), (1000, None, 10_000)]
)
def test_a_sample_uses_up_the_budget_and_grows_with_the_features_without_one(
    n_features: int, label_budget: int | None, n_rows: int
) -> None:
    source = OneRow([0.0] * n_features)
    draw_sample(
        source,
        Task(n_features=n_features, sparsity=1, noise_rate=0.0, label_budget=label_budget),
    )
    assert source.n_requested == n_rows


def test_a_source_without_rows_stops_a_method() -> None:
    with pytest.raises(LearningStopped, match="no row"):
        draw_sample(OneRow(), task())


def test_entries_whose_squares_overflow_are_cut() -> None:
    X, _ = draw_sample(OneRow([1e200, -2.0]), task())
    np.testing.assert_array_equal(X, [[LARGEST_ENTRY, -2.0]])


def test_the_largest_entries_are_kept_at_unit_length() -> None:
    learn = keep_largest(lambda *_: np.array([0.6, -0.8]))
    np.testing.assert_array_equal(learn(OneRow(), task(), np.random.default_rng(0)), [0.0, -1.0])
