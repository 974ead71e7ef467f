"""Checks of what callers hand over: each either returns a clean array or names what is wrong.

Every message names the parameter, the first offending place, what was found there and what is
allowed, because a reader with 10,000 rows needs to know which one to look at.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.arrays import (
    DeviceRows,
    as_doubles,
    device_blocks,
    is_foreign,
    largest_magnitude,
    namespace_of,
    stored,
    to_host,
)

FloatArray: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Any  # a dense (n, d) float64 array or a SciPy CSR matrix of the same type; where
# `thresher.arrays` is used, the array may be CuPy's or Torch's


def is_sparse(rows: object) -> bool:
    """Whether the rows are a SciPy sparse matrix or array."""
    return bool(sp.issparse(rows))


def check_number(value: object, name: str) -> float:
    """The value as a finite float, or a typed error that names the parameter."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value}")
    return number


def check_positive(value: object, name: str) -> float:
    """The value as a finite float above zero."""
    number = check_number(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be greater than 0, got {number}")
    return number


def check_radius(value: object, name: str) -> float:
    """The value as a radius whose square neither overflows nor vanishes."""
    radius = check_positive(value, name)
    if not 1e-100 <= radius <= 1e100:
        raise ValueError(f"{name} must lie between 1e-100 and 1e100, got {radius}")
    return radius


def check_radii(l2_radius: object, l1_radius: object, n_features: int) -> tuple[float, float]:
    """Both radii, neither larger than the other one lets it matter.

    An l1 ball lies in the l2 ball of the same radius, and an l2 ball of radius r in the l1 ball of
    radius √d·r: what a radius has beyond that means nothing, and would only blur the proofs.
    """
    r, rho = check_radius(l2_radius, "l2_radius"), check_radius(l1_radius, "l1_radius")
    if not 1e-8 <= rho / r <= 1e8:
        raise ValueError(
            f"l1_radius must lie between 1e-8 and 1e8 times l2_radius, got {rho:g} and {r:g}"
        )
    return min(r, rho), min(rho, n_features**0.5 * r)


def check_fraction(value: object, name: str) -> float:
    """The value as a float in [0, 1)."""
    number = check_number(value, name)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {number}")
    return number


def check_noise_rate(value: object, name: str = "noise_rate") -> float:
    """The value as a share of rows that an adversary may own: at least 0 and below one half.

    Examples
    --------
    >>> check_noise_rate(0.5)
    Traceback (most recent call last):
    ValueError: noise_rate must be at least 0 and below 0.5, got 0.5
    """
    rate = check_number(value, name)
    if not 0 <= rate < 0.5:
        meant = f"; did you mean {rate / 100:.4g} ({rate:g}%)?" if 1 <= rate < 50 else ""
        raise ValueError(f"{name} must be at least 0 and below 0.5, got {rate:g}{meant}")
    return rate


def check_count(value: object, name: str, *, minimum: int = 1) -> int:
    """The value as an integer of at least `minimum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_switch(value: object, name: str) -> bool:
    """The value as a bool; 0 and 1 count as False and True.

    Examples
    --------
    >>> check_switch(True, "scale"), check_switch(0, "scale")
    (True, False)
    >>> check_switch("no", "scale")
    Traceback (most recent call last):
    TypeError: scale must be True or False, got 'no'
    """
    if isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {value!r}")


def refuse_masked(values: object, name: str) -> None:
    """Raise for masked entries, also in a list of arrays: NumPy would use what the mask hides.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_equal([1, -1, 9], 9), "labels")
    Traceback (most recent call last):
    ValueError: labels[2] is masked; fill masked entries, or drop their rows
    """
    for i, item in enumerate(values if isinstance(values, (list, tuple)) else ()):
        if isinstance(item, np.ma.MaskedArray):
            refuse_masked(item, f"{name}[{i}]")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        first = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(values))[0]))
        place = f"{name}[{first}]" if first else name
        raise ValueError(f"{place} is masked; fill masked entries, or drop their rows")


def _as_float_array(values: object, name: str) -> FloatArray:
    refuse_masked(values, name)
    if is_foreign(values):
        return to_host(_foreign_floats(values, name))
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged nested lists
        raise ValueError(f"{name} is not a rectangular array of numbers: {error}") from error
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers, got objects: {error}") from error
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def _foreign_floats(values: Any, name: str) -> Any:
    if hasattr(values, "host"):
        if values.host.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, got dtype {values.host.dtype}")
        return values
    xp = namespace_of(values)
    if not xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
        raise TypeError(f"{name} must hold real numbers, got dtype {values.dtype}")
    return as_doubles(values)


def sum_of_squares(array: FloatArray) -> float:
    """Σ x² over all entries, at the speed of memory; not finite if an entry is not, or is huge."""
    array = stored(array)
    with np.errstate(over="ignore", invalid="ignore"):
        if is_foreign(array):
            xp = namespace_of(array)
            lengths = [xp.linalg.vector_norm(block) for _, block in device_blocks(array)]
            return float(sum(to_host(length) ** 2 for length in lengths))
        if array.flags.c_contiguous or array.flags.f_contiguous:
            flat = array.ravel(order="K")
            return float(np.dot(flat, flat))
        return float(np.square(array).sum())


def without_duplicates(rows: Rows) -> Rows:
    """The CSR rows themselves, or a copy in which entries at the same place are added up."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def stack_rows(blocks: Sequence[Rows]) -> Rows:
    """Blocks of rows one below the other, as CSR if any of them is sparse."""
    if len(blocks) == 1:
        return blocks[0]
    if any(is_sparse(block) for block in blocks):
        return sp.vstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.concatenate(blocks)


