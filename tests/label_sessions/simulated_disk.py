"""A disk in memory that loses what was not synced, in every way in which a disk may lose it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path


class PowerCut(BaseException):
    """The power fails before an operation; no code of ours may catch it."""


@dataclass
class Node:
    """A file: what is on the disk for certain, and what was done to it since."""

    synced: bytes = b""
    pending: list[bytes | int] = field(default_factory=list)  # bytes to append, or a new length

    @property
    def content(self) -> bytes:
        return after(self.synced, self.pending)

    def remains(self) -> Iterator[bytes]:
        """What can be there after a power cut: some operations happened, the last one in part."""
        for n_done in range(len(self.pending) + 1):
            before = after(self.synced, self.pending[:n_done])
            yield before
            if n_done < len(self.pending) and isinstance(last := self.pending[n_done], bytes):
                for length in {1, len(last) // 2, len(last) - 1}:
                    yield before + last[:length]
                yield before + last[: len(last) // 2] + b"\0" * (len(last) - len(last) // 2)
                yield before + b"\0" * len(last)


def after(content: bytes, operations: list[bytes | int]) -> bytes:
    for one in operations:
        content = content + one if isinstance(one, bytes) else content[:one]
    return content


class SimulatedFile:
    def __init__(self, disk: SimulatedDisk, node: Node) -> None:
        self._disk, self._node = disk, node
        disk.n_open += 1

    def write(self, data: bytes) -> None:
        self._disk.step()
        room = self._disk.room
        if room is not None and len(data) > room:
            self._node.pending.append(data[:room])
            self._disk.room = 0
            raise OSError(28, "No space left on device")
        if room is not None:
            self._disk.room = room - len(data)
        self._node.pending.append(data)

    def sync(self) -> None:
        self._disk.step()
        if self._disk.sync_fails:
            self._node.pending.clear()  # as Linux does: the pages are dropped, and marked clean
            raise OSError(5, "Input/output error")
        self._node.synced, self._node.pending = self._node.content, []

    def truncate(self, n_bytes: int) -> None:
        self._disk.step()
        if self._disk.room is not None:
            self._disk.room += len(self._node.content) - n_bytes
        self._node.pending.append(n_bytes)

    def close(self) -> None:
        self._disk.n_open -= 1


class SimulatedDisk:
    """A disk whose power fails before operation `cut_at`, whose space ends, or whose sync fails."""

    file_type = SimulatedFile

    def __init__(self, cut_at: int | None = None, room: int | None = None) -> None:
        self.names: dict[Path, Node] = {}
        self.synced_names: dict[Path, Node] = {}
        self.n_steps, self.cut_at, self.room, self.sync_fails = 0, cut_at, room, False
        self.n_open = 0

    def step(self) -> None:
        self.n_steps += 1
        if self.n_steps == self.cut_at:
            raise PowerCut

    def read(self, path: Path) -> bytes:
        if path not in self.names:
            raise FileNotFoundError(2, "No such file", str(path))
        return self.names[path].content

    def open(self, path: Path, *, is_new: bool) -> SimulatedFile:
        self.step()
        if is_new and path in self.names:
            raise FileExistsError(17, "File exists", str(path))
        if not is_new and path not in self.names:
            raise FileNotFoundError(2, "No such file", str(path))
        return self.file_type(self, self.names.setdefault(path, Node()))

    def rename(self, source: Path, target: Path) -> None:
        self.step()
        self.names[target] = self.names.pop(source)

    def sync_folder(self, folder: Path) -> None:  # noqa: ARG002
        self.step()
        self.synced_names = dict(self.names)

    def after_power_cuts(self) -> Iterator[SimulatedDisk]:
        """Every disk that can be found when the power is back."""
        for names in (self.synced_names, self.names):
            contents = [list(dict.fromkeys(node.remains())) for node in names.values()]
            for found in itertools.product(*contents):
                disk = type(self)()
                disk.names = {name: Node(content) for name, content in zip(names, found)}
                disk.synced_names = dict(disk.names)
                yield deepcopy(disk)
