"""Pools that do not fit into memory: rows are looked at where they lie, and few are fetched."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.oracles.large.row_order import RowOrder
from thresher.oracles.large.tasks import BandScan, CellsAt, RowsAt, Task, first_places
from thresher.oracles.requests import Draw, DrawRequest, IdArray, check_ids
from thresher.validation import FloatArray, check_count, seed_from
from thresher.wording import count, quoted

N_PLACES = 256
LEAST_ROWS, MOST_ROWS = 1000, 50_000  # of a sample
SAMPLE = 2**32 - 1  # the number of the order by which samples are drawn
Job = tuple[int, Task]  # a block by its number, and what to do with it


class LargePool(ABC):
    """A pool of rows in blocks: what `ParquetPool` and `DaskPool` have in common.

    Rows are drawn without replacement, in a random order that is new for each request and depends
    on the seed and on the rows' ids alone. A request with a band reads the columns of its normal in
    every row, keeps the rows in the band that come first in that order, and fetches those.

    Departure: the rows of a request without a band (phase 1) are not drawn one by one, which would
    read every file. They are runs of consecutive rows at `n_places` random places. If all planted
    rows stand together, their share of the draw has a standard deviation of at most
    √(share/n_places).

    Parameters
    ----------
    feature_names : of the columns that are features
    block_rows : the number of rows in each block
    random_state : seed of the random orders
    n_places : where runs of consecutive rows begin when there is no band. More of them read more of
        the files, and suffer less where neighboring rows are alike
    sample_rows : size of the uniform sample that `ActiveClassifier` and the `fit` of classifiers
        work on; by default as many rows as they can work on at ease

    Notes
    -----
    Medians of a sample are proven good enough: for each of d columns, the sample's median lies
    between the quantiles ½ ± t of the column, with t = √(ln(2·d/δ)/(2·n)) and probability 1 − δ
    (Hoeffding, also without replacement). For n = 5,000 rows, d = 500 and δ = .001, t is .037.
    """

    column_names: list[str]  # of every column, features or not
    has_names = True  # not of an array, whose columns are called by their numbers
    is_replayable = True  # a pool of the same rows and seed draws the same rows again

    def __init__(
        self,
        feature_names: Sequence[str],
        block_rows: Sequence[int],
        *,
        random_state: Any = 0,
        n_places: int = N_PLACES,
        sample_rows: int | None = None,
    ) -> None:
        self.feature_names = list(feature_names)
        self.n_features = len(self.feature_names)
        self.block_starts: IdArray = np.cumsum([0, *block_rows], dtype=np.int64)
        self.n_rows = int(self.block_starts[-1])
        if not self.n_rows:
            raise ValueError("the pool has no rows")
        self._seed = seed_from(random_state)
        self._n_places = check_count(n_places, "n_places")
        self._sample_rows = None if sample_rows is None else check_count(sample_rows, "sample_rows")
        self._n_draws = 0

    @abstractmethod
    def run(self, jobs: Iterable[Job], columns: Sequence[str]) -> Iterator[Any]:
        """The results of the jobs with these columns, in their order.

        A block can be given to its task in several parts, each with a result of its own.
        """

    def draw(self, request: DrawRequest) -> Draw:
        """Up to `request.n_rows` rows in the band, by ascending id; fewer if there are no more.

        `n_drawn` counts the rows up to the last one returned in the random order of this request,
        or all of them.
        """
        request.require_features(self.n_features)
        if request.band.normal.any() and np.isfinite(request.band.width):
            ids, n_drawn = self._first_in_band(request)
        else:
            wanted = min(request.n_rows, request.max_draws or self.n_rows)
            ids = self._runs(wanted)
            n_drawn = ids.size
        draw = Draw(ids=ids, X=self.take(ids), n_drawn=n_drawn)
        self._n_draws += 1  # an interrupted draw did not happen
        return draw

    def _first_in_band(self, request: DrawRequest) -> tuple[IdArray, int]:
        """The ids of the rows in the band that come first in the order of this draw."""
        support = np.flatnonzero(request.band.normal)
        limit = min(request.max_draws or self.n_rows, self.n_rows)
        task = BandScan(
            request.band.normal[support],
            request.band.width,
            RowOrder(self.n_rows, self._seed, self._n_draws),
            request.n_rows,
            limit,
        )
        places = ids = np.zeros(0, dtype=np.int64)
        columns = [self.feature_names[j] for j in support]
        for found in self.run(((block, task) for block in range(self.n_blocks)), columns):
            places, ids = first_places(
                np.concatenate([places, found[0]]),
                np.concatenate([ids, found[1]]),
                request.n_rows,
                limit,
            )
        n_drawn = int(places.max()) + 1 if places.size == request.n_rows else limit
        return np.sort(ids), n_drawn

    def _runs(self, n_wanted: int) -> IdArray:
        """The ids of that many rows: runs of equal length, at random places."""
        n_wanted = min(n_wanted, self.n_rows)
        length = -(-n_wanted // min(self._n_places, n_wanted))
        n_runs = -(-self.n_rows // length)
        n_chosen = min(n_runs, -(-n_wanted // length) + 1)  # the last one of the pool can be short
        order = RowOrder(n_runs, self._seed, self._n_draws)
        starts = length * order.ids(np.arange(n_chosen))
        ids = (starts[:, None] + np.arange(length)).ravel()
        return np.sort(ids[ids < self.n_rows][:n_wanted])

    @property
    def n_blocks(self) -> int:
        """The number of row groups, batches or partitions."""
        return self.block_starts.size - 1

    # -- rows and cells by their ids ---------------------------------------------------------

    def take(self, ids: object) -> FloatArray:
        """The rows of these ids, in this order."""
        return self.rows_of(ids, self.feature_names)

    def rows_of(self, ids: object, columns: Sequence[str]) -> FloatArray:
        """These columns of the rows of these ids, in this order, as floats."""
        found = self._gathered(RowsAt, ids, columns)
        return np.zeros((0, len(columns))) if found is None else found

    def cells(self, column: str, ids: object) -> NDArray[Any]:
        """What stands in one column of the rows of these ids, for instance their labels."""
        found = self._gathered(CellsAt, ids, [column])
        return np.zeros(0) if found is None else found

    def _gathered(self, task: Any, ids: object, columns: Sequence[str]) -> NDArray[Any] | None:
        wanted, places = np.unique(check_ids(ids), return_inverse=True)
        if not wanted.size:
            return None
        if wanted[0] < 0 or wanted[-1] >= self.n_rows:
            beyond = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise ValueError(f"the pool has {count(self.n_rows, 'row')}, but none of id {beyond}")
        blocks = np.searchsorted(self.block_starts, wanted, side="right") - 1
        jobs = ((int(b), task(wanted[blocks == b])) for b in np.unique(blocks))
        return np.concatenate(list(self.run(jobs, columns)))[places]

    def sample_ids(self, n_entries: int) -> IdArray:
        """The ids of a uniform sample without replacement, ascending; always the same ones.

        It has about `n_entries` numbers, unless the pool was given a number of rows.
        """
        usual = min(max(n_entries // len(self.column_names), LEAST_ROWS), MOST_ROWS)
        n_rows = min(self._sample_rows or usual, self.n_rows)
        return np.sort(RowOrder(self.n_rows, self._seed, SAMPLE).ids(np.arange(n_rows)))

    def require_columns(self, columns: Iterable[str], known: Sequence[str]) -> None:
        """Raise ValueError unless the pool has these columns."""
        missing = [name for name in columns if name not in set(known)]
        if missing:
            raise ValueError(
                f"the pool has no column {quoted(missing, limit=3)}; "
                f"it has {quoted(known, limit=10)}"
            )
