"""What a learner asks a source of instances for, and what it gets back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.arrays import DeviceRows
from thresher.geometry import Band
from thresher.validation import Rows, check_count, check_rows, refuse_masked

IdArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DrawRequest:
    """A number of rows wanted inside a band, and all that an adaptive adversary may know.

    This is the conditional draw of Algorithm 1, line 5. A source needs `n_rows`, `band` and
    `max_draws`; the other fields are there because the paper's adversary sees the learner's state.

    Parameters
    ----------
    n_rows : how many rows inside the band are wanted
    band : the band; its normal is the current halfspace (zeros in phase 1, with infinite width)
    max_abs_entry : pruning radius of this phase; larger entries will be dropped by the learner
    phase : number of the phase, from 1
    phase_record : the learner's whole record of the phase, if it has one
    max_draws : how many instances may be drawn for this request, rejected ones too

    Examples
    --------
    >>> request = DrawRequest(n_rows=10, band=Band(normal=np.zeros(3), width=np.inf))
    >>> request.phase, request.n_features, request.max_draws is None
    (1, 3, True)
    """

    n_rows: int
    band: Band
    max_abs_entry: float = np.inf
    phase: int = 1
    phase_record: object | None = None
    max_draws: int | None = None

    def __post_init__(self) -> None:
        check_count(self.n_rows, "n_rows")
        check_count(self.phase, "phase")
        if self.max_draws is not None:
            check_count(self.max_draws, "max_draws")
        if not isinstance(self.band, Band):
            raise TypeError(f"band must be a Band, got {type(self.band).__name__}")
        if not self.max_abs_entry > 0:  # also refuses NaN
            raise ValueError(f"max_abs_entry must be greater than 0, got {self.max_abs_entry}")

    @property
    def n_features(self) -> int:
        """The number of features of the rows this request is about."""
        return int(self.band.normal.size)

    def require_features(self, n_features: int) -> None:
        """Raise ValueError unless the request is about rows of that many features."""
        if self.n_features != n_features:
            raise ValueError(
                f"the request's band has {self.n_features} features, "
                f"but the source has {n_features}"
            )


@dataclass(frozen=True, eq=False)
class LabelRequest:
    """Distinct rows whose labels the learner wants (Algorithm 1, line 8); `ask` returns one.

    Parameters
    ----------
    ids : (k,) integers, one per row; for a table they are row positions (`iloc` of a data frame)
    X : (k, d) the rows, dense or CSR
    phase : number of the phase, from 1
    """

    ids: IdArray
    X: Rows
    phase: int


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows inside the requested band with their ids, and what they cost to find.

    Fewer rows than requested (even none) mean that the source is exhausted or that the request's
    `max_draws` was reached.

    Parameters
    ----------
    ids : one integer a row, by which its label can be asked for
    X : the rows, dense or CSR
    n_drawn : how many instances were drawn in all, rejected ones too (the paper's N_k)

    Examples
    --------
    >>> draw = Draw(ids=[4, 7], X=[[0.1, 2.0], [-0.3, 1.0]], n_drawn=9)
    >>> draw.n_rows, draw.n_drawn
    (2, 9)
    """

    ids: IdArray
    X: Rows
    n_drawn: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", check_ids(self.ids))
        object.__setattr__(self, "X", _rows_or_none(self.X))
        check_count(self.n_drawn, "n_drawn", minimum=0)
        if self.ids.size != self.X.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]} rows, but there are {self.ids.size} ids")
        if np.unique(self.ids).size != self.ids.size:
            raise ValueError("ids must not repeat within one draw")
        if self.n_drawn < self.ids.size:
            raise ValueError(
                f"n_drawn must count every drawn row, got {self.n_drawn} for {self.ids.size} rows"
            )

    @property
    def n_rows(self) -> int:
        """How many rows came back."""
        return int(self.ids.size)


def check_ids(ids: object) -> IdArray:
    """The ids as a one-dimensional array of 64-bit integers, or a typed error.

    Examples
    --------
    >>> check_ids([3, 1])
    array([3, 1])
    """
    refuse_masked(ids, "ids")
    array = np.asarray(ids)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"ids must have one dimension, got shape {array.shape}")
    return array.astype(np.int64, copy=False)


def _rows_or_none(X: Any) -> Rows:
    if isinstance(X, DeviceRows):
        return X
    if not sp.issparse(X):
        refuse_masked(X, "X")
        X = np.asarray(X)
    if X.ndim == 2 and X.shape[0] == 0 and X.shape[1] > 0:
        return X  # an exhausted source has no row left to check
    return check_rows(X, "X")
