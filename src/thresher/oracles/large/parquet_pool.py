"""`ParquetPool`: a pool in files that are read only where needed."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import UnreadablePart
from thresher.oracles.large.data_files import BlockReader, DataFile, data_files
from thresher.oracles.large.engines import arrow
from thresher.oracles.large.large_pool import N_PLACES, Job, LargePool
from thresher.oracles.requests import IdArray
from thresher.wording import quoted

PARTS_AT_ONCE = 32  # small tables that are kept before they are joined


class ParquetPool(LargePool):
    """The rows of Parquet or Arrow files as a pool, of any size; see `LargePool` on what is read.

    The id of a row is its number: through all files, sorted by name. Each time a file is opened,
    its size, its time of change and its footer are compared with what they were at first.

    Parameters
    ----------
    path : a file, or a folder with files, whose names end in .parquet, .arrow or .feather. Folders
        named `key=value` add a column with that key
    columns : names of the columns that are features; by default every column of numbers or of
        true and false in the files
    random_state : integer seed
    n_places, sample_rows : see `LargePool`

    Attributes
    ----------
    n_rows, n_features, feature_names : of the pool
    column_names : of every column, features or not

    Raises
    ------
    UnreadablePart : a file is missing, damaged, without one of the columns, or has changed; the
        message names the file and its row group. Also when rows are drawn

    Examples
    --------
    >>> import tempfile, pyarrow.parquet
    >>> from thresher.geometry import Band
    >>> from thresher.oracles import DrawRequest
    >>> table = pyarrow.table({"a": [0.1, 2.0, -0.2], "b": [5.0, 1.0, 3.0], "spam": list("nyn")})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(table, f"{folder}/mail.parquet")
    ...     pool = ParquetPool(folder)
    ...     band = Band(normal=np.array([1.0, 0.0]), width=0.5)
    ...     pool.feature_names, pool.draw(DrawRequest(n_rows=5, band=band)).ids
    (['a', 'b'], array([0, 2]))
    """

    def __init__(
        self,
        path: str | Path,
        columns: Sequence[str] | None = None,
        *,
        random_state: Any = 0,
        n_places: int = N_PLACES,
        sample_rows: int | None = None,
    ) -> None:
        self.path = Path(path)
        self._files = data_files(self.path, self.open_file)
        self.column_names = [*self._files[0].schema.names, *self._files[0].keys]
        self._key_kinds = {
            key: _kind_of_key(file.keys.get(key, "") for file in self._files)
            for key in self._files[0].keys
        }
        names = self._numbers() if columns is None else [str(name) for name in columns]
        self.require_columns(names, self.column_names)
        for file in self._files:
            file.require(names)
        block_rows = [n_rows for file in self._files for n_rows in file.block_rows]
        options: Any = {
            "random_state": random_state,
            "n_places": n_places,
            "sample_rows": sample_rows,
        }
        super().__init__(names, block_rows, **options)
        self._first_blocks = np.cumsum([0, *(len(file.block_rows) for file in self._files)])

    def open_file(self, path: Path) -> Any:
        """A file of the pool, opened for reading; override it to read from elsewhere."""
        return arrow().OSFile(str(path))

    def _numbers(self) -> list[str]:
        types = arrow().types
        checks = (types.is_integer, types.is_floating, types.is_boolean)
        schema = self._files[0].schema
        names = [field.name for field in schema if any(check(field.type) for check in checks)]
        if not names:
            raise UnreadablePart(self._files[0].path, "", "has no column of numbers", "name some")
        return names

    def run(self, jobs: Iterable[Job], columns: Sequence[str]) -> Iterator[Any]:
        """The results of the jobs, in their order; one block is in memory at a time."""
        tasks = dict(jobs)
        for start, table in self.tables(columns, tasks):
            block = int(np.searchsorted(self.block_starts, start, side="right")) - 1
            with self._naming(block):
                result = tasks[block](start, [_array(table.column(name), name) for name in columns])
            yield result

    def tables(
        self, columns: Sequence[str], blocks: Iterable[int] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Consecutive rows of some blocks, or of all, as Arrow tables with the id of their first.

        No table is much larger than 64 MB.
        """
        chosen = range(self.n_blocks) if blocks is None else blocks
        for number, own in groupby(chosen, key=self._file_of):
            file = self._files[number]
            file.require(columns)
            with file.opened() as reader:
                for block in own:
                    with self._naming(block):
                        yield from self._tables_of(block, file, reader, columns)

    def _tables_of(
        self, block: int, file: DataFile, reader: BlockReader, columns: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        start, stop = self.block_starts[block : block + 2].tolist()
        stored = [name for name in columns if name not in file.keys]
        number = block - int(self._first_blocks[self._file_of(block)])
        for table in reader.tables(number, stored or file.schema.names[:1]):
            for name in set(columns).intersection(file.keys):
                value = arrow().scalar(self._key_kinds[name](file.keys[name]))
                table = table.append_column(name, arrow().repeat(value, table.num_rows))
            if table.num_rows:  # row groups can be empty
                yield start, table
            start += table.num_rows
        if start != stop:
            raise ValueError("another number of rows than before")

    def table_at(self, ids: IdArray, columns: Sequence[str]) -> Any:
        """The rows of these ids, ascending, as an Arrow table of these columns."""
        blocks = np.unique(np.searchsorted(self.block_starts, ids, side="right") - 1).tolist()
        parts: list[Any] = []
        for first_id, table in self.tables(columns, blocks):
            start, stop = np.searchsorted(ids, [first_id, first_id + table.num_rows])
            parts.append(table.select(list(columns)).take(ids[start:stop] - first_id))
            if len(parts) == PARTS_AT_ONCE:  # each column of each part takes memory of its own
                parts = [_joined(parts)]
        return _joined(parts)

    @property
    def checksum(self) -> int:
        """A number that tells these files from others, by their names, sizes and footers."""
        return zlib.crc32(repr([file.identity for file in self._files]).encode())

    def is_key(self, column: str) -> bool:
        """Whether a column stands in the names of folders."""
        return column in self._key_kinds

    def part_with(self, row: int) -> tuple[Path, str]:
        """The file with a row, and what its block is called in messages."""
        block = int(np.searchsorted(self.block_starts, row, side="right")) - 1
        number = self._file_of(block)
        file = self._files[number]
        return file.path, file.name_of(block - int(self._first_blocks[number]))

    def _naming(self, block: int) -> Any:
        number = self._file_of(block)
        return self._files[number].naming_block(block - int(self._first_blocks[number]))

    def _file_of(self, block: int) -> int:
        return int(np.searchsorted(self._first_blocks, block, side="right")) - 1


def _joined(parts: list[Any]) -> Any:
    return arrow().concat_tables(parts, promote_options="permissive").combine_chunks()


def _kind_of_key(values: Iterable[str]) -> type[float] | type[str]:
    """Numbers if all values of a key are, and else texts."""
    try:
        for value in values:
            float(value)
    except ValueError:
        return str
    return float


def _array(column: Any, name: str) -> NDArray[Any]:
    if column.null_count:
        raise ValueError(f"missing values in column {quoted([name])}")
    if arrow().types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    cells: NDArray[Any] = column.to_numpy()
    return cells
