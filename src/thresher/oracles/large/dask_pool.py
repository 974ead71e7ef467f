"""`DaskPool`: a pool of Dask, looked at where its partitions lie."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnreadablePart
from thresher.oracles.large.engines import dask
from thresher.oracles.large.large_pool import N_PLACES, Job, LargePool
from thresher.oracles.large.tasks import Task
from thresher.wording import one_line

AT_ONCE = 64  # partitions whose results are waited for together


class DaskPool(LargePool):
    """The rows of a Dask array or data frame as a pool, on any scheduler; see `LargePool`.

    Tasks run where the partitions lie, and only ids and the rows that are drawn travel. The draws
    are those of a `ParquetPool` of the same rows and seed, bit by bit, however the rows are
    partitioned. Work that a lost worker had is done again by others.

    Parameters
    ----------
    frame_or_array : a Dask data frame, or a Dask array of two dimensions
    columns : names of the columns that are features, of an array their numbers; by default every
        column of numbers or of true and false
    random_state : integer seed
    n_places, sample_rows : see `LargePool`

    Raises
    ------
    UnreadablePart : a partition cannot be computed, or is not what it was; the message names it

    Examples
    --------
    >>> import dask.array
    >>> from thresher.geometry import Band
    >>> from thresher.oracles import DrawRequest
    >>> rows = dask.array.from_array(np.array([[0.1, 5.0], [2.0, 1.0], [-0.2, 3.0]]), chunks=(2, 1))
    >>> pool = DaskPool(rows)
    >>> band = Band(normal=np.array([1.0, 0.0]), width=0.5)
    >>> pool.draw(DrawRequest(n_rows=5, band=band)).ids
    array([0, 2])
    """

    def __init__(
        self,
        frame_or_array: Any,
        columns: Sequence[str | int] | None = None,
        *,
        random_state: Any = 0,
        n_places: int = N_PLACES,
        sample_rows: int | None = None,
    ) -> None:
        self._table = (
            _Frame(frame_or_array) if _is_frame(frame_or_array) else _Array(frame_or_array)
        )
        self.column_names = list(self._table.kinds)
        self.has_names = isinstance(self._table, _Frame)
        numbers = [name for name, kind in self._table.kinds.items() if kind in "fiub"]
        names = numbers if columns is None else [str(name) for name in columns]
        self.require_columns(names, self.column_names)
        lengths = list(self._computed(self._table.lengths()))
        options: Any = {
            "random_state": random_state,
            "n_places": n_places,
            "sample_rows": sample_rows,
        }
        super().__init__(names, lengths, **options)

    def run(self, jobs: Iterable[Job], columns: Sequence[str]) -> Iterator[Any]:
        """The results of the jobs, in their order."""
        self.require_columns(columns, self.column_names)
        partitions = self._table.partitions(columns)
        work = (
            (block, dask().delayed(_done)(task, *self._bounds(block), partitions[block]))
            for block, task in jobs
        )
        yield from self._computed(work)

    def _bounds(self, block: int) -> tuple[int, int]:
        start, stop = self.block_starts[block : block + 2].tolist()
        return start, stop

    def _computed(self, work: Iterable[tuple[int, Any]]) -> Iterator[Any]:
        """The results of delayed work on partitions, a few at a time."""
        waiting = iter(work)
        while wave := list(islice(waiting, AT_ONCE)):
            try:
                results = dask().compute(*(delayed for _, delayed in wave))
            except Exception:  # one by one, to tell which of them fails, if it fails again
                results = tuple(self._alone(*one) for one in wave)
            yield from results

    def _alone(self, block: int, delayed: Any) -> Any:
        try:
            return delayed.compute()
        except Exception as error:
            problem = f"cannot be computed ({type(error).__name__}: {one_line(error, 200)})"
            raise UnreadablePart(
                self._table.name, f"partition {block}", problem, "check where its rows come from"
            ) from error


def _done(task: Task, start: int, stop: int, partition: Any) -> Any:
    """The result of a task, computed by a worker."""
    columns = _columns_of(partition)
    if len(partition) != stop - start:
        raise ValueError(f"it has {len(partition)} rows, but had {stop - start} before")
    return task(start, columns)


def _columns_of(partition: Any) -> list[NDArray[Any]]:
    if isinstance(partition, np.ndarray):
        return list(partition.T)
    columns = [partition.iloc[:, place] for place in range(partition.shape[1])]
    for column in columns:
        if column.isna().any():
            raise ValueError(f"missing values or NaN in column {column.name!r}")
    return [column.to_numpy() for column in columns]


def _is_frame(table: Any) -> bool:
    if hasattr(table, "map_partitions") and hasattr(table, "columns"):
        return True
    if hasattr(table, "rechunk") and getattr(table, "ndim", 0) == 2:
        return False
    raise TypeError(
        "DaskPool needs a Dask data frame, or a Dask array of two dimensions, "
        f"got {type(table).__name__}"
    )


class _Frame:
    """A Dask data frame: its columns, and its partitions with some of them."""

    name = "the Dask data frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.kinds = {str(name): _kind(dtype) for name, dtype in frame.dtypes.items()}

    def lengths(self) -> Iterator[tuple[int, Any]]:
        """The number of rows of each partition, not computed yet."""
        first = self._frame[[self._frame.columns[0]]]
        return enumerate(map(dask().delayed(len), first.to_delayed()))

    def partitions(self, columns: Sequence[str]) -> list[Any]:
        """The partitions with these columns alone, which readers of files need not read whole."""
        named = {str(name): name for name in self._frame.columns}
        return list(self._frame[[named[name] for name in columns]].to_delayed())


class _Array:
    """A Dask array: its columns are called by their numbers."""

    name = "the Dask array"

    def __init__(self, array: Any) -> None:
        self._array = array
        if np.isnan(array.shape[1]):
            raise ValueError("a Dask array must have a known number of columns")
        self.kinds = {str(place): array.dtype.kind for place in range(array.shape[1])}

    def lengths(self) -> Iterator[tuple[int, Any]]:
        """The number of rows of each partition, not computed yet."""
        return enumerate(map(dask().delayed(len), self._array[:, 0].to_delayed()))

    def partitions(self, columns: Sequence[str]) -> list[Any]:
        """The partitions with these columns alone."""
        chosen = self._array[:, [int(name) for name in columns]].rechunk({1: -1})
        return list(chosen.to_delayed()[:, 0])


def _kind(dtype: Any) -> str:
    """One letter, as NumPy has it; of columns that are not NumPy's, a number is a number."""
    return str(getattr(dtype, "kind", "O"))
