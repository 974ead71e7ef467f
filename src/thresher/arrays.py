"""Where arrays live: NumPy's on the host, CuPy's and Torch's perhaps on a GPU.

What is heavy, n×d and d×d, stays where the caller put it. What is small beside it (weights of rows,
a few directions, bounds) is a NumPy array on the host in between, so that the logic of a search is
written once. For NumPy arrays every function here does what NumPy does, to the bit.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any  # of NumPy, CuPy, Torch, or array_api_strict
LIBRARIES = {"torch", "cupy", "array_api_strict"}
BLOCK_SIZE = 2**28  # entries that are squared or gathered at once: 2 GB
SORTED_SIZE = 2**25  # entries that are sorted at once: 2 GB with what sorting needs
ALIGNED = 256  # panels start where products of them are fast
FEW_COLUMNS = 1000  # whose products are taken at once
N_PANELS = 8  # of columns: products of two of them are not taken twice, which saves nearly half


def is_foreign(array: object) -> bool:
    """Whether the array is another library's, to be computed with where it is.

    Examples
    --------
    >>> is_foreign(np.zeros(3)), is_foreign([0.0])
    (False, False)
    """
    kind = type(array)
    if kind is np.ndarray:  # asked in every step of a search
        return False
    return kind.__module__.partition(".")[0] in LIBRARIES or hasattr(kind, "is_foreign")


def namespace_of(array: Array) -> Any:
    """The functions of the array standard for this array; NumPy itself for what is not foreign."""
    if not is_foreign(array):
        return np
    array = getattr(array, "example", array)  # of streamed rows
    if type(array) not in _namespaces:
        _namespaces[type(array)] = _foreign_namespace(array)
    return _namespaces[type(array)]


_namespaces: dict[type, Any] = {}  # asked for in every step of a search


def _foreign_namespace(array: Array) -> Any:
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            "arrays of CuPy and Torch need array-api-compat: pip install 'thresher[gpu]'"
        ) from error
    return array_namespace(array)


def to_host(array: Array) -> NDArray[Any]:
    """The array as one of NumPy; itself if it is one."""
    if not is_foreign(array):
        return array
    if hasattr(array, "blocks"):
        return array.host
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    if hasattr(array, "get"):
        return array.get()
    return np.array(np.from_dlpack(array.to_device(_standard_cpu(array))))


def stored(rows: Array) -> Array:
    """The rows where they are kept: those that are streamed to a device, on the host."""
    return rows.array if isinstance(rows, DeviceRows) else getattr(rows, "host", rows)


def column_medians(rows: Array, centers: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The median of each column of a foreign array, or of the distances from its center."""
    n, d = rows.shape
    step, medians = max(1, SORTED_SIZE // n), []
    for start in range(0, d, step):
        end = min(start + step, d)
        columns = rows[:, start:end].T
        if centers is not None:
            columns = abs(columns - like(centers[start:end, None], rows))
        ordered = namespace_of(rows).sort(columns, axis=1)
        medians.append(to_host((ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2))
    return np.concatenate(medians)


def on_host(answer: Any) -> Any:
    """An answer of a solver with all its arrays on the host, where `certificates` checks it."""
    fields = {name: to_host(value) for name, value in vars(answer).items()}
    return type(answer)(**fields)


def _standard_cpu(array: Array) -> Any:
    return namespace_of(array).__array_namespace_info__().default_device()


def like(values: NDArray[Any], array: Array) -> Array:
    """NumPy values as an array of the same library and on the same device as another one."""
    if not is_foreign(array):
        return values
    array = getattr(array, "example", array)
    own = np.require(values, requirements=("C", "W"))  # Torch warns of what cannot be written to
    return namespace_of(array).asarray(own, device=array.device)


def as_doubles(array: Array) -> Array:
    """The array in double precision; a foreign one without a history of gradients."""
    if not is_foreign(array):
        return array.astype(np.float64, copy=False)
    xp = namespace_of(array)
    detached = array.detach() if hasattr(array, "detach") else array
    return xp.astype(detached, xp.float64, copy=False)


def rough(array: Array) -> Array:
    """The array or sparse matrix in single precision, for a search that proves nothing.

    Half the bytes are twice the speed on a CPU. On a GPU that is made for it double precision costs
    little, so foreign arrays stay as they are: there, searches on any device find the same.
    """
    return array if is_foreign(array) else array.astype(np.float32)


def cast(array: Array, dtype: Any) -> Array:
    """The array with entries of another type of its own library."""
    if is_foreign(array):
        return namespace_of(array).astype(array, dtype, copy=False)
    return array.astype(dtype)


def clip_entries(array: Array, level: float) -> Array:
    """A dense array with its entries clipped to ±level."""
    if not is_foreign(array):
        return np.clip(array, -level, level)
    if hasattr(array, "clip"):  # faster than what the standard asks for
        return array.clip(-float(level), float(level))
    return namespace_of(array).clip(array, -float(level), float(level))


def largest_magnitude(array: Array) -> float:
    """The largest magnitude of any entry."""
    if is_foreign(array):
        xp = namespace_of(array)
        return max(float(xp.max(array)), -float(xp.min(array)))
    return float(abs(array).max())


def diagonal(matrix: Array) -> NDArray[Any]:
    """The diagonal, on the host."""
    if is_foreign(matrix):
        return to_host(namespace_of(matrix).linalg.diagonal(matrix))
    return matrix.diagonal()


def zeros(shape: tuple[int, ...], array: Array, dtype: Any = None) -> Array:
    """Zeros where another array is, in double precision if no other is asked for."""
    if is_foreign(array):
        xp = namespace_of(array)
        return xp.zeros(shape, dtype=dtype or xp.float64, device=array.device)
    return np.zeros(shape, dtype=dtype)


def row_dots(one: Array, other: Array) -> Array:
    """The inner product of each row of one matrix with the same row of another."""
    if is_foreign(one):
        xp = namespace_of(one)
        if one is other:
            return xp.square(xp.linalg.vector_norm(one, axis=1))
        return xp.sum(one * other, axis=1)
    return np.einsum("ij,ij->i", one, other)


def inner_product(one: Array, other: Array) -> float:
    """The sum of the products of all entries."""
    if is_foreign(one):
        return float(namespace_of(one).sum(one * other))
    return float(np.vdot(one, other))


def positive_part(array: Array) -> Array:
    """Every entry, or zero where it is negative."""
    if not is_foreign(array):
        return np.maximum(array, 0)
    # The standard's maximum may copy a zero to the device.
    return array.clip(0.0, None) if hasattr(array, "clip") else (array + abs(array)) / 2


def norm(vector: Array) -> float:
    """The Euclidean length of a vector."""
    if is_foreign(vector):
        return float(namespace_of(vector).linalg.vector_norm(vector))
    return float(np.linalg.norm(vector))


def nonzero_columns(matrix: Array) -> NDArray[np.bool_]:
    """Whether each column of a symmetric dense matrix has an entry that is not zero."""
    if is_foreign(matrix):
        return to_host(namespace_of(matrix).any(matrix != 0, axis=1))  # a row is in one place
    return matrix.any(axis=0)


def take(array: Array, places: NDArray[np.intp], axis: int = 0) -> Array:
    """Rows, or columns, in these places."""
    if not is_foreign(array):
        return array[places] if axis == 0 else array[:, places]
    if np.array_equal(places, np.arange(array.shape[axis])):
        return array
    if hasattr(array, "blocks"):
        return array.take(places)
    return namespace_of(array).take(array, like(places, array), axis=axis)


def block_of(matrix: Array, places: NDArray[np.intp]) -> Array:
    """The rows and columns of a dense matrix in these places."""
    if is_foreign(matrix):
        return take(take(matrix, places), places, axis=1)
    return matrix[np.ix_(places, places)]


def put_rows(
    array: Array, places: NDArray[np.intp], rows: Array, chosen: NDArray[np.intp]
) -> Array:
    """The array with the chosen ones of other rows in these places; NumPy's is changed itself."""
    if not is_foreign(array):
        array[places] = rows[chosen]
        return array
    if places.size == 0:
        return array
    sources = np.arange(array.shape[0])
    sources[places] = array.shape[0] + chosen
    return take(namespace_of(array).concat([array, rows]), sources)


def device_blocks(
    rows: Array, places: NDArray[np.intp] | None = None, block_size: int = BLOCK_SIZE
) -> Iterator[tuple[slice, Array]]:
    """Consecutive foreign rows of about so many entries, or those in these places, and which."""
    if hasattr(rows, "blocks"):
        yield from rows.blocks(places)
        return
    n, step = rows.shape[0] if places is None else places.size, max(1, block_size // rows.shape[1])
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, rows[part, :] if places is None else take(rows, places[part])


def column_products(rows: Array) -> Array:
    """The inner products of the columns of a dense matrix, exactly symmetric."""
    if not is_foreign(rows):
        return rows.T @ rows  # for which NumPy calls BLAS's symmetric product
    xp, d = namespace_of(rows), rows.shape[1]
    gram = xp.empty((d, d), dtype=rows.dtype, device=rows.device)
    step = -(-d // (N_PANELS * ALIGNED)) * ALIGNED if d > FEW_COLUMNS else d
    for start in range(0, d, step):
        end = min(start + step, d)
        panel = rows[:, start:end].T @ rows[:, start:]
        own = panel[:, : end - start]
        panel[:, : end - start] = (own + own.T) / 2
        gram[start:end, start:] = panel
        gram[start:, start:end] = panel.T
    return gram


class DeviceRows:
    """Foreign rows, whose products with NumPy arrays are NumPy arrays.

    For what needs little of the rows but products: they are taken where the rows are, in double
    precision, and everything else happens on the host.
    """

    block_bytes = 2**33  # what a checker takes at once

    def __init__(self, array: Array, *, transposed: bool = False, magnitudes: bool = False) -> None:
        self.array, self._transposed, self._magnitudes = array, transposed, magnitudes

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.array.shape
        return (d, n) if self._transposed else (n, d)

    @property
    def nbytes(self) -> int:
        return 8 * self.array.shape[0] * self.array.shape[1]

    @property
    def T(self) -> "DeviceRows":
        return DeviceRows(self.array, transposed=not self._transposed, magnitudes=self._magnitudes)

    def __abs__(self) -> "DeviceRows":
        return DeviceRows(self.array, transposed=self._transposed, magnitudes=True)

    def __matmul__(self, other: NDArray[np.float64]) -> NDArray[np.float64]:
        array = abs(self.array) if self._magnitudes else self.array
        return to_host((array.T if self._transposed else array) @ like(other, array))

    def __getitem__(self, places: Any) -> "DeviceRows":
        if isinstance(places, slice):
            within = slice(*places.indices(self.array.shape[0]))
            return DeviceRows(self.array[within, :], magnitudes=self._magnitudes)
        rows, columns = places if isinstance(places, tuple) else (places, slice(None))
        array = self.array
        for axis, chosen in enumerate((rows, columns)):
            if isinstance(chosen, slice):
                continue
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else np.ravel(chosen)
            array = take(array, chosen, axis=axis)
        return DeviceRows(array, magnitudes=self._magnitudes)

    def __len__(self) -> int:
        return self.shape[0]

    def squared_norms(self) -> NDArray[np.float64]:
        """The sum of squares of each row."""
        blocks = device_blocks(self.array)
        return np.concatenate([to_host(row_dots(block, block)) for _, block in blocks])
