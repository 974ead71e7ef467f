"""Truths in exact rationals, to judge forged claims by, and hostile numbers to forge them with.

Nothing that judges rounds, or trusts a solver: numbers of every dtype count at their exact value.
The bounds are exact, if not always tight: a claim beyond them is false.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

Matrix = list[list[Fraction]]
Vector = list[Fraction]
WHOLE = [np.dtype(f"{kind}int{bits}") for kind in ("", "u") for bits in (8, 16, 32, 64)]
REAL = [np.dtype(name) for name in ("?", "f2", "f4", "f8", "f8", "f8", "f8", "longdouble")]
EXPONENTS = {
    "f2": [0, 1],
    "f4": [0, -20, 18],
    "f8": [0, 3, -5, -100, 100, -155, 150, -170, -300, 300],
}


def rational(value: Any) -> Fraction:
    """The exact value of a real scalar of any dtype."""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio())


def rationals(values: Any) -> Any:
    """The exact values of an array, as nested lists."""
    array = np.asarray(values)
    return rational(array[()]) if array.ndim == 0 else [rationals(one) for one in array]


def is_semidefinite(matrix: Matrix) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by elimination."""
    rows = [list(row) for row in matrix]
    for i in range(len(rows)):
        pivot = rows[i][i]
        if pivot < 0 or (pivot == 0 and any(rows[i][i:])):
            return False
        for j in range(i + 1, len(rows)):
            share = rows[j][i] / pivot if pivot else Fraction(0)
            rows[j] = [a - share * b for a, b in zip(rows[j], rows[i])]
    return True


def symmetrized(matrix: Matrix) -> Matrix:
    return [[(a + b) / 2 for a, b in zip(*pair)] for pair in zip(matrix, zip(*matrix))]


def eigenvalue_above(matrix: Matrix) -> Fraction:
    """Not below the largest eigenvalue of a symmetric matrix, nor below zero; close to it."""
    if len(matrix) == 1:
        return max(matrix[0][0], Fraction(0))
    largest = max(abs(entry) for row in matrix for entry in row)
    if largest == 0:
        return largest
    floats = np.array([[float(entry / largest) for entry in row] for row in matrix])
    guess = max(rational(np.linalg.eigvalsh(floats)[-1]), Fraction(0))
    excess = Fraction(0)
    while True:
        bound = (guess + excess) * largest
        gap = [[bound * (i == j) - a for j, a in enumerate(row)] for i, row in enumerate(matrix)]
        if is_semidefinite(gap):
            return bound
        excess = max(10 * excess, Fraction(1, 10**15))


def variance_in(matrix: Matrix, v: Vector, r: Fraction, rho: Fraction) -> Fraction:
    """⟨matrix, H⟩ for H = vvᵀ, scaled to the boundary of M."""
    size = max(sum(x * x for x in v) / r**2, sum(map(abs, v)) ** 2 / rho**2)
    if size == 0:
        return Fraction(0)
    return sum(a * x * y for row, x in zip(matrix, v) for a, y in zip(row, v)) / size


def directions(matrix: Matrix) -> list[Vector]:
    """Signs of one or more entries, and the eigenvectors as floats find them."""
    d = len(matrix)
    found: list[Vector] = [
        [Fraction(x) for x in v] for v in product((-1, 0, 1), repeat=d) if any(v)
    ]
    largest = max(abs(entry) for row in matrix for entry in row)
    if largest > 0:
        floats = np.array([[float(entry / largest) for entry in row] for row in matrix])
        found += rationals(np.linalg.eigh(floats)[1].T)
    return found


def variance_reached(matrix: Matrix, r: Fraction, rho: Fraction) -> Fraction:
    """What some member of M attains of max⟨matrix, H⟩."""
    matrix = symmetrized(matrix)
    return max(Fraction(0), *(variance_in(matrix, v, r, rho) for v in directions(matrix)))


