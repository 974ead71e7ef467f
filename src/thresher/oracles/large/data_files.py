"""The files of a pool: row groups of Parquet files and batches of Arrow files, read one by one."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

from thresher.errors import UnreadablePart
from thresher.oracles.large.engines import arrow
from thresher.wording import one_line, quoted

BYTES_AT_ONCE = 2**26  # of the columns of a block; a larger one is read in parts
BUFFER_BYTES = 2**16  # of each column of such a block
CHANGED = "has changed since the pool was opened"


@dataclass(frozen=True)
class Fingerprint:
    """What tells a file from a later version of it; the footer has the schema and all sizes."""

    n_bytes: int
    modified: int
    footer: int

    @classmethod
    def of(cls, path: Path, footer: bytes) -> Self:
        """The fingerprint of the file with that footer."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns, zlib.crc32(footer))


class DataFile(ABC):
    """A file whose blocks of rows can be read one by one; it is checked each time it is opened.

    Parameters
    ----------
    path : of the file
    keys : the columns that stand in the names of its folders, as `key=value`
    open_file : opens a path for pyarrow
    """

    block_kind: str
    magic: bytes
    n_length: int  # bytes of the number before the magic: the length of the footer

    def __init__(self, path: Path, keys: dict[str, str], open_file: Any) -> None:
        self.path, self.keys, self._open_file = path, keys, open_file
        with self._naming(), open_file(path) as file:
            footer = self._footer(file)
            self._fingerprint = Fingerprint.of(path, footer)
            self.schema, self.block_rows = self._reader(file, footer).described()

    @property
    def identity(self) -> tuple[str, int, int]:
        """What tells this file from another one, wherever it is: name, size and footer."""
        return self.path.name, self._fingerprint.n_bytes, self._fingerprint.footer

    def _footer(self, file: Any) -> bytes:
        end = file.seek(0, 2) or file.tell()
        n_tail = self.n_length + len(self.magic)
        if end < n_tail:
            raise UnreadablePart(self.path, "", "is truncated or empty")
        file.seek(end - n_tail)
        tail = bytes(file.read(n_tail))
        n_footer = int.from_bytes(tail[: self.n_length], "little")
        if tail[self.n_length :] != self.magic or not 0 < n_footer <= end - n_tail:
            problem = "is truncated, damaged or not in the format of its extension"
            raise UnreadablePart(self.path, "", problem)
        file.seek(end - n_tail - n_footer)
        return bytes(file.read(n_footer)) + tail

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A reader of the file, if it is still the file that it was."""
        with self._naming(), self._open_file(self.path) as file:
            footer = self._footer(file)
            if Fingerprint.of(self.path, footer) != self._fingerprint:
                raise UnreadablePart(self.path, "", CHANGED, "start over")
            yield self._reader(file, footer)

    @contextmanager
    def _naming(self, part: str = "") -> Iterator[None]:
        """Errors of the block become those of this file."""
        try:
            yield
        except FileNotFoundError as error:
            raise UnreadablePart(self.path, part, "was not found") from error
        except (OSError, arrow().ArrowException, ValueError) as error:
            reason = one_line(getattr(error, "strerror", None) or error, 200)
            raise UnreadablePart(self.path, part, f"cannot be read ({reason})") from error

    @contextmanager
    def naming_block(self, number: int) -> Iterator[None]:
        """Errors inside become those of a block of this file."""
        with self._naming(self.name_of(number)):
            yield

    def name_of(self, number: int) -> str:
        """What a block is called in messages."""
        folders = "/".join(f"{key}={value}" for key, value in self.keys.items())
        return f"{self.block_kind} {number}" + (f" of partition {folders}" if folders else "")

    def require(self, columns: Sequence[str]) -> None:
        """Raise unless the file has these columns."""
        missing = [name for name in columns if name not in {*self.schema.names, *self.keys}]
        if missing:
            problem = f"has no column {quoted(missing, limit=3)}"
            raise UnreadablePart(self.path, "", problem, "all files need the same columns")

    @abstractmethod
    def _reader(self, file: Any, footer: bytes) -> "BlockReader":
        """What reads blocks from the open file."""


class BlockReader(Protocol):
    """Reads the blocks of an open file."""

    def described(self) -> tuple[Any, tuple[int, ...]]:
        """The schema, and the number of rows in each block."""

    def tables(self, number: int, columns: list[str]) -> Iterator[Any]:
        """The columns of a block as tables of consecutive rows, each small."""


class ParquetData(DataFile):
    """A Parquet file; its blocks are row groups."""

    block_kind, magic, n_length = "row group", b"PAR1", 4

    def _reader(self, file: Any, footer: bytes) -> BlockReader:
        # The footer was read for its checksum; it need not be read a second time.
        metadata = arrow("parquet").read_metadata(arrow().BufferReader(self.magic + footer))
        return _ParquetReader(file, metadata)


class _ParquetReader:
    """Reads row groups whole if they are small, and else through small buffers."""

    def __init__(self, file: Any, metadata: Any) -> None:
        self._file, self._metadata = file, metadata

    def described(self) -> tuple[Any, tuple[int, ...]]:
        groups = map(self._metadata.row_group, range(self._metadata.num_row_groups))
        return self._metadata.schema.to_arrow_schema(), tuple(group.num_rows for group in groups)

    def tables(self, number: int, columns: list[str]) -> Iterator[Any]:
        group = self._metadata.row_group(number)
        n_bytes = group.total_byte_size * len(columns) // max(1, group.num_columns)
        if n_bytes <= BYTES_AT_ONCE:
            yield self._whole.read_row_group(number, columns=columns)
            return
        step = max(1, group.num_rows * BYTES_AT_ONCE // n_bytes)
        for batch in self._buffered.iter_batches(step, row_groups=[number], columns=columns):
            yield arrow().Table.from_batches([batch])

    @cached_property
    def _whole(self) -> Any:
        return self._parquet(buffer_size=0)

    @cached_property
    def _buffered(self) -> Any:
        return self._parquet(buffer_size=BUFFER_BYTES)

    def _parquet(self, buffer_size: int) -> Any:
        return arrow("parquet").ParquetFile(
            self._file,
            metadata=self._metadata,
            pre_buffer=False,  # which would read what lies between the columns
            buffer_size=buffer_size,
            page_checksum_verification=True,
        )


class ArrowData(DataFile):
    """A file in Arrow's random access format, also called Feather; its blocks are batches."""

    block_kind, magic, n_length = "batch", b"ARROW1", 4

    def _reader(self, file: Any, footer: bytes) -> BlockReader:
        del footer  # it cannot be handed over
        return _ArrowReader(file)