def nonfinite_places(array: Rows) -> tuple[NDArray[np.intp], ...]:
    """Where an array or CSR matrix is NaN or infinite: one array of indices per axis.

    Examples
    --------
    >>> nonfinite_places(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    (array([1]), array([0]))
    """
    if is_sparse(array):
        bad = np.flatnonzero(~np.isfinite(array.data))
        return np.searchsorted(array.indptr, bad, side="right") - 1, array.indices[bad]
    # One product instead of an (n, d) mask: the sum of squares is finite only if no entry is NaN or
    # infinite (it may overflow by itself, which the slow path then settles).
    if np.isfinite(sum_of_squares(array)):
        return (np.zeros(0, dtype=np.intp),) * array.ndim
    if is_foreign(array):
        return np.nonzero(~np.isfinite(to_host(array)))
    return np.nonzero(~np.isfinite(array))


def _refuse_nonfinite(array: Rows, name: str) -> None:
    places = nonfinite_places(array)
    if places[0].size:
        first = tuple(int(indices[0]) for indices in places)
        place = ", ".join(map(str, first))
        raise ValueError(
            f"{name} must be finite, but {name}[{place}] is {float(to_host(array)[first])}"
        )


def check_vector(values: object, name: str, *, length: int | None = None) -> FloatArray:
    """The values as a finite one-dimensional float array, of the given length if there is one."""
    vector = _as_float_array(values, name)
    if vector.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {vector.shape}")
    if vector.size == 0:
        raise ValueError(f"{name} is empty")
    if length is not None and vector.size != length:
        raise ValueError(f"{name} must have length {length}, got {vector.size}")
    _refuse_nonfinite(vector, name)
    return vector


def check_vectors(values: object, name: str) -> FloatArray:
    """The values as a finite float array of one vector, or of many in its rows."""
    vectors = _as_float_array(values, name)
    if vectors.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions, got shape {vectors.shape}")
    if vectors.size == 0:
        raise ValueError(f"{name} is empty, with shape {vectors.shape}")
    _refuse_nonfinite(vectors, name)
    return vectors


def check_rows(values: object, name: str = "X") -> Rows:
    """The values as a finite two-dimensional float array, or as CSR if they were sparse.

    Arrays of CuPy and Torch stay what and where they are.
    """
    rows: Any
    if isinstance(values, DeviceRows):
        return values
    if is_foreign(values):
        rows = _foreign_floats(values, name)
        if rows.ndim == 2 and 0 not in rows.shape:
            _refuse_nonfinite(rows, name)
    elif sp.issparse(values):
        sparse: Any = values
        if sparse.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, got dtype {sparse.dtype}")
        rows = without_duplicates(sp.csr_array(sparse, dtype=np.float64))
        _refuse_nonfinite(rows, name)
    else:
        rows = _as_float_array(values, name)
        if rows.ndim == 2:
            _refuse_nonfinite(rows, name)
    if rows.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows, features), got {rows.shape}")
    if 0 in rows.shape:
        raise ValueError(f"{name} is empty, with shape {rows.shape}")
    return rows


