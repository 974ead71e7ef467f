"""Rows that are larger than the memory of a GPU: worked on there block by block, from the host."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.arrays import Array, like, namespace_of

BLOCK_BYTES = 2**30


class StreamedRows:
    """Rows in the memory of the host, copied to a device one block after the other.

    While one is worked on, the next is copied. `remove_outliers` takes them like an array of the
    device, and copies every row once for each round and three times more; rows that fit there are
    better copied once, by the library itself.

    Parameters
    ----------
    rows : (n, d) NumPy array; one that is mapped to a file will do
    example : any array on the device, of the library to compute with
    block_bytes : how much is copied at once; twice as much is needed on the device

    Examples
    --------
    >>> import array_api_strict
    >>> rows = StreamedRows(np.eye(3), array_api_strict.zeros(1), block_bytes=48)
    >>> [block.shape for _, block in rows.blocks()]
    [(2, 3), (1, 3)]
    """

    is_foreign = True
    ndim = 2

    def __init__(self, rows: Any, example: Array, *, block_bytes: int = BLOCK_BYTES) -> None:
        self.host, self.example = rows, example
        self.block_rows = max(1, block_bytes // (8 * rows.shape[1]))

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.host.shape
        return n, d

    @property
    def dtype(self) -> Any:
        return namespace_of(self.example).float64

    @property
    def device(self) -> Any:
        return self.example.device

    def __truediv__(self, scale: float) -> "StreamedRows":
        return StreamedRows(self.host / scale, self.example, block_bytes=self._block_bytes)

    def __matmul__(self, columns: Array) -> Array:
        return namespace_of(self).concat([block @ columns for _, block in self.blocks()])

    def take(self, places: NDArray[np.intp]) -> "StreamedRows":
        """The rows in these places."""
        return StreamedRows(self.host[places], self.example, block_bytes=self._block_bytes)

    @property
    def _block_bytes(self) -> int:
        return 8 * self.block_rows * self.host.shape[1]

    def blocks(self, places: NDArray[np.intp] | None = None) -> Iterator[tuple[slice, Array]]:
        """Consecutive rows, or those in these places, on the device, and which they are."""
        n, step = self.host.shape[0] if places is None else places.size, self.block_rows
        parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
        with ThreadPoolExecutor(max_workers=1) as copier:
            coming = [copier.submit(self._copy, parts[0], places)] if parts else []
            for part, following in zip(parts, [*parts[1:], None]):
                block = coming.pop().result()
                if following is not None:
                    coming.append(copier.submit(self._copy, following, places))
                yield part, block
                _wait(self.example)  # or its memory would be written to while it is still read

    def _copy(self, part: slice, places: NDArray[np.intp] | None) -> Array:
        rows = self.host[part if places is None else places[part]]
        with _own_stream(self.example):
            block = like(np.asarray(rows, dtype=np.float64), self.example)
            _wait(self.example)
        return block


def _own_stream(example: Array) -> AbstractContextManager[Any]:
    """A stream of a GPU in which copies need not wait for products."""
    if getattr(example, "is_cuda", False):
        import torch

        return torch.cuda.stream(torch.cuda.Stream(example.device))
    if hasattr(example, "get"):
        import cupy

        return cupy.cuda.Stream(non_blocking=True)
    return nullcontext()


def _wait(example: Array) -> None:
    """Until what was asked of the device in the current stream is done."""
    if getattr(example, "is_cuda", False):
        import torch

        torch.cuda.current_stream(example.device).synchronize()
    elif hasattr(example, "get"):
        import cupy

        cupy.cuda.get_current_stream().synchronize()