def variance_above(matrix: Matrix, r: Fraction, rho: Fraction) -> Fraction:
    """What max⟨matrix, H⟩ over M does not exceed: r²λmax(A−U) + ρ²·max|U| for several U."""
    matrix, d = symmetrized(matrix), len(matrix)
    r_squared = min(r, rho) ** 2
    rho_squared = min(rho**2, d * r_squared)
    levels = {abs(entry) for row in matrix for entry in row} | {Fraction(0)}
    return min(bound_by_clipping(matrix, t, r_squared, rho_squared) for t in levels)


def bound_by_clipping(
    matrix: Matrix, level: Fraction, r_squared: Fraction, rho_squared: Fraction
) -> Fraction:
    rest = [[a - max(min(a, level), -level) for a in row] for row in matrix]
    return r_squared * eigenvalue_above(rest) + rho_squared * level


def second_moment(rows: Matrix, weights: Vector, n_rows: int) -> Matrix:
    d = range(len(rows[0]))
    return [[sum(q * x[i] * x[j] for x, q in zip(rows, weights)) / n_rows for j in d] for i in d]


def cheapest_weights(scores: Vector, fraction: Fraction) -> Vector:
    """Weights of sum (1−ξ)n on the smallest scores, the last one in part."""
    left, weights = (1 - fraction) * len(scores), [Fraction(0)] * len(scores)
    for i in sorted(range(len(scores)), key=lambda i: scores[i]):
        weights[i] = min(Fraction(1), left)
        left -= weights[i]
    return weights


def optimum_above(rows: Matrix, fraction: Fraction, r: Fraction, rho: Fraction) -> Fraction:
    """What some admissible weights leave of variance at most: exact for one feature."""
    n = len(rows)
    keys: Iterable[Vector] = [[x[i] ** 2 for x in rows] for i in range(len(rows[0]))]
    keys = [*keys, [sum(entry**2 for entry in x) for x in rows]]
    moments = (second_moment(rows, cheapest_weights(key, fraction), n) for key in keys)
    return min(variance_above(moment, r, rho) for moment in moments)


def hinge_loss(
    point: Vector, rows: Matrix, labels: Vector, weights: Vector, scale: Fraction
) -> Fraction:
    """The weighted mean hinge loss of a point."""
    margins = (y * sum(a * b for a, b in zip(x, point)) / scale for x, y in zip(rows, labels))
    losses = (p * max(1 - margin, Fraction(0)) for p, margin in zip(weights, margins))
    return sum(losses, Fraction(0)) / sum(weights)


def points_of_region(
    center: Vector, r: Fraction, rho: Fraction, rows: Matrix, labels: Vector, scale: Fraction
) -> list[Vector]:
    """Points of the region: its center, along the axes, and in one dimension every kink."""
    reach = min(r, rho)
    axes = [
        [reach * s * (i == j) for j in range(len(center))]
        for i in range(len(center))
        for s in (-1, 1)
    ]
    points = [center, *([u + x for u, x in zip(center, axis)] for axis in axes)]
    if len(center) == 1:
        kinks = [scale / (y * x[0]) for x, y in zip(rows, labels) if y * x[0]]
        points += [[kink] for kink in kinks if abs(kink - center[0]) <= reach]
    return points


def least_hinge_above(
    rows: Matrix,
    labels: Vector,
    weights: Vector,
    scale: Fraction,
    region: tuple[Vector, Fraction, Fraction],
) -> Fraction:
    """What some point of the region attains; the least hinge loss itself for one feature."""
    points = points_of_region(*region, rows, labels, scale)
    return min(hinge_loss(point, rows, labels, weights, scale) for point in points)


