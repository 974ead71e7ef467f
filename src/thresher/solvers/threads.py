"""BLAS threads: many for a few long products, one for many short ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context, or a decorator, in which BLAS uses one thread.

    For loops of short products: a second thread gains little there, and on a machine that is busy
    with something else it makes them several times slower (threads that wait in a spin loop).

    The number belongs to the process. Where several threads of Python are in the context at once,
    the first to enter saves it, and the last to leave puts it back.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """The limit of this process, and how many threads of Python rely on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
                _let_go()
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limiter.restore_original_limits()
                _let_go()


def _let_go() -> None:
    """Let any thread set the number next.

    Recent versions of threadpoolctl ignore all threads but the one that set it last, until that one
    leaves a context.
    """
    with _controller().limit(limits=None):
        pass


_limit = _Limit()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
