"""Memory where an array is: that of the host, or of a GPU."""

from thresher.arrays import Array, is_foreign
from thresher.errors import NotEnoughMemory
from thresher.memory import require_memory


def require_memory_beside(array: Array, n_bytes: int, purpose: str) -> None:
    """Raise `NotEnoughMemory` if an estimate exceeds what is free where the array is.

    Examples
    --------
    >>> import numpy as np
    >>> require_memory_beside(np.zeros(3), 10**18, "a matrix of inner products")
    Traceback (most recent call last):
        ...
    thresher.errors.NotEnoughMemory: a matrix of inner products needs about 1e+09 GB of memory...
    """
    if not is_foreign(array):
        require_memory(n_bytes, purpose)
        return
    free = free_on_device(array)
    if free is not None and n_bytes > free:
        raise NotEnoughMemory(purpose, n_bytes, free, " on the GPU")


def free_on_device(array: Array) -> int | None:
    """Bytes that can still be taken on the device of a foreign array; None if it does not say.

    What a library took from the device and does not use counts as free.
    """
    array = getattr(array, "example", array)  # of streamed rows
    if getattr(array, "is_cuda", False):
        import torch

        unused = torch.cuda.memory_reserved(array.device)
        unused -= torch.cuda.memory_allocated(array.device)
        return int(torch.cuda.mem_get_info(array.device)[0] + unused)
    if hasattr(array, "get"):
        import cupy

        with array.device:
            unused = cupy.get_default_memory_pool().free_bytes()
            return int(cupy.cuda.runtime.memGetInfo()[0] + unused)
    return None
