"""Random problems of many shapes and kinds, each from a seed, for the tests of the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.certificates import accepts_removal, accepts_worst_direction

Radii = dict[str, float]


def second_moment(X: Any) -> np.ndarray:
    """The uncentered second moment of the rows."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X.T @ X / X.shape[0]


def random_rows(rng: np.random.Generator, n: int, d: int, kind: int) -> np.ndarray:
    """Gaussian rows, or heavy-tailed, sparse, repeated, collinear or poisoned ones."""
    X = rng.standard_normal((n, d))
    if kind == 1:
        X = rng.laplace(size=(n, d))
    elif kind == 2:
        X *= rng.random((n, d)) < 0.2
    elif kind == 3:
        X = X[rng.integers(0, n, n)]
    elif kind == 4:
        X = X[:, rng.integers(0, d, d)]
    elif kind == 5:
        planted = rng.standard_normal(d) * (rng.random(d) < 0.2)
        X[: 1 + n // 20] = 4 * planted
    elif kind == 6:
        X = np.outer(rng.standard_normal(n), rng.standard_normal(d))
    return X


N_KINDS = 7


def random_gram(seed: int, *, max_features: int = 40) -> tuple[np.ndarray, Radii]:
    """A second moment of random rows, and radii of some phase."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([d for d in (1, 2, 5, 12, 20, 40) if d <= max_features]))
    n = int(rng.choice([1, d, 3 * d, 200]))
    X = random_rows(rng, n, d, seed % N_KINDS) * 10.0 ** rng.integers(-3, 4)
    r = float(rng.choice([1.0, 2.0**-4, 2.0**-12, 3.0]))
    ratio = rng.choice([0.5, 1.0, 1.5, 2.0, np.sqrt(d), 2 * np.sqrt(d)])
    return second_moment(X), {"l2_radius": r, "l1_radius": float(r * ratio)}


def hostile_gram(seed: int, *, n_features: int | None = None) -> tuple[np.ndarray, Radii]:
    """A finite symmetric matrix of a kind that has broken solvers, and radii."""
    rng = np.random.default_rng([seed, 1])
    d = n_features or int(rng.choice([1, 2, 3, 8, 16, 30]))
    v, base = rng.standard_normal(d), second_moment(rng.standard_normal((2 * d, d)))
    copies = rng.integers(0, d, d)
    block = np.kron(np.eye(-(-d // 3)), np.ones((3, 3)))[:d, :d]
    arrow = np.eye(d)
    arrow[0] = arrow[:, 0] = 1.0
    gaps = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    kinds = [
        np.outer(v, v),
        np.zeros((d, d)),
        np.ones((d, d)),
        -np.ones((d, d)),
        block,
        1e150 * base,
        1e-150 * base,
        -base,
        base - np.median(np.diag(base)) * np.eye(d),
        base[np.ix_(copies, copies)],
        np.diag(v),
        np.eye(d) + 1e-13 * (base + base.T),
        np.eye(d) * (1 + 1e-15 * np.arange(d)),
        1 / (1.0 + np.add.outer(np.arange(d), np.arange(d))),
        (1 + 1 / d) * np.eye(d) - np.ones((d, d)) / d,
        arrow,
        (-0.9) ** gaps,
        np.where(np.eye(d) > 0, 1e-12, 1.0),
        base + 1e12 * np.outer(np.eye(d)[0], np.eye(d)[0]),
        np.diag(10.0 ** np.linspace(-12, 12, d)),
    ]
    ratio = rng.choice([1e-3, 0.5, 1.0, 1.0 + 1e-12, np.sqrt(2), 3.0, np.sqrt(d), 1e3])
    r = float(rng.choice([1.0, 2.0**-18, 1e3]))
    return kinds[seed % len(kinds)], {"l2_radius": r, "l1_radius": float(r * ratio)}


def removal_problem(seed: int) -> tuple[Any, dict[str, Any]]:
    """Rows and arguments for `remove_outliers`: dense or CSR, with or without a limit."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([1, 7, 60, 200])), int(rng.choice([1, 3, 12, 30, 80]))
    X: Any = random_rows(rng, n, d, seed % N_KINDS) * 10.0 ** rng.integers(-3, 4)
    r = float(rng.choice([1.0, 2.0**-4, 2.0**-12]))
    arguments: dict[str, Any] = {
        "l2_radius": r,
        "l1_radius": float(r * rng.choice([0.7, 1.0, 2.0, 3.0, np.sqrt(d)])),
        "outlier_fraction": float(rng.choice([0.0, 0.03, 0.1, 0.35])),
        "tolerance": float(rng.choice([0.01, 0.05, 0.2])),
    }
    if seed % 2:
        typical = r**2 * float(np.square(X).mean())
        arguments["max_variance"] = max(typical * float(rng.choice([0.3, 1.0, 2.0, 10.0])), 1e-30)
    return (sp.csr_array(X) if rng.random() < 0.4 else X), arguments


def planted_rows(
    seed: int = 0, *, n: int = 400, d: int = 30, n_planted: int = 20, size: float = 6.0
) -> np.ndarray:
    """Gaussian rows of which the first ones are copies of one row with two large entries."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:n_planted] = 0.0
    X[:n_planted, :2] = size
    return X


def overloaded_problem(seed: int) -> tuple[Any, dict[str, Any]]:
    """More planted rows than may be removed, and a limit that no weights can meet."""
    rng = np.random.default_rng([seed, 2])
    n, d = int(rng.choice([60, 150, 300])), int(rng.choice([2, 8, 25]))
    fraction = float(rng.choice([0.03, 0.1, 0.2]))
    n_planted = int(2 * fraction * n) + 2
    X: Any = random_rows(rng, n, d, kind=seed % 4)
    size, r = float(rng.choice([6.0, 20.0, 1e4])), float(rng.choice([1.0, 2.0**-10]))
    X[:n_planted] = 0.0
    X[:n_planted, 0] = size * rng.choice([-1.0, 1.0], n_planted)
    # Along the first feature at least the planted rows beyond the budget remain.
    unavoidable = r**2 * size**2 * (n_planted / n - fraction)
    arguments = {
        "l2_radius": r,
        "l1_radius": r * float(rng.choice([1.0, 1.4, 3.0])),
        "outlier_fraction": fraction,
        "max_variance": unavoidable * rng.uniform(0.3, 0.95),
    }
    return (sp.csr_array(X) if rng.random() < 0.4 else X), arguments


def proves_direction(gram: Any, answer: Any, **arguments: float) -> bool:
    """Whether the independent checker accepts the answer, and all its numbers are finite."""
    numbers = (answer.lower, answer.upper, answer.gap)
    matrix = np.asarray(gram, dtype=float)
    matrix = matrix / 2 + matrix.T / 2  # the solver averages rounding asymmetry away, too
    return bool(np.isfinite(numbers).all()) and accepts_worst_direction(matrix, answer, **arguments)


def proves_removal(X: Any, answer: Any, **arguments: Any) -> bool:
    """Whether the independent checker accepts the whole answer, and nothing in it is NaN."""
    rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=float)
    numbers = (answer.variance_lower, answer.variance_upper, answer.optimum_lower)
    clean = np.isfinite(numbers).all() and np.isfinite(answer.weights).all()
    return bool(clean) and accepts_removal(rows, answer, **arguments)
