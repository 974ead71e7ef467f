"""BLAS threads: many for a few long products, one for many short ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context, or a decorator, in which BLAS uses one thread.

    For loops of short products: a second thread gains little there, and on a machine that is busy
    with something else it makes them several times slower (threads that wait in a spin loop).
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
