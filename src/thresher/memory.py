"""Memory is estimated before it is taken."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from thresher.errors import NotEnoughMemory

M_MMAP_THRESHOLD = -3  # as glibc numbers it


def available_memory() -> int:
    """Bytes that can be taken without swapping, as far as the system tells; else a terabyte."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 2**40


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
    """Give memory that is not used any more back to the system, where the C library can.

    glibc keeps what arrays of up to 32 MB leave behind; after a fit to a large table that is a
    good part of the table's own size, which the next fit would need elsewhere.

    Examples
    --------
    >>> return_free_memory()
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def return_arrays_at_once() -> None:
    """Let this process give every array above 4 MB back to the system when it is freed.

    glibc raises that limit to 32 MB by itself, and keeps what lies below for later. For programs,
    not for libraries: it concerns the whole process.

    Examples
    --------
    >>> return_arrays_at_once()
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 4 * 2**20)
