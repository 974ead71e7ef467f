"""What is asked of a file, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from thresher.validation import Rows

Progress: TypeAlias = Callable[[int, int], None]  # told the bytes read so far, and all there are


@dataclass(frozen=True)
class TableRequest:
    """What a caller wants from a file, in whichever format it is.

    Parameters
    ----------
    label : the label column; None for the last column, or for a format's own labels
    id_column : the column that names the rows; None for row numbers
    one_hot : whether a text column becomes one column per value
    features : the columns that the table must have, in this order; None for all there are
    with_labels : whether labels are read
    progress : told how far reading has come

    Examples
    --------
    >>> TableRequest(label="spam").with_labels
    True
    """

    label: str | None = None
    id_column: str | None = None
    one_hot: bool = False
    features: tuple[str, ...] | None = None
    with_labels: bool = True
    progress: Progress | None = None

    def tell_progress(self, n_bytes_read: int, n_bytes_total: int) -> None:
        """Tell whoever wanted to know, never more than everything."""
        if self.progress is not None:
            self.progress(min(n_bytes_read, n_bytes_total), n_bytes_total)


@dataclass(frozen=True, eq=False)
class LabeledTable:
    """The rows of a file, with what they are called.

    Parameters
    ----------
    X : (n, d) float64 array or CSR, finite
    y : (n,) labels as in the file, strings or numbers; None if they were not asked for
    feature_names : the d names of the columns of X
    ids : (n,) the id column's values, or the numbers of the rows from 1
    label_name : the label's column; None if no labels were asked for

    Examples
    --------
    >>> import numpy as np
    >>> table = LabeledTable(np.eye(2), np.array(["a", "b"]), ["x", "z"], np.array([1, 2]), "y")
    >>> table.n_rows
    2
    """

    X: Rows
    y: NDArray[Any] | None
    feature_names: list[str]
    ids: NDArray[Any]
    label_name: str | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])
