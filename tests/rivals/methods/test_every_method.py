"""What every method must do: return a unit vector, keep to its budget, repeat itself by seed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest
from thresher.rivals.methods import _MODULES, METHODS, Method
from thresher.simulate import Gaussian, LinfHijack, MaliciousOracle, random_target

pytestmark = pytest.mark.usefixtures("few_values_of_C")

BUDGET = 300
SMALL = {"n_features": 30, "sparsity": 3, "label_budget": BUDGET}
TINY = {"n_features": 5, "sparsity": 2, "label_budget": 30}
# Active on a pool: it draws rows from everywhere, and chooses which labels to buy.
POOL_BASED = {
    "klivans-long-servedio-strengthened",
    "margin-sampling",
    "margin-sampling-cut",
    "sparse-filter",
    "uncertainty-sampling",
}
# Active near the boundary: it asks for rows in a band.
BAND_BASED = {
    "awasthi-balcan-long",
    "awasthi-balcan-long-hinge-start",
    "awasthi-et-al-2016",
    "balcan-long",
    "diakonikolas-kane-stewart-strengthened",
    "localized-perceptron",
    "shen-2023",
    "sparse-filter-localized",
    "zhang-2018",
    "zhang-shen-awasthi",
}
# Without a use for the sparsity, beside those that are cut to it elsewhere in the registry.
DENSE = {
    "awasthi-balcan-long",
    "awasthi-balcan-long-hinge-start",
    "balcan-long",
    "shen-2023",
    "uncertainty-sampling",
}


def is_dense(name: str) -> bool:
    return name in DENSE or name.endswith("-dense") or f"{name}-cut" in METHODS


class Watched:
    """An oracle that remembers the widths of the requested bands."""

    def __init__(self, n_features: int, sparsity: int, noise_rate: float) -> None:
        self.oracle = MaliciousOracle(
            distribution=Gaussian(n_features),
            target=random_target(n_features, sparsity, 0),
            noise_rate=noise_rate,
            adversary=LinfHijack() if noise_rate else None,
            random_state=1,
        )
        self.n_features = n_features
        self.widths: list[float] = []

    def draw(self, request: DrawRequest) -> Draw:
        if request.band.normal.any():
            self.widths.append(float(request.band.width))
        return self.oracle.draw(request)

    def reveal(self, ids: Any) -> np.ndarray:
        return self.oracle.reveal(ids)


def learned(name: str, *, noise_rate: float, **sizes: int) -> tuple[np.ndarray, Watched]:
    source = Watched(sizes["n_features"], sizes["sparsity"], noise_rate)
    task = Task(noise_rate=noise_rate, **sizes)
    return METHODS[name].learn(source, task, np.random.default_rng(2)), source


@cache
def small(name: str, noise_rate: float) -> tuple[np.ndarray, Watched]:
    return learned(name, noise_rate=noise_rate, **SMALL)


@cache
def tiny(name: str, noise_rate: float, label_budget: int) -> tuple[np.ndarray, Watched]:
    return learned(name, noise_rate=noise_rate, **{**TINY, "label_budget": label_budget})


every_method = pytest.mark.parametrize("name", METHODS)
# With noise, the tests of few labels look at the same.
with_and_without_noise = pytest.mark.parametrize(
    "noise_rate", [0.0, pytest.param(0.05, marks=pytest.mark.slow)]
)


def test_methods_are_known_by_their_own_names() -> None:
    assert all(isinstance(method, Method) for method in METHODS.values())
    assert [method.name for method in METHODS.values()] == list(METHODS)


@every_method
def test_a_name_is_in_lower_case_with_hyphens(name: str) -> None:
    assert name == name.lower() and name.replace("-", "").isalnum()


def test_no_two_modules_have_a_method_of_the_same_name() -> None:
    modules = [import_module(f"thresher.rivals.methods.{name}") for name in _MODULES]
    assert sum(len(module.METHODS) for module in modules) == len(METHODS)


@every_method
@with_and_without_noise
def test_the_answer_is_a_halfspace_of_unit_length(name: str, noise_rate: float) -> None:
    halfspace, _ = small(name, noise_rate)
    assert halfspace.shape == (30,)
    assert np.linalg.norm(halfspace) == pytest.approx(1, abs=1e-9)


@every_method
@with_and_without_noise
def test_no_more_labels_are_paid_than_the_budget_allows(name: str, noise_rate: float) -> None:
    _, source = small(name, noise_rate)
    assert 0 < source.oracle.n_labels <= BUDGET


@every_method
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    again = learned(name, noise_rate=0.1, **TINY)[0]
    np.testing.assert_array_equal(again, tiny(name, 0.1, TINY["label_budget"])[0])


@pytest.mark.slow
@every_method
def test_the_same_seed_gives_the_same_bits_at_any_size(name: str) -> None:
    np.testing.assert_array_equal(learned(name, noise_rate=0.05, **SMALL)[0], small(name, 0.05)[0])


@every_method
@pytest.mark.parametrize(
    ("noise_rate", "label_budget"),
    [
        *[(0.0, 1), (0.1, 1), (0.1, 2), (0.1, 30)],
        *[pytest.param(0.0, n_labels, marks=pytest.mark.slow) for n_labels in (2, 30)],
    ],
)
def test_one_label_is_enough_for_a_halfspace(
    name: str, noise_rate: float, label_budget: int
) -> None:
    if name.startswith("confident-learning") and label_budget < 30:
        pytest.skip("its folds need several rows of each class")
    halfspace, source = tiny(name, noise_rate, label_budget)
    assert np.linalg.norm(halfspace) == pytest.approx(1, abs=1e-9)
    assert source.oracle.n_labels <= label_budget


@every_method
def test_only_an_active_method_asks_for_rows_near_its_boundary(name: str) -> None:
    _, source = small(name, 0.0)
    assert bool(source.widths) == (name in BAND_BASED)


@every_method
def test_only_an_active_method_leaves_rows_without_a_label(name: str) -> None:
    _, source = small(name, 0.0)
    assert (source.oracle.n_labels < source.oracle.n_draws) == (name in BAND_BASED | POOL_BASED)


@every_method
def test_only_a_sparse_method_uses_the_sparsity(name: str) -> None:
    source = Watched(30, 3, 0.0)
    task = Task(n_features=30, sparsity=1, noise_rate=0.0, label_budget=BUDGET)
    sparser = METHODS[name].learn(source, task, np.random.default_rng(2))
    assert np.array_equal(sparser, small(name, 0.0)[0]) == is_dense(name)


@every_method
def test_clean_rows_are_learned_better_than_by_guessing(name: str) -> None:
    halfspace, source = small(name, 0.0)
    assert source.oracle.error_rate(halfspace) < 0.3
