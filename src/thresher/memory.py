"""Memory is estimated before it is taken."""

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from thresher.errors import NotEnoughMemory

MEMINFO = Path("/proc/meminfo")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")  # one line for each hierarchy: number:controllers:path
OWN_SIZE = Path("/proc/self/statm")  # pages of address space come first
M_MMAP_THRESHOLD = -3  # as glibc numbers it


NO_LIMIT = 2**60  # which the first version of control groups writes as a number near 2⁶³


@dataclass(frozen=True)
class _Group:
    """A control group with a limit: of a container, say, or of a user's session."""

    limit: int
    usage: Path
    statistics: Path
    cache: str  # the line of the statistics with what the system can take back at any time

    @classmethod
    def first(cls, folder: Path) -> Self:
        """The group in the first version of control groups."""
        limit = int((folder / "memory.limit_in_bytes").read_text(encoding="ascii"))
        statistics = folder / "memory.stat"
        return cls(limit, folder / "memory.usage_in_bytes", statistics, "total_inactive_file")

    @classmethod
    def second(cls, folder: Path) -> Self:
        """The group in the second version; one without a limit is a ValueError."""
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        return cls(limit, folder / "memory.current", folder / "memory.stat", "inactive_file")

    def left(self) -> int:
        """Bytes that the processes of the group can still take."""
        usage = int(self.usage.read_text(encoding="ascii"))
        statistics = self.statistics.read_text(encoding="ascii").split()
        cache = dict(zip(statistics[::2], statistics[1::2])).get(self.cache, "0")
        return self.limit - usage + int(cache)


def available_memory() -> int:
    """Bytes that can be taken without swapping, and without exceeding a limit of this process.

    Containers and `ulimit -v` set such limits.
    """
    left = [_free_in_system(), *_left_in_address_space()]
    for group in _limited_groups(OWN_GROUPS, CONTROL_GROUPS):
        with suppress(OSError, ValueError):
            left.append(group.left())
    return max(0, min(left))


def _free_in_system() -> int:
    """Linux says so itself, in /proc or, where that is not mounted, as free pages.

    Elsewhere psutil is asked, which is a dependency there.
    """
    with suppress(OSError):
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if sys.platform != "linux":
        import psutil

        return int(psutil.virtual_memory().available)
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@functools.cache  # memory is asked for often, and limits hardly ever change
def _limited_groups(own: Path, root: Path) -> tuple[_Group, ...]:
    """The control groups around this process that have a limit, in either version."""
    groups: list[_Group] = []
    with suppress(OSError, ValueError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                groups += _around(root, path, _Group.second)
            elif "memory" in controllers.split(","):
                groups += _around(root / "memory", path, _Group.first)
    return tuple(group for group in groups if group.limit < NO_LIMIT)


def _around(root: Path, path: str, read: Callable[[Path], _Group]) -> Iterator[_Group]:
    """The group at that path and those around it.

    Inside a container this may be a path of the host, and then only its root exists.
    """
    own = root / path.lstrip("/")
    for folder in (own, *own.parents[: len(own.parts) - len(root.parts)]):
        with suppress(OSError, ValueError):
            yield read(folder)


def _left_in_address_space() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    with suppress(OSError):
        n_pages = int(OWN_SIZE.read_text(encoding="ascii").split()[0])
        yield limit - n_pages * os.sysconf("SC_PAGE_SIZE")


def require_memory(n_bytes: int, purpose: str) -> None:
    """Raise `NotEnoughMemory` if the estimate exceeds what is available.

    Examples
    --------
    >>> require_memory(10**18, "a matrix of inner products")
    Traceback (most recent call last):
        ...
    thresher.errors.NotEnoughMemory: a matrix of inner products needs about 1e+09 GB...
    """
    available = available_memory()
    if n_bytes > available:
        raise NotEnoughMemory(purpose, n_bytes, available)


def return_free_memory() -> None:
    """Give unused memory back to the system, where the C library can.

    glibc keeps what arrays of up to 32 MB leave behind; after a fit to a large table that is a
    good part of the table's own size, which the next fit would need elsewhere.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def return_arrays_at_once() -> None:
    """Let this process give every array above 4 MB back to the system when it is freed.

    glibc raises that limit to 32 MB by itself, and keeps what lies below for later. For programs,
    not for libraries: it affects the whole process.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 4 * 2**20)
