"""NPZ files: arrays X (or the parts of a CSR matrix) and y; nothing in them is ever unpickled."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from thresher.errors import ThresherError, UnreadableTable
from thresher.memory import require_memory
from thresher.table_files.csr_parts import PARTS, assemble_csr
from thresher.table_files.features import wanted_features
from thresher.table_files.finite import refuse_bad_numbers
from thresher.table_files.labels import refuse_other_than_two
from thresher.table_files.numbered import pick_columns, refuse_other_label, refuse_width
from thresher.table_files.table import LabeledTable, TableRequest
from thresher.table_files.wording import count, nearest, quoted, shortened
from thresher.validation import Rows, is_sparse

LABEL = "y"


def read_npz(path: Path, request: TableRequest) -> LabeledTable:
    """The table in an NPZ file; features without names are called x0, x1 and so on."""
    refuse_other_label(path, request, LABEL)
    try:
        with zipfile.ZipFile(path) as archive:
            return _table(path, _Arrays(path, archive), request)
    except ThresherError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
        raise _damaged(path, error) from error
    except (NotImplementedError, RuntimeError, SyntaxError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error  # odd compression, a password, a broken header


def _damaged(path: Path, error: Exception) -> UnreadableTable:
    return UnreadableTable(
        path,
        f"is damaged, cut off or no NPZ file ({shortened(' '.join(str(error).split()), 150)})",
        advice="write it again with numpy.savez",
    )


class _Arrays:
    """The arrays of an archive, each checked by its header before memory is taken."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self.archive = path, archive
        self.names = [name.removesuffix(".npy") for name in archive.namelist()]

    def __getitem__(self, name: str) -> NDArray[Any]:
        member = f"{name}.npy"
        with self.archive.open(member) as file:
            if npy.read_magic(file) == (1, 0):
                shape, _, dtype = npy.read_array_header_1_0(file)
            else:
                raise ValueError(f"{member} is not of version 1.0")
        if dtype.hasobject:
            raise UnreadableTable(
                self.path,
                f"has pickled objects in {name!r}, which could run any code",
                advice="save numbers, or text with dtype=str",
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        if min((*shape, 0)) < 0 or n_bytes > self.archive.getinfo(member).file_size:
            raise ValueError(f"{member} is shorter than its header says")
        require_memory(2 * n_bytes, f"the array {name!r} of shape {shape}")
        with self.archive.open(member) as file:
            return np.asarray(npy.read_array(file, allow_pickle=False))

    def vector(self, name: str, length: int, kinds: str, what: str) -> NDArray[Any]:
        """An array of one dimension and this length."""
        array = self[name]
        if array.shape != (length,) or array.dtype.kind not in kinds:
            raise UnreadableTable(
                self.path,
                f"has {name!r} of shape {array.shape} and type {array.dtype}",
                advice=f"it must hold {what} for each of {length:,}",
            )
        return array


def _table(path: Path, arrays: _Arrays, request: TableRequest) -> LabeledTable:
    X = _scaled_rows(path, arrays)
    n_rows, n_features = X.shape
    refuse_width(path, n_features)
    names = [f"x{number}" for number in range(n_features)]
    if "feature_names" in arrays.names:
        names = _names(arrays, n_features)
        if len(set(names)) < n_features:
            raise UnreadableTable(
                path, "has features of the same name in 'feature_names'", advice="rename them"
            )
    y = _labels(path, arrays, n_rows, request) if request.with_labels else None
    ids = _ids(path, arrays, n_rows, request.id_column)
    if request.features is not None:
        wanted = wanted_features(path, request.features, names, one_hot=False)
        position = {name: column for column, name in enumerate(names)}
        columns = [position[feature.name] for feature in wanted]
        X = pick_columns(X, columns) if is_sparse(X) else np.ascontiguousarray(X[:, columns])
        names = list(request.features)
    refuse_bad_numbers(path, X, names, "row {:,}".format)
    request.tell_progress(path.stat().st_size, path.stat().st_size)
    return LabeledTable(X, y, names, ids, LABEL if request.with_labels else None)


def _names(arrays: _Arrays, n_features: int) -> list[str]:
    """The features' names: an array of strings, or one text as UTF-8 bytes with a line for each."""
    found = arrays["feature_names"]
    if found.dtype == np.uint8 and found.ndim == 1:
        names = found.tobytes().decode("utf-8").split("\n")
        if len(names) == n_features:
            return names
    return [str(name) for name in arrays.vector("feature_names", n_features, "U", "a string")]


def _scaled_rows(path: Path, arrays: _Arrays) -> Rows:
    """The rows, times the number `X_scale` if there is one."""
    X = _rows(path, arrays)
    if "X_scale" not in arrays.names:
        return X
    scale = arrays["X_scale"]
    if scale.size != 1 or scale.dtype.kind not in "fiu" or not np.isfinite(scale).all():
        raise UnreadableTable(
            path,
            f"has 'X_scale' of shape {scale.shape} and type {scale.dtype}",
            advice="it must hold one finite number",
        )
    with np.errstate(over="ignore"):  # what becomes infinite is refused later
        X *= float(scale.item())
    return X


def _rows(path: Path, arrays: _Arrays) -> Rows:
    if "X" in arrays.names:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise UnreadableTable(
                path,
                f"has 'X' of shape {X.shape} and type {X.dtype}",
                advice="it must hold numbers, in rows and columns",
            )
        if not len(X):
            raise UnreadableTable(path, "has no rows in 'X'", advice="check how it was written")
        with np.errstate(over="ignore"):  # long doubles; the infinite ones are refused later
            return np.ascontiguousarray(X, dtype=np.float64)
    missing = [part for part in PARTS if part not in arrays.names]
    if missing:
        raise UnreadableTable(
            path,
            f"has neither 'X' nor all of {quoted(PARTS)}, but {quoted(arrays.names, limit=10)}",
            advice="save the table under these names",
        )
    return assemble_csr(path, {part: arrays[part] for part in PARTS})


def _labels(path: Path, arrays: _Arrays, n_rows: int, request: TableRequest) -> NDArray[Any]:
    if LABEL not in arrays.names:
        raise UnreadableTable(
            path, f"has no array {LABEL!r} of labels", advice=nearest(LABEL, arrays.names)
        )
    y = arrays.vector(LABEL, n_rows, "fiubU", "a label")
    if y.dtype.kind == "b":
        y = np.where(y, "true", "false")
    bad = ~np.isfinite(y) if y.dtype.kind == "f" else y == "" if y.dtype.kind == "U" else y != y
    if bad.any():
        raise UnreadableTable(
            path,
            f"has no label in {count(int(bad.sum()), 'row')}, the first of them row "
            f"{int(bad.argmax()) + 1:,}",
            advice="fill them in or drop those rows",
        )
    refuse_other_than_two(path, y, LABEL, for_learning=request.features is None)
    return y


def _ids(path: Path, arrays: _Arrays, n_rows: int, name: str | None) -> NDArray[Any]:
    if name is None:
        return np.arange(1, n_rows + 1)
    if name not in arrays.names or name in ("X", LABEL, "feature_names", "X_scale", *PARTS):
        raise UnreadableTable(
            path, f"has no id array {quoted([name])}", advice=nearest(name, arrays.names)
        )
    return arrays.vector(name, n_rows, "iuU", "an integer or a string")
