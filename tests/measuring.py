"""How much memory a block takes."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


class Peak:
    """The highest number of bytes that a block held."""

    n_bytes = 0


_pools: list[pa.MemoryPool] = []  # kept: what they have given out may live longer than a test


@contextmanager
def measured() -> Iterator[Peak]:
    """What pyarrow, NumPy and Python take at most during the block."""
    peak, usual = Peak(), pa.default_memory_pool()
    own = pa.proxy_memory_pool(pa.system_memory_pool())
    _pools.append(own)
    pa.set_memory_pool(own)
    tracemalloc.start()
    try:
        yield peak
    finally:
        peak.n_bytes = own.max_memory() + tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        pa.set_memory_pool(usual)