def shifted(matrix: Matrix, diagonal: Fraction, rest: Fraction) -> Matrix:
    """The matrix plus one number on its diagonal and another one elsewhere."""
    return [
        [a + (diagonal if i == j else rest) for j, a in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def is_beyond(claim: Any, truth: Fraction, sign: int) -> bool:
    """Whether a claim lies on this side of the truth."""
    return bool(np.isfinite(claim)) and sign * (rational(claim) - truth) > 0


class Forger:
    """Hostile numbers of every dtype and size; or, from every other seed, ordinary ones.

    Ordinary ones have false claims as close to the truth as floats can be, and good witnesses.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 32])
        self.is_hostile = seed % 2 == 0

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def numbers(self, *shape: int) -> np.ndarray:
        """Numbers of any dtype: small, huge, tiny, mixed, at the ends of the range, or rounded."""
        dtype = self.one_of(*WHOLE, *REAL)
        if not self.is_hostile:
            return self.rng.standard_normal(shape)
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.7
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            powers = [2**k for k in (0, 4, 7, 16, 31, 32, 53, 62) if 2**k <= info.max]
            pool = [0, 1, 2, 3, info.min, info.max, max(info.min, -1), *powers]
            few = [self.one_of(*pool) for _ in range(3)]
            return np.array(few, dtype=dtype)[self.rng.integers(3, size=shape)]
        exponents = EXPONENTS.get(dtype.str[1:], EXPONENTS["f8"])
        size = 10.0 ** self.rng.choice(exponents, size=self.one_of(shape, None, None))
        values = (self.rng.standard_normal(shape) * size).astype(dtype)
        if dtype.itemsize > 8:
            values *= 1 + np.longdouble(2) ** -60 * self.one_of(0, 1)
        return values

    def symmetric(self, d: int) -> np.ndarray:
        """A matrix of hostile numbers, and one in eight is not symmetric after all."""
        matrix = self.numbers(d, d)
        lower = np.tril_indices(d, -1)
        if self.rng.random() < 7 / 8:
            matrix[lower] = matrix.T[lower]
        return matrix

    def rows(self, n: int, d: int) -> tuple[Any, Matrix]:
        """Rows, dense or sparse, some with duplicate entries, and their exact values."""
        rows = self.numbers(n, d)
        values = rationals(rows)
        if not 4 <= rows.dtype.itemsize <= 8 or self.rng.random() < 0.7:
            return rows, values
        data, places = rows.ravel(), np.arange(n * d)
        if rows.dtype.kind == "f" and self.rng.random() < 0.5:
            huge = np.full(n * d, 2.0**53 if rows.dtype.itemsize == 8 else 2.0**24, rows.dtype)
            data, places = np.concatenate([huge, data, -huge]), np.tile(places, 3)
        order = np.argsort(places, kind="stable")
        i, j = places[order] // d, places[order] % d
        starts = np.searchsorted(i, np.arange(n + 1))
        as_rows = sp.csr_array((data[order], j, starts), shape=(n, d))
        return self.one_of(as_rows, sp.coo_array((data[order], (i, j)), shape=(n, d))), values

    def radii(self) -> tuple[dict[str, float], Fraction, Fraction]:
        sizes = [1.0, 3.0, 2.0**-12, 1e-100, 1e100, 2.4e-162, 1e170]
        r = self.one_of(*sizes) if self.is_hostile else 0.1 + self.rng.random()
        rho = r * self.one_of(0.5, 1.0, 1.5, 10.0)
        return {"l2_radius": r, "l1_radius": rho}, Fraction(r), Fraction(rho)

    def beyond(self, truth: Fraction, sign: int) -> Any:
        """A number of some dtype on this side of the truth, if floats can tell them apart."""
        share = Fraction(10.0 ** self.rng.uniform(-17, 0.5 if self.is_hostile else -14))
        tiny = Fraction(10.0 ** self.rng.uniform(-320, 0))
        away = truth + sign * (abs(truth) * share if truth else tiny)
        claim = float(away) if abs(away) < 1e308 else sign * 1.7e308
        kinds = [np.float32, np.float16, np.longdouble, *[float] * 15]
        return self.one_of(*kinds)(claim) if self.is_hostile else claim
