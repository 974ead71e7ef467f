"""Named hostile inputs, each with the error that it must end in, or none if it can be learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

N_ROWS, N_FEATURES = 60, 4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, N_FEATURES))
Y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
X.flags.writeable = False
NAMES = list("abcd")
LARGEST = np.finfo(np.float64).max
CSR = sp.csr_array(X)


@dataclass(frozen=True)
class Case:
    """A table, labels and parameters, and a pattern for the message with which they are refused.

    `in_rows` says that the table alone is to blame, so that predicting for it is refused as well.
    """

    name: str
    table: Callable[[], Any] = lambda: X
    labels: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    in_rows: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def y(self) -> Any:
        """Labels for as many rows as there are, unless others are given."""
        if self.labels is not None:
            return self.labels
        rows = self.table()
        n_rows = rows.shape[0] if getattr(rows, "shape", ()) else N_ROWS
        return Y[:n_rows] if n_rows <= N_ROWS else np.resize(Y, n_rows)


def cell(value: float, i: int = 7, j: int = 2) -> np.ndarray:
    """The table with one other entry."""
    changed = X.copy()
    changed[i, j] = value
    return changed


def column(values: Any, j: int = 2) -> np.ndarray:
    """The table with one other column."""
    changed = X.copy()
    changed[:, j] = values
    return changed


def frame(**columns: Any) -> pd.DataFrame:
    """The table as a data frame with some other columns."""
    return pd.DataFrame(X, columns=NAMES).assign(**columns)


def objects(value: Any) -> np.ndarray:
    """The table as objects with one other entry."""
    changed = X.astype(object)
    changed[7, 2] = value
    return changed


def masked(mask: bool) -> np.ma.MaskedArray:
    """A masked array, with or without a masked entry."""
    return np.ma.MaskedArray(X, mask=(np.arange(N_ROWS * N_FEATURES) == 30).reshape(X.shape) & mask)


def unsorted() -> sp.csr_array:
    """CSR with the entries of each row from right to left."""
    indices = np.tile(np.arange(N_FEATURES)[::-1], N_ROWS)
    indptr = N_FEATURES * np.arange(N_ROWS + 1)
    return sp.csr_array((X[:, ::-1].ravel(), indices, indptr), shape=X.shape)


def repeated(values: Any = X / 2) -> sp.csr_array:
    """CSR in which every entry is given twice, as two halves."""
    indices = np.tile(np.repeat(np.arange(N_FEATURES), 2), N_ROWS)
    indptr = 2 * N_FEATURES * np.arange(N_ROWS + 1)
    return sp.csr_array((np.repeat(values, 2), indices, indptr), shape=X.shape)


def wide_indices() -> sp.csr_array:
    """CSR with 64-bit indices."""
    made = CSR.copy()
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


DAYS = np.arange(N_ROWS).astype("datetime64[D]")

NUMBERS = [
    Case("a NaN", lambda: cell(np.nan), error=r"in 1 cell; by column: 2 \(1\); .* X\[7, 2\] = nan"),
    Case("plus infinity", lambda: cell(np.inf), error=r"X\[7, 2\] = inf"),
    Case("minus infinity", lambda: cell(-np.inf), error=r"X\[7, 2\] = -inf"),
    Case("a column of NaN", lambda: column(np.nan), error=r"by column: 2 \(60\)"),
    Case("a table of NaN", lambda: X * np.nan, error=r"in 240 cells"),
    Case("an entry of 1e15", lambda: cell(1e15)),
    Case("an entry of 1e100", lambda: cell(1e100)),
    Case("an entry of 1e154", lambda: cell(1e154)),
    Case("an entry of 1e200", lambda: cell(-1e200)),
    Case("an entry of 1e308", lambda: cell(1e308)),
    Case("the largest float", lambda: cell(-LARGEST)),
    Case("a row of 1e308", lambda: np.vstack([X[1:], np.full(N_FEATURES, 1e308)])),
    Case("a table of 1e15", lambda: 1e15 * X),
    Case("a table of 1e100", lambda: 1e100 * X),
    Case("a table of 1e307", lambda: 1e307 * X),
    Case("a table of signs of the largest float", lambda: np.sign(X) * LARGEST),
    Case("a table of 1e-15", lambda: 1e-15 * X),
    Case("a table of 1e-300", lambda: 1e-300 * X),
    Case("denormals", lambda: np.round(3 * X) * 5e-324),
    Case("a denormal column", lambda: column(np.sign(X[:, 2]) * 5e-324)),
    Case("columns from 1e-300 to 1e300", lambda: X * [1e-300, 1e300, 1.0, 1e-150]),
    Case("a column far from zero", lambda: column(1e15 + np.round(10 * X[:, 2]))),
    Case("negative zeros", lambda: column(-0.0)),
]
SHAPES = [
    Case("a constant column", lambda: column(3.7)),
    Case("a constant table", lambda: np.full((N_ROWS, N_FEATURES), 2.5)),
    Case("a table of zeros", lambda: np.zeros((N_ROWS, N_FEATURES))),
    Case("duplicate columns", lambda: X[:, [0, 0, 1, 1]]),
    Case("collinear columns", lambda: column(X[:, 0] + X[:, 1])),
    Case("rank one", lambda: np.outer(X[:, 0], [1.0, -2.0, 0.5, 3.0])),
    Case("a row alone, repeated", lambda: np.tile(X[0], (N_ROWS, 1))),
    Case("duplicate rows", lambda: np.repeat(X[:6], 10, axis=0)),
    Case("one entry that is not zero", lambda: cell(5.0) * (np.arange(60) == 7)[:, None]),
    Case("one row", lambda: X[:1], error="1 sample|one class", in_rows=False),
    Case("two rows", lambda: X[[3, 5]], labels=[0, 1]),
    Case("one column", lambda: X[:, :1]),
    Case("more columns than rows", lambda: np.tile(X, (1, 30))),
    Case("no rows", lambda: X[:0], error="0 sample"),
    Case("no columns", lambda: X[:, :0], error="0 feature"),
    Case("one dimension", lambda: X[:, 0], error="1D array"),
    Case("three dimensions", lambda: X.reshape(N_ROWS, 2, 2), error="dim 3|3D|ndim 3"),
    Case("a number", lambda: 5.0, error="scalar"),
    Case("a ragged list", lambda: [[1.0, 2.0], [3.0]] * 30, error="inhomogeneous"),
    Case("nothing", lambda: None, error="scalar array"),
    Case("a text", lambda: "table.csv", error="scalar|0-dimensional|table.csv"),
]
TYPES = [
    Case("objects that are numbers", lambda: objects(1)),
    Case("an object that is text", lambda: objects("n/a"), error=r"X\[7, 2\] is 'n/a'"),
    Case("an object that is None", lambda: objects(None), error=r"X\[7, 2\]"),
    Case("an object that is a list", lambda: objects([1, 2]), error=r"X\[7, 2\] is '\[1, 2\]'"),
    Case("an integer beyond all floats", lambda: objects(10**400), error=r"X\[7, 2\] is '1000"),
    Case("complex numbers", lambda: X + 1j, error="Complex data not supported"),
    Case("text", lambda: np.array([["low", "high"]] * N_ROWS), error=r"X\[0, 0\] is 'low'"),
    Case("dates", lambda: np.tile(DAYS[:, None], 4), error="dates or times"),
    Case("durations", lambda: np.tile((DAYS - DAYS[0])[:, None], 4), error="dates or times"),
    Case("a masked entry", lambda: masked(True), error=r"X\[7, 2\] is masked"),
    Case("a mask over nothing", lambda: masked(False)),
    Case("the ends of int64", lambda: np.where(X > 0, 2**63 - 1, -(2**63))),
    Case("the end of uint64", lambda: np.where(X > 0, np.uint64(2**64 - 1), np.uint64(0))),
    Case("int8 whose differences overflow", lambda: np.where(X > 0, 127, -128).astype(np.int8)),
    Case("truth values", lambda: X > 0),
    Case("uint8", lambda: (50 * X).astype(np.int64).astype(np.uint8)),
    Case("float16", lambda: X.astype(np.float16)),
    Case("float32 at its end", lambda: (3e38 * np.sign(X)).astype(np.float32)),
    Case("long doubles beyond all doubles", lambda: X * np.longdouble(10) ** 400, error="infinity"),
    Case("big-endian floats", lambda: X.astype(">f8")),
    Case("Fortran order", lambda: np.asfortranarray(X)),
    Case("every second column", lambda: np.repeat(X, 2, axis=1)[:, ::2]),
    Case("rows in reverse", lambda: X[::-1]),
    Case("a structured array", lambda: np.zeros(60, "f8,f8"), error="1D|1d|cast|float"),
]
FRAMES = [
    Case("a frame with text", lambda: frame(b=["x"] * N_ROWS), error=r"X\[0, 'b'\] is 'x'"),
    Case(
        "a categorical column",
        lambda: frame(c=pd.Categorical(["x", "y"] * 30)),
        error=r"X\[0, 'c'\] is 'x'",
    ),
    Case("a frame with dates", lambda: frame(d=DAYS), error="column 'd' of X must hold numbers"),
    Case("a frame of numbers and truth values", lambda: frame(a=X[:, 0] > 0, b=np.arange(60))),
    Case(
        "a nullable column with a gap",
        lambda: frame(a=pd.array([None, *range(59)], dtype="Int64")),
        error=r"'a' \(1\)",
    ),
    Case(
        "duplicate names",
        lambda: frame().set_axis(list("abca"), axis=1),
        error="unique column names",
    ),
    Case(
        "names of two types",
        lambda: frame().set_axis(["a", 1, "b", 2], axis=1),
        error="Feature names are only supported",
    ),
    Case("a Polars frame", lambda: pl.DataFrame(X, schema=NAMES)),
    Case(
        "a Polars frame with a gap",
        lambda: pl.DataFrame({name: [None, *X[1:, j]] for j, name in enumerate(NAMES)}),
        error=r"'a' \(1\), 'b' \(1\)",
    ),
    Case(
        "a Polars frame with dates",
        lambda: pl.DataFrame(X, schema=NAMES).with_columns(d=pl.Series(DAYS)),
        error="column 'd' of X must hold numbers",
    ),
    Case(
        "a Polars frame with text",
        lambda: pl.DataFrame(X, schema=NAMES).with_columns(c=pl.lit("x")),
        error=r"X\[0, 'c'\] is 'x'",
    ),
]
SPARSE = [
    Case("COO", lambda: sp.coo_array(CSR)),
    Case("CSC", lambda: sp.csc_array(CSR)),
    Case("BSR", lambda: sp.bsr_array(CSR, blocksize=(2, 2))),
    Case("LIL matrix", lambda: sp.lil_matrix(CSR)),
    Case("DOK", lambda: sp.dok_array(CSR)),
    Case("CSR with explicit zeros", lambda: sp.csr_array(column(1.0)) * (np.arange(4) != 2)),
    Case("unsorted CSR", unsorted),
    Case("CSR with repeated entries", repeated),
    Case(
        "repeated entries that overflow", lambda: repeated(X * 0 + 1e308), error=r"X\[0, 0\] = inf"
    ),
    Case("CSR with 64-bit indices", wide_indices),
    Case("CSR without entries", lambda: sp.csr_array((N_ROWS, N_FEATURES))),
    Case("CSR with a NaN", lambda: sp.csr_array(cell(np.nan)), error=r"X\[7, 2\] = nan"),
    Case("CSR with 1e308", lambda: sp.csr_array(cell(1e308))),
    Case("CSR of the largest floats", lambda: sp.csr_array(np.sign(X) * LARGEST)),
    Case("CSR of denormals", lambda: sp.csr_array(np.sign(X) * 5e-324)),
    Case("CSR of truth values", lambda: sp.csr_array(X > 0)),
    Case("CSR of complex numbers", lambda: CSR * 1j, error="Complex data not supported"),
]
LABELS = [
    Case("one class", labels=np.ones(N_ROWS), error="only one class is present"),
    Case("three classes", labels=np.arange(N_ROWS) % 3, error="3 distinct labels"),
    Case(
        "a label NaN",
        labels=np.where(np.arange(60) == 9, np.nan, Y),
        error=r"NaN: y\[9\] is",
    ),
    Case("labels of measurements", labels=X[:, 0], error="Unknown label type: continuous"),
    Case("too few labels", labels=Y[1:], error="inconsistent numbers of samples"),
    Case("labels in two columns", labels=np.c_[Y, Y], error="y should be a 1d array"),
    Case("text and None", labels=np.array(["a", None] * 30, dtype=object), error=r"y\[1\] is miss"),
    Case("one row of the other class", labels=np.where(np.arange(60) == 9, 1, 0)),
    Case("labels that contradict", lambda: np.repeat(X[:30], 2, axis=0), labels=[0, 1] * 30),
    Case("labels by chance", labels=RNG.integers(0, 2, N_ROWS)),
]
PARAMETERS = [
    Case("sparsity above the columns", parameters={"sparsity": 10**9}),
    Case("sparsity of zero", parameters={"sparsity": 0}, error="sparsity must be at least 1"),
    Case("sparsity of NaN", parameters={"sparsity": np.nan}, error="sparsity must be an integer"),
    Case("half of the rows planted", parameters={"noise_rate": 0.5}, error="noise_rate"),
    Case("almost half of the rows planted", parameters={"noise_rate": 0.4999}),
    Case("noise that is NaN", parameters={"noise_rate": np.nan}, error="noise_rate"),
    Case("a reach of 1e308", lambda: cell(1e308), parameters={"reach": 1e308}),
    Case("a reach of 1e-308", parameters={"reach": 1e-308}),
    Case("infinite reach", parameters={"reach": np.inf}, error="reach must be finite"),
]
FOR_ROWS = [*NUMBERS, *SHAPES, *TYPES, *FRAMES, *SPARSE]
CASES = [*FOR_ROWS, *LABELS, *PARAMETERS]