class _ArrowReader:
    """Reads batches; pyarrow fetches only the columns that it is told of."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._schema = arrow("ipc").open_file(file).schema

    def described(self) -> tuple[Any, tuple[int, ...]]:
        first = self._opened([0])
        sizes = (first.get_batch(number).num_rows for number in range(first.num_record_batches))
        return self._schema, tuple(sizes)

    def tables(self, number: int, columns: list[str]) -> Iterator[Any]:
        fields = [self._schema.get_field_index(name) for name in columns]
        yield arrow().Table.from_batches([self._opened(fields).get_batch(number)])

    def _opened(self, fields: list[int]) -> Any:
        options = arrow("ipc").IpcReadOptions(included_fields=fields)
        return arrow("ipc").open_file(self._file, options=options)


KINDS: dict[str, type[DataFile]] = {
    ".parquet": ParquetData,
    ".arrow": ArrowData,
    ".feather": ArrowData,
}


def data_files(path: str | Path, open_file: Any) -> list[DataFile]:
    """The files at a path, sorted by name: the file itself, or all in a folder and its folders.

    Hidden files, and those whose name begins with an underscore, are left out, as other engines do.
    """
    root = Path(path)
    if root.is_file():
        kind = KINDS.get(root.suffix.lower())
        if kind is None:
            problem, advice = f"has the extension {root.suffix!r}", f"supported: {', '.join(KINDS)}"
            raise UnreadablePart(root, "", problem, advice)
        return [kind(root, {}, open_file)]
    if not root.is_dir():
        raise UnreadablePart(root, "", "was not found", "check its name and folder")
    inside = (file.relative_to(root) for file in root.rglob("*"))
    names = sorted(
        file
        for file in inside
        if file.suffix.lower() in KINDS and not any(p.startswith((".", "_")) for p in file.parts)
    )
    if not names:
        problem = f"is a folder without Parquet or Arrow files ({', '.join(KINDS)})"
        raise UnreadablePart(root, "", problem, "name the file itself if it has another format")
    return [KINDS[name.suffix.lower()](root / name, _keys(name), open_file) for name in names]


def _keys(name: Path) -> dict[str, str]:
    """The columns in the names of folders.

    Examples
    --------
    >>> _keys(Path("year=2025/month=7/part-0.parquet"))
    {'year': '2025', 'month': '7'}
    """
    pairs = (part.partition("=") for part in name.parts[:-1])
    return {key: value for key, sign, value in pairs if sign and key}
