"""What an Arrow file says about its batches, read before any of them is unpacked.

pyarrow does not tell how large a batch is until it has it in memory, and a compressed one can be
thousands of times larger than the file. Here only the headers are read: messages in the layout of
FlatBuffers, whose field numbers are those of Arrow's `Message.fbs` and `File.fbs`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from thresher.table_files.table import Refusal

MAGIC = b"ARROW1"
CONTINUES = b"\xff\xff\xff\xff"  # before the length of a message, since version 0.15
DICTIONARY, ROWS = 2, 3  # kinds of messages


@dataclass(frozen=True)
class ArrowSizes:
    """The rows of a file, and the memory that its largest batch and all dictionaries take."""

    n_rows: int
    n_bytes: int


def arrow_sizes(path: Path) -> ArrowSizes:
    """The sizes of a file in the random access or in the streaming format.

    Examples
    --------
    >>> import tempfile, pyarrow.feather
    >>> table = pyarrow.table({"a": [1, 2, 3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.feather.write_feather(table, f"{folder}/t.feather", compression="uncompressed")
    ...     arrow_sizes(Path(folder, "t.feather"))
    ArrowSizes(n_rows=3, n_bytes=24)
    """
    n_rows = n_bytes_of_dictionaries = largest = 0
    try:
        with path.open("rb", buffering=0) as file:
            for message, body in _messages(file):
                kind, n_body = message.integer(1, "<B"), message.integer(3, "<q")
                if kind == DICTIONARY:
                    batch = message.table(2).table(1)
                    n_bytes_of_dictionaries += _unpacked(file, batch, body, n_body)
                elif kind == ROWS:
                    batch = message.table(2)
                    n_rows += max(0, batch.integer(0, "<q"))
                    largest = max(largest, _unpacked(file, batch, body, n_body))
    except (struct.error, ValueError, OSError, OverflowError) as error:
        raise Refusal(
            f"is damaged, truncated or not in the format of its extension ({error})",
            advice="write or copy it again",
        ) from error
    return ArrowSizes(n_rows, n_bytes_of_dictionaries + largest)


class _Table:
    """A table of FlatBuffers: fields by their numbers; any of them may be absent."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place

    @classmethod
    def root(cls, data: bytes) -> Self:
        """The table that a buffer holds."""
        return cls(data, *struct.unpack_from("<I", data, 0))

    def integer(self, number: int, form: str) -> int:
        """The value of a field, 0 if it is absent."""
        place = self._field(number)
        return 0 if place is None else self._at(form, place)

    def table(self, number: int) -> Self:
        """The table in a field."""
        place = self._field(number)
        if place is None:
            raise ValueError("a header has no content")
        return type(self)(self._data, place + self._at("<I", place))

    def structs(self, number: int, form: str) -> list[tuple[int, ...]]:
        """The structs in the vector of a field."""
        place = self._field(number)
        if place is None:
            return []
        start = place + self._at("<I", place)
        n_bytes = struct.calcsize(form) * self._at("<I", start)
        return list(struct.iter_unpack(form, self._data[start + 4 : start + 4 + n_bytes]))

    def has(self, number: int) -> bool:
        """Whether a field is there."""
        return self._field(number) is not None

    def _field(self, number: int) -> int | None:
        layout = self._place - self._at("<i", self._place)
        if 4 + 2 * number >= self._at("<H", layout):
            return None
        offset = self._at("<H", layout + 4 + 2 * number)
        return self._place + offset if offset else None

    def _at(self, form: str, place: int) -> int:
        return int(struct.unpack_from(form, self._data, place)[0])


def _messages(file: IO[bytes]) -> Iterator[tuple[_Table, int]]:
    """The headers of all messages, each with the place where its body begins."""
    end = file.seek(0, 2)
    file.seek(0)
    if file.read(len(MAGIC)) == MAGIC:
        for place in _listed_places(file, end):
            if (message := _message(file, place, end)) is None:
                raise ValueError("a batch is missing")
            yield message
        return
    place = 0
    while (message := _message(file, place, end)) is not None:
        yield message
        place = message[1] + message[0].integer(3, "<q")


def _listed_places(file: IO[bytes], end: int) -> list[int]:
    """Where the messages begin that the end of a file in the random access format lists."""
    file.seek(end - len(MAGIC) - 4)
    (n_bytes,) = struct.unpack("<i", file.read(4))
    if not 0 < n_bytes < end - len(MAGIC) - 4:
        raise ValueError("its list of batches is missing")
    file.seek(end - len(MAGIC) - 4 - n_bytes)
    footer = _Table.root(file.read(n_bytes))
    blocks = [*footer.structs(2, "<qiiq"), *footer.structs(3, "<qiiq")]  # dictionaries, batches
    for place, n_header, _, n_body in blocks:
        if min(place, n_header, n_body) < 0 or place + n_header + n_body > end:
            raise ValueError("a batch lies outside of the file")
    return [place for place, *_ in blocks]


def _message(file: IO[bytes], place: int, end: int) -> tuple[_Table, int] | None:
    """The header that begins there and where its body begins; None at the end of a stream."""
    file.seek(place)
    prefix = file.read(4)
    if prefix == CONTINUES:
        prefix = file.read(4)
    if len(prefix) < 4 or prefix == bytes(4):
        return None
    (n_bytes,) = struct.unpack("<i", prefix)
    body = file.tell() + n_bytes
    if not 0 <= n_bytes <= end or body > end:
        raise ValueError("a header is longer than the file")
    message = _Table.root(file.read(n_bytes))
    if not 0 <= message.integer(3, "<q") <= end - body:
        raise ValueError("a batch is longer than the file")
    return message, body


def _unpacked(file: IO[bytes], batch: _Table, body: int, n_body: int) -> int:
    """The bytes that a batch takes in memory; a compressed buffer begins with its full length."""
    total = 0
    is_compressed = batch.has(3)
    for place, n_bytes in batch.structs(2, "<qq"):
        if min(place, n_bytes) < 0 or place + n_bytes > n_body:
            raise ValueError("a part of a batch lies outside of it")
        n_unpacked = 0
        if is_compressed and n_bytes:
            file.seek(body + place)
            (n_unpacked,) = struct.unpack("<q", file.read(8))  # -1 if this one is not compressed
        total += max(n_bytes, n_unpacked)
    return total
