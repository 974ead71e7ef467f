"""NPZ files: arrays X (or the parts of a CSR matrix) and y; nothing in them is ever unpickled."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.archives import CSR_PARTS, ArrayArchive, BadArchive, BadRows, PickledObjects
from thresher.table_files.columns import refuse_other_label, wanted_features
from thresher.table_files.table import (
    LabeledTable,
    Refusal,
    TableRequest,
    pick_columns,
    refuse_bad_numbers,
    refuse_missing,
    refuse_other_than_two,
    refuse_width,
    tidy_csr,
)
from thresher.validation import Rows, is_sparse
from thresher.wording import nearest, quoted

LABEL = "y"
PARTS = tuple(f"X_{part}" for part in CSR_PARTS)


def read_npz(path: Path, request: TableRequest) -> LabeledTable:
    """The table in an NPZ file; features without names are called x0, x1 and so on."""
    refuse_other_label(request, LABEL)
    try:
        with _Arrays(path) as arrays:
            return _table(arrays, request)
    except PickledObjects as error:
        raise Refusal(f"has {error}", advice="save numbers, or text with dtype=str") from error
    except BadArchive as error:
        raise Refusal(
            f"is damaged, truncated or not an NPZ file ({error})",
            advice="write it again with numpy.savez",
        ) from error


class _Arrays(ArrayArchive):
    """The arrays of a table."""

    def take(self, name: str, kinds: str, what: str, *, length: int | None = None) -> NDArray[Any]:
        """The array of this name, of one dimension and this length, or of two dimensions."""
        array = self[name]
        is_right = array.ndim == 2 if length is None else array.shape == (length,)
        if not is_right or array.dtype.kind not in kinds:
            raise Refusal(
                f"has {name!r} with shape {array.shape} and type {array.dtype}",
                advice=f"it must hold {what if length is None else f'{length:,} {what}'}",
            )
        return array


def _table(arrays: _Arrays, request: TableRequest) -> LabeledTable:
    X = _scaled_rows(arrays)
    n_rows, n_features = X.shape
    refuse_width(n_features)
    names = [f"x{number}" for number in range(n_features)]
    if "feature_names" in arrays.names:
        names = _names(arrays, n_features)
        if len(set(names)) < n_features:
            raise Refusal("has duplicate names in 'feature_names'", advice="rename them")
    y = _labels(arrays, n_rows, request) if request.requires_labels else None
    ids = _ids(arrays, n_rows, request.id_column)
    if request.features is not None:
        wanted = wanted_features(request.features, names, one_hot=False)
        position = {name: column for column, name in enumerate(names)}
        columns = [position[feature.name] for feature in wanted]
        X = pick_columns(X, columns) if is_sparse(X) else np.ascontiguousarray(X[:, columns])
        names = list(request.features)
    refuse_bad_numbers(X, names, "row {:,}".format, keeps_missing=request.keeps_missing)
    return LabeledTable(X, y, names, ids, LABEL if request.requires_labels else None)


def _names(arrays: _Arrays, n_features: int) -> list[str]:
    """The features' names: an array of strings, or one text as UTF-8 bytes with a line for each."""
    found = arrays["feature_names"]
    if found.dtype == np.uint8 and found.ndim == 1:
        try:
            names = found.tobytes().decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise Refusal(
                "has 'feature_names' that are not UTF-8", advice="save strings"
            ) from error
        if len(names) == n_features:
            return names
    return [str(name) for name in arrays.take("feature_names", "U", "strings", length=n_features)]


def _scaled_rows(arrays: _Arrays) -> Rows:
    """The rows, times the number `X_scale` if there is one."""
    X = _rows(arrays)
    if "X_scale" not in arrays.names:
        return X
    scale = arrays["X_scale"]
    if scale.size != 1 or scale.dtype.kind not in "fiu" or not np.isfinite(scale).all():
        raise Refusal(
            f"has 'X_scale' with shape {scale.shape} and type {scale.dtype}",
            advice="it must hold one finite number",
        )
    with np.errstate(over="ignore"):  # what becomes infinite is refused later
        X *= float(scale.item())
    return X


def _rows(arrays: _Arrays) -> Rows:
    if "X" in arrays.names:
        X = arrays.take("X", "fiub", "a matrix of numbers")
        if not len(X):
            raise Refusal("has no rows in 'X'", advice="check how it was written")
        with np.errstate(over="ignore"):  # long doubles; the infinite ones are refused later
            return np.ascontiguousarray(X, dtype=np.float64)
    missing = [part for part in PARTS if part not in arrays.names]
    if missing:
        raise Refusal(
            f"has neither 'X' nor all of {quoted(PARTS)}, but {quoted(arrays.names, limit=10)}",
            advice="save the table under these names",
        )
    try:
        return tidy_csr(arrays.csr("X_"))
    except BadRows as error:
        raise Refusal(
            f"has parts of a CSR matrix that do not fit together: {error}",
            advice="save data, indices, indptr and shape of one matrix",
        ) from error


def _labels(arrays: _Arrays, n_rows: int, request: TableRequest) -> NDArray[Any]:
    if LABEL not in arrays.names:
        raise Refusal(f"has no array {LABEL!r} of labels", advice=nearest(LABEL, arrays.names))
    y = arrays.take(LABEL, "fiubU", "labels", length=n_rows)
    if y.dtype.kind == "b":
        y = np.where(y, "true", "false")
    missing = ~np.isfinite(y) if y.dtype.kind == "f" else y == "" if y.dtype.kind == "U" else y != y
    refuse_missing("label", missing, "row {:,}".format)
    refuse_other_than_two(y, LABEL, request)
    return y


def _ids(arrays: _Arrays, n_rows: int, name: str | None) -> NDArray[Any]:
    if name is None:
        return np.arange(n_rows)
    if name not in arrays.names or name in ("X", LABEL, "feature_names", "X_scale", *PARTS):
        raise Refusal(f"has no id array {quoted([name])}", advice=nearest(name, arrays.names))
    return arrays.take(name, "iuU", "integers or strings", length=n_rows)
