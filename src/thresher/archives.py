"""NPZ files that may come from anybody: nothing is unpickled, and no size is trusted."""

import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from thresher.errors import NotEnoughMemory
from thresher.memory import available_memory, require_memory
from thresher.wording import one_line

SUFFIX = ".npy"
CSR_PARTS = ("data", "indices", "indptr", "shape")
# Those that NumPy writes. Others can turn a few bytes into gigabytes in a single step.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BadArchive(ValueError):
    """What is wrong with an archive or one of its arrays; the reader adds the file's name."""


class BadRows(BadArchive):
    """Parts of a sparse matrix that do not fit together."""


class PickledObjects(BadArchive):
    """An array of objects, which only unpickling could read."""


@dataclass(frozen=True)
class ArrayHeader:
    """What an array in an archive says about itself."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """The size of the array."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def n_bytes_needed(self) -> int:
        """The size of the array and of a copy in double precision."""
        return self.n_bytes + max(self.n_bytes, 8 * math.prod(self.shape))


class ArrayArchive:
    """The arrays of an NPZ file, each checked by its header before memory is taken.

    Parameters
    ----------
    path : of the file, which must be an ordinary file

    Attributes
    ----------
    names : of the arrays

    Raises
    ------
    BadArchive : the file or an array in it is damaged, or is not what NumPy writes
    NotEnoughMemory : an array would not fit

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/t.npz", X=np.eye(2))
    ...     with ArrayArchive(f"{folder}/t.npz") as arrays:
    ...         arrays.names, arrays.header("X").shape, arrays["X"].sum()
    (['X'], (2, 2), np.float64(2.0))
    """

    def __init__(self, path: str | Path) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115
        try:
            with _damage("not a ZIP archive"):
                self._archive = zipfile.ZipFile(self._file)
            members = self._archive.namelist()
            if len(set(members)) < len(members):
                raise BadArchive("it has two arrays of the same name")
        except BaseException:
            self._file.close()
            raise
        self.names = [member.removesuffix(SUFFIX) for member in members]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def header(self, name: str) -> ArrayHeader:
        """The shape and the type of an array, which lie within what the archive says it holds."""
        if name not in self.names:
            raise BadArchive(f"it has no array {name!r}")
        with _damage(f"array {name!r}"):
            info = self._archive.getinfo(name + SUFFIX)
            if info.compress_type not in COMPRESSIONS:
                raise BadArchive(f"array {name!r}: not compressed as numpy.savez does")
            with self._archive.open(info) as file:
                if npy.read_magic(file) != (1, 0):
                    raise BadArchive(f"array {name!r}: not of version 1.0 of the format")
                shape, _, dtype = npy.read_array_header_1_0(file)
        header = ArrayHeader(shape, dtype)
        if dtype.hasobject:
            raise PickledObjects(f"pickled objects in {name!r}, which could run arbitrary code")
        empty = not dtype.itemsize and shape
        if min((*shape, 0)) < 0 or header.n_bytes > info.file_size or empty:
            raise BadArchive(f"array {name!r}: shorter than its header says")
        return header

    def __getitem__(self, name: str) -> NDArray[Any]:
        header = self.header(name)
        purpose = f"the array {name!r} of shape {header.shape}"
        require_memory(header.n_bytes_needed, purpose)
        try:
            with _damage(f"array {name!r}"), self._archive.open(name + SUFFIX) as file:
                array = np.asarray(npy.read_array(file, allow_pickle=False))
        except MemoryError as error:
            raise NotEnoughMemory(purpose, header.n_bytes_needed, available_memory()) from error
        if header.dtype.kind == "U" and not _is_unicode(array):
            raise BadArchive(f"array {name!r}: text that is not Unicode")
        return array

    def csr(self, prefix: str) -> Any:
        """The CSR array whose parts have names with this prefix.

        None of them is trusted: a wrong index would read foreign memory.

        Raises
        ------
        BadRows : they do not fit together
        """
        data, indices, indptr, shape = (self[prefix + part] for part in CSR_PARTS)
        try:
            if data.dtype.kind not in "fiub" or shape.shape != (2,):
                raise ValueError(f"{prefix}data must hold numbers, and {prefix}shape two of them")
            if any(part.dtype.kind not in "iu" for part in (indices, indptr, shape)):
                names = f"{prefix}indices, {prefix}indptr and {prefix}shape"
                raise ValueError(f"{names} must hold integers")
            # SciPy compares neighbors only, and only if the last one is positive: differences of
            # extreme integers could wrap around.
            if not indptr.size or indptr.min() < 0 or not indptr.max() == indptr[-1] == len(data):
                raise ValueError(
                    f"{prefix}indptr must rise from 0 to the {len(data):,} entries of {prefix}data"
                )
            with np.errstate(over="ignore"):  # long doubles; the infinite ones are refused later
                values = data.astype(np.float64, copy=False)
            rows = sp.csr_array((values, indices, indptr), shape=(int(shape[0]), int(shape[1])))
            rows.check_format(full_check=True)
            if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:  # all that most learners take
                rows.indices, rows.indptr = (
                    part.astype(np.int32, copy=False) for part in (rows.indices, rows.indptr)
                )
        except (ValueError, OverflowError, TypeError) as error:
            raise BadRows(one_line(error, 150)) from error
        return rows


def _is_unicode(texts: NDArray[np.str_]) -> bool:
    """Whether all characters exist, which NumPy does not check, and none is half of a pair."""
    flat = np.ascontiguousarray(texts.ravel())
    code_points = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
    is_half = (code_points >= 0xD800) & (code_points < 0xE000)
    return not (is_half | (code_points > sys.maxunicode)).any()


@contextmanager
def _damage(what: str) -> Iterator[None]:
    try:
        yield
    except (BadArchive, MemoryError):
        raise
    except Exception as error:  # bytes that are not ours can fail in any way
        reason = one_line(error, 150) or type(error).__name__
        raise BadArchive(f"{what}: {reason}") from error
