"""The rule that chooses from a path."""

from __future__ import annotations

from thresher.estimators.comparison import PathPoint, choose

# -- the rule --------------------------------------------------------------------------------


def points(*errors: tuple[int, float, float]) -> list[PathPoint]:
    """A path without noise rates."""
    return [PathPoint(s, 0.0, error, spread) for s, error, spread in errors]


def test_the_best_is_chosen_if_the_rest_is_clearly_worse() -> None:
    assert choose(points((1, 0.4, 0.01), (2, 0.1, 0.01), (3, 0.2, 0.01))).sparsity == 2


def test_the_sparsest_within_one_standard_error_is_chosen() -> None:
    assert choose(points((1, 0.4, 0.01), (2, 0.11, 0.2), (3, 0.1, 0.01))).sparsity == 2


def test_the_standard_error_is_that_of_the_best() -> None:
    assert choose(points((1, 0.2, 0.5), (3, 0.1, 0.01))).sparsity == 3


def test_of_the_noise_rates_at_that_sparsity_the_best_is_chosen() -> None:
    path = [PathPoint(1, 0.0, 0.12, 0), PathPoint(1, 0.1, 0.11, 0), PathPoint(9, 0.0, 0.1, 0.05)]
    assert choose(path) == path[1]


def test_the_order_of_the_path_does_not_matter() -> None:
    path = points((1, 0.4, 0.01), (2, 0.11, 0.2), (3, 0.1, 0.01))
    assert choose(path[::-1]) == choose(path)
