"""The largest eigenvalue of a symmetric matrix, approximately and fast."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from thresher.arrays import Array, is_foreign, like, namespace_of, to_host, zeros
from thresher.validation import FloatArray

Floats = NDArray[np.floating[Any]]

DENSE_SIZE = 128  # below this a full eigendecomposition is faster than Lanczos
FULL_SIZE = 300  # below this all eigenpairs take no longer than some


def largest_eigenvalue(matrix: FloatArray) -> float:
    """The largest eigenvalue, to working precision (which is no proof)."""
    d = matrix.shape[0]
    if is_foreign(matrix):
        return float(namespace_of(matrix).linalg.eigvalsh(matrix)[-1])
    if d > FULL_SIZE:
        with suppress(np.linalg.LinAlgError):  # LAPACK's choice for subsets fails now and then
            return float(eigh(matrix, eigvals_only=True, subset_by_index=(d - 1, d - 1))[0])
    return float(np.linalg.eigvalsh(matrix)[-1])


def top_eigenpairs(matrix: FloatArray, n_pairs: int) -> tuple[FloatArray, FloatArray]:
    """At least that many of the largest eigenvalues, ascending, and their vectors in columns.

    For large matrices no others are computed, which keeps a call short enough that an interrupt
    is answered: LAPACK lets no signal through.
    """
    if is_foreign(matrix):
        return tuple(namespace_of(matrix).linalg.eigh(matrix))
    d = matrix.shape[0]
    if d > FULL_SIZE and n_pairs < d:
        with suppress(np.linalg.LinAlgError):
            return eigh(matrix, subset_by_index=(d - n_pairs, d - 1), check_finite=False)
    return np.linalg.eigh(matrix)


def eigenpairs_above(matrix: Floats, floor: float) -> tuple[Floats, Floats]:
    """The eigenvalues above a floor, ascending, and their vectors in columns."""
    if matrix.shape[0] > FULL_SIZE:
        with suppress(np.linalg.LinAlgError):
            values, vectors = eigh(matrix, subset_by_value=(floor, np.inf), check_finite=False)
            return values, vectors
    values, vectors = np.linalg.eigh(matrix)
    return values[values > floor], vectors[:, values > floor]


def top_eigenpair(matrix: Array, *, n_steps: int = 16) -> tuple[float, Floats]:
    """A Ritz value and vector for the largest eigenvalue, from a few Lanczos steps.

    The value lies below the eigenvalue (by about half a percent after 16 steps on a dense
    spectrum): it guides a search and proves nothing. Full reorthogonalization and a fixed start:
    same answer twice.
    """
    d = matrix.shape[0]
    if d <= DENSE_SIZE:
        values, vectors = np.linalg.eigh(to_host(matrix))
        return float(values[-1]), vectors[:, -1]
    if is_foreign(matrix):
        return _top_eigenpair_elsewhere(matrix, n_steps)
    basis = np.zeros((n_steps, d), dtype=matrix.dtype)
    diagonal, off_diagonal = np.zeros(n_steps), np.zeros(n_steps)
    start = np.random.default_rng(0).standard_normal(d)
    vector: Any = (start / np.linalg.norm(start)).astype(matrix.dtype)
    size = n_steps
    for k in range(n_steps):
        basis[k] = vector
        image: Any = matrix @ vector
        diagonal[k] = float(vector @ image)
        for _ in range(2):
            image -= (basis[: k + 1] @ image) @ basis[: k + 1]
        norm = float(np.linalg.norm(image))
        if norm <= 1e-6 * max(abs(diagonal[k]), float(np.abs(diagonal).max())):
            size = k + 1
            break
        off_diagonal[k] = norm
        vector = (image / norm).astype(matrix.dtype)
    value, mixture = _top_of_tridiagonal(diagonal[:size], off_diagonal[: size - 1])
    return value, mixture.astype(matrix.dtype) @ basis[:size]


def _top_eigenpair_elsewhere(matrix: Array, n_steps: int) -> tuple[float, Floats]:
    """The same on a device, in double precision: nothing is waited for before the last step.

    The image is made orthogonal to the last two vectors alone. What rounding brings back of the
    others can repeat an eigenvalue that was found, and hardly moves the largest one.
    """
    xp, d = namespace_of(matrix), matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(d)
    vector, basis = like(start / np.linalg.norm(start), matrix), zeros((n_steps, d), matrix)
    products, squares = [], []
    with np.errstate(all="ignore"):
        for k in range(n_steps):
            basis[k, :] = vector
            image = matrix @ vector
            last_two = basis[max(k - 1, 0) : k + 1, :]
            products.append(last_two @ image)
            image -= products[-1] @ last_two
            squares.append(image[None, :] @ image)  # faster than an inner product
            vector = image / xp.sqrt(squares[-1])
    diagonal = to_host(xp.concat(products)[::2])  # two a step, and one of the first
    off_diagonal = np.sqrt(to_host(xp.concat(squares)))
    # Where the vectors span what the matrix makes of them, later steps mean nothing.
    ended = np.flatnonzero(~(off_diagonal > 1e-6 * np.maximum.accumulate(np.abs(diagonal))))
    size = int(ended[0]) + 1 if ended.size else n_steps
    value, mixture = _top_of_tridiagonal(diagonal[:size], off_diagonal[: size - 1])
    return value, to_host(like(mixture, matrix) @ basis[:size, :])


def _top_of_tridiagonal(diagonal: Floats, off_diagonal: Floats) -> tuple[float, Floats]:
    tridiagonal = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    return float(values[-1]), vectors[:, -1]
