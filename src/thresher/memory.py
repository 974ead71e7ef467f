"""Memory is estimated before it is taken."""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from thresher.errors import NotEnoughMemory

MEMINFO = Path("/proc/meminfo")
M_MMAP_THRESHOLD = -3  # as glibc numbers it


def available_memory() -> int:
    """Bytes that can be taken without swapping.

    Linux says so itself, in /proc or, where that is not mounted, as free pages; elsewhere psutil
    is asked, which is a dependency there.
    """
    with suppress(OSError):
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if sys.platform != "linux":
        import psutil

        return int(psutil.virtual_memory().available)
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