def check_labels(values: object, name: str, *, length: int) -> FloatArray:
    """The values as a float vector of -1 and +1."""
    labels = check_vector(values, name, length=length)
    bad = np.flatnonzero(np.abs(labels) != 1)
    if bad.size:
        raise ValueError(f"{name} must be -1 or +1, but {name}[{bad[0]}] is {labels[bad[0]]}")
    return labels


def check_weights(values: object | None, name: str, *, length: int) -> FloatArray:
    """The values as non-negative weights with a positive sum; ones if there are none."""
    if values is None:
        return np.ones(length)
    weights = check_vector(values, name, length=length)
    bad = np.flatnonzero(weights < 0)
    if bad.size:
        raise ValueError(f"{name} must not be negative, but {name}[{bad[0]}] is {weights[bad[0]]}")
    if not weights.any():
        raise ValueError(f"{name} must not be all zero")
    return weights


def check_symmetric(values: object, name: str) -> FloatArray:
    """The values as a finite symmetric matrix; rounding asymmetry is averaged away.

    Arrays of CuPy and Torch stay what and where they are.
    """
    is_elsewhere = is_foreign(values)
    matrix = _foreign_floats(values, name) if is_elsewhere else _as_float_array(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    if 0 in matrix.shape:
        raise ValueError(f"{name} is empty")
    _refuse_nonfinite(matrix, name)
    xp = namespace_of(matrix)
    if bool(xp.all(matrix == matrix.T)):
        return matrix
    with np.errstate(over="ignore"):
        asymmetry = xp.abs(matrix - matrix.T)
    i, j = divmod(int(xp.argmax(asymmetry)), matrix.shape[1])
    if float(asymmetry[i, j]) > 1e-10 * largest_magnitude(matrix):
        raise ValueError(
            f"{name} must be symmetric, but {name}[{i}, {j}] is {float(matrix[i, j])} "
            f"and {name}[{j}, {i}] is {float(matrix[j, i])}"
        )
    symmetric: FloatArray = matrix / 2 + matrix.T / 2
    return symmetric


def require_in_memory(table: object) -> None:
    """Refuse a table on a GPU, or one that is only a plan, such as a LazyFrame of Polars.

    Examples
    --------
    >>> class LazyFrame:
    ...     collect = collect_schema = print
    >>> require_in_memory(LazyFrame())
    Traceback (most recent call last):
    TypeError: X must be in memory, got a LazyFrame; collect the lazy frame first
    """
    kind = type(table)  # asking the table itself for its columns would resolve the plan, and warn
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):
        raise TypeError(f"X must be in memory, got a {kind.__name__}; collect the lazy frame first")
    if is_foreign(table):
        raise TypeError(
            f"X must be in the memory of the host, got a {kind.__module__}.{kind.__name__}; "
            "copy it with thresher.arrays.to_host"
        )


def generator_from(random_state: object, name: str = "random_state") -> np.random.Generator:
    """The generator that a `random_state` stands for; a Generator is used as it is.

    Examples
    --------
    >>> generator_from(0).integers(100), np.random.default_rng(0).integers(100)
    (np.int64(85), np.int64(85))
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_from(random_state, name))


def seed_from(random_state: object, name: str = "random_state") -> int:
    """The integer seed that a `random_state` stands for, one that can be written down.

    An integer is itself. None, a Generator and a RandomState each give a fresh draw; None draws
    from NumPy's global state, as in scikit-learn, so that `np.random.seed` has its usual effect.

    Examples
    --------
    >>> seed_from(7), seed_from(np.random.default_rng(0)) == seed_from(np.random.default_rng(0))
    (7, True)
    >>> seed_from("7")
    Traceback (most recent call last):
    TypeError: random_state must be an integer, a Generator, a RandomState or None, got '7'
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is None or random_state is np.random:
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002 - scikit-learn's convention
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, (bool, np.bool_)) or not isinstance(random_state, Integral):
        raise TypeError(
            f"{name} must be an integer, a Generator, a RandomState or None, got {random_state!r}"
        )
    return check_count(random_state, name, minimum=0)
