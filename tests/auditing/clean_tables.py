"""Twelve clean tables: nobody planted anything, so an audit has next to nobody to name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_circles,
    make_classification,
)

Table = tuple[Any, Any]


def _labels(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels as a logistic model draws them."""
    return np.where(rng.random(scores.size) < 1 / (1 + np.exp(-scores)), "yes", "no")


def coin_flips(rng: np.random.Generator) -> Table:
    """Labels that have nothing to do with the rows."""
    return rng.normal(size=(500, 10)), rng.choice(["no", "yes"], 500)


def duplicated_rows(rng: np.random.Generator) -> Table:
    """A tenth of the rows stand in the table twice, with the same label."""
    X = rng.normal(size=(400, 8))
    y = _labels(4 * X[:, 0] - 3 * X[:, 1], rng)
    order = rng.permutation(np.append(np.arange(400), np.arange(40)))
    return X[order], y[order]


def imbalance(rng: np.random.Generator) -> Table:
    """One row in twenty is of the smaller class."""
    X = rng.normal(size=(1000, 8))
    y = np.where(np.arange(1000) < 50, "rare", "common")
    X[:50, :3] += 2
    return X, y


def exclusive_or(rng: np.random.Generator) -> Table:
    """No linear model sees anything."""
    X = rng.normal(size=(600, 6))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "different")


def circles(rng: np.random.Generator) -> Table:
    """A ring around a disk."""
    return make_circles(500, noise=0.1, factor=0.5, random_state=int(rng.integers(1000)))


def heavy_tails(rng: np.random.Generator) -> Table:
    """Columns with two degrees of freedom."""
    X = rng.standard_t(2, size=(600, 8))
    return X, _labels(2 * X[:, 0] - 2 * X[:, 1], rng)


def breast_cancer(_: np.random.Generator) -> Table:
    """Cell nuclei, malignant and benign."""
    return load_breast_cancer(return_X_y=True, as_frame=True)


def wine(_: np.random.Generator) -> Table:
    """Two of three cultivars."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X[y < 2], y[y < 2]


def digits(_: np.random.Generator) -> Table:
    """Threes and eights."""
    X, y = load_digits(return_X_y=True)
    return X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]


def overlapping(rng: np.random.Generator) -> Table:
    """Classes that overlap: every fifth row is beyond prediction."""
    seed = int(rng.integers(1000))
    return make_classification(800, 15, n_informative=4, flip_y=0, class_sep=0.8, random_state=seed)


def counts_and_categories(rng: np.random.Generator) -> Table:
    """Visits, amounts and cities, some of them missing."""
    n = 500
    frame = pd.DataFrame(
        {
            "visits": rng.poisson(3, n),
            "amount": np.exp(rng.normal(3, 1, n)).round(2),
            "age": rng.normal(40, 12, n).round(),
            "city": rng.choice(["Bonn", "Oslo", "Rome", "Ulm"], n, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )
    y = _labels(frame["visits"].to_numpy() - 3.0 + (frame["city"] == "Oslo").to_numpy(), rng)
    frame.loc[rng.choice(n, 25, replace=False), "age"] = np.nan
    return frame, y


def tiny(rng: np.random.Generator) -> Table:
    """Forty rows."""
    X = rng.normal(size=(40, 5))
    return X, _labels(4 * X[:, 0], rng)


CLEAN_TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    make.__name__: make
    for make in (
        coin_flips,
        duplicated_rows,
        imbalance,
        exclusive_or,
        circles,
        heavy_tails,
        breast_cancer,
        wine,
        digits,
        overlapping,
        counts_and_categories,
        tiny,
    )
}
