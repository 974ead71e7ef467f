"""The book in which the oracle writes every label at the moment its row is drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnknownId
from thresher.oracles import IdArray
from thresher.oracles.requests import check_ids
from thresher.validation import FloatArray


class Ledger:
    """Labels by id, fixed once written, and which of them have been revealed.

    Examples
    --------
    >>> ledger = Ledger()
    >>> ledger.commit(np.array([1.0, -1.0]), is_clean=np.array([True, False]))
    array([0, 1])
    >>> ledger.reveal([1, 1]), ledger.n_labels
    (array([-1., -1.]), 1)
    """

    def __init__(self) -> None:
        self._labels = np.zeros(0)
        self._is_clean = np.zeros(0, dtype=np.bool_)
        self._is_revealed = np.zeros(0, dtype=np.bool_)

    @property
    def n_labels(self) -> int:
        """How many distinct ids have had their label revealed."""
        return int(np.count_nonzero(self._is_revealed))

    def commit(self, labels: FloatArray, is_clean: NDArray[np.bool_]) -> IdArray:
        """New ids, counting up, under which these labels are now written."""
        ids = np.arange(self._labels.size, self._labels.size + labels.size, dtype=np.int64)
        self._labels = np.concatenate([self._labels, labels])
        self._is_clean = np.concatenate([self._is_clean, is_clean])
        self._is_revealed = np.concatenate([self._is_revealed, np.zeros_like(is_clean)])
        return ids

    def reveal(self, ids: object) -> FloatArray:
        """The labels of the ids, which count as revealed from now on."""
        known = self._known(ids)
        self._is_revealed[known] = True
        return self._labels[known]

    def is_clean(self, ids: object) -> NDArray[np.bool_]:
        """Whether each id belongs to a clean row."""
        return self._is_clean[self._known(ids)]

    def _known(self, ids: object) -> IdArray:
        checked = check_ids(ids)
        unknown = np.flatnonzero((checked < 0) | (checked >= self._labels.size))
        if unknown.size:
            raise UnknownId(int(checked[unknown[0]]), n_known=self._labels.size)
        return checked
