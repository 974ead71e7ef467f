"""BLAS threads: many for a few long products, one for many short ones."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread.

    For loops of short products: a second thread gains little there, and on a machine that is busy
    with something else it makes them several times slower (threads that wait in a spin loop).
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
