"""Wrappers that count what a source is asked for, and stop before a budget is exceeded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from thresher.errors import BudgetExceeded
from thresher.oracles.requests import Draw, DrawRequest, IdArray, check_ids
from thresher.oracles.sources import InstanceSource, LabelSource, reveal_labels
from thresher.validation import FloatArray, Rows, check_count


class MeteredSource:
    """An instance source that counts its draws and never draws more than it may.

    A request that would go beyond the budget is cut to what is left, and so may come back with
    fewer rows; once nothing is left, the next request raises.

    Parameters
    ----------
    source : any instance source
    max_draws : budget of drawn instances over all requests, rejected ones too; None for no limit

    Attributes
    ----------
    n_draws, n_rows, n_requests : instances drawn, rows handed out, requests answered

    Raises
    ------
    BudgetExceeded : a request when no draw is left, or a source that ignored its limit

    Examples
    --------
    >>> from thresher.geometry import Band
    >>> from thresher.oracles import ArrayPool
    >>> source = MeteredSource(ArrayPool(np.eye(4), random_state=0), max_draws=3)
    >>> request = DrawRequest(n_rows=4, band=Band(normal=np.zeros(4), width=np.inf))
    >>> source.draw(request).n_rows, source.n_draws
    (3, 3)
    >>> source.draw(request)
    Traceback (most recent call last):
    thresher.errors.BudgetExceeded: 4 draws were asked for, but the budget leaves 0; ...
    """

    def __init__(self, source: InstanceSource, *, max_draws: int | None = None) -> None:
        if not isinstance(source, InstanceSource):
            raise TypeError(f"source must be an InstanceSource, got {type(source).__name__}")
        self.max_draws = _budget(max_draws, "max_draws")
        self.n_features = source.n_features
        self.n_draws = self.n_rows = self.n_requests = 0
        self._source = source

    @property
    def n_left(self) -> int | None:
        """How many draws the budget still allows, or None without a budget."""
        return None if self.max_draws is None else max(self.max_draws - self.n_draws, 0)

    def draw(self, request: DrawRequest) -> Draw:
        """What the source draws for the request, within the budget."""
        left = self.n_left
        if left == 0:
            raise self._refusal(request.n_rows, left)
        allowed = [limit for limit in (left, request.max_draws) if limit is not None]
        limit = min(allowed, default=None)
        draw = self._source.draw(replace(request, max_draws=limit))
        self.n_draws += draw.n_drawn
        if left is not None and draw.n_drawn > left:
            raise self._refusal(draw.n_drawn, left)
        self.n_rows += draw.n_rows
        self.n_requests += 1
        return draw

    def _refusal(self, n_asked: int, n_left: int) -> BudgetExceeded:
        kept = f"the {self.n_rows} rows handed out before stay usable"
        return BudgetExceeded("draws", n_asked=n_asked, n_left=n_left, kept=kept)


class MeteredLabels:
    """A label source that pays for each id once, counts, and never pays beyond its budget.

    It is called as `(ids, X)`. An id that was paid before is answered from memory. A call whose new
    ids cost more than what is left raises before any of them is asked for.

    Parameters
    ----------
    label_source : a callable `(ids, X)`, or an object with `.reveal(ids)`
    max_labels : budget of distinct labels; None for no limit

    Attributes
    ----------
    n_queries, n_labels : labels asked for (repetitions too), distinct labels paid

    Raises
    ------
    BudgetExceeded : new ids cost more than what is left

    Examples
    --------
    >>> labels = MeteredLabels(lambda ids, X: np.sign(X[:, 0]), max_labels=2)
    >>> labels(np.array([5, 5, 8]), np.array([[1.0], [1.0], [-3.0]]))
    array([ 1.,  1., -1.])
    >>> labels.n_queries, labels.n_labels, labels.n_left
    (3, 2, 0)
    """

    def __init__(self, label_source: LabelSource, *, max_labels: int | None = None) -> None:
        if not (callable(label_source) or hasattr(label_source, "reveal")):
            raise TypeError(
                "label_source must have a method reveal(ids) or be callable as (ids, X), "
                f"got {type(label_source).__name__}"
            )
        self.max_labels = _budget(max_labels, "max_labels")
        self.n_queries = 0
        self._label_source = label_source
        self._paid: dict[int, float] = {}

    @property
    def n_labels(self) -> int:
        """How many distinct labels were paid."""
        return len(self._paid)

    @property
    def n_left(self) -> int | None:
        """How many labels the budget still allows, or None without a budget."""
        return None if self.max_labels is None else self.max_labels - self.n_labels

    @property
    def paid(self) -> dict[int, float]:
        """Every paid label by its id, as a copy."""
        return dict(self._paid)

    def __call__(self, ids: IdArray, X: Rows) -> FloatArray:
        """One label of -1 or +1 for each id."""
        ids = check_ids(ids)
        distinct, first = np.unique(ids, return_index=True)
        is_new = np.array([int(i) not in self._paid for i in distinct], dtype=np.bool_)
        if is_new.any():
            rows: Rows = X if sp.issparse(X) else np.asarray(X)
            self._pay(distinct[is_new], rows[first[is_new]])
        self.n_queries += ids.size
        return np.array([self._paid[int(i)] for i in ids], dtype=np.float64)

    def _pay(self, ids: IdArray, X: Rows) -> None:
        left = self.n_left
        if left is not None and ids.size > left:
            kept = f"the {self.n_labels} labels paid before are kept in `paid`"
            raise BudgetExceeded("labels", n_asked=int(ids.size), n_left=left, kept=kept)
        labels = reveal_labels(self._label_source, ids, X)
        self._paid.update(zip(ids.tolist(), labels.tolist()))


def _budget(limit: int | None, name: str) -> int | None:
    return None if limit is None else check_count(limit, name, minimum=0)
