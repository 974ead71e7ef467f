"""Long LAPACK calls that Ctrl-C need not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread, current_thread, main_thread
from typing import Any

from thresher.validation import FloatArray

LARGE = 700  # an eigendecomposition of this size takes a noticeable part of a second


def run_interruptibly(function: Callable[[FloatArray], Any], matrix: FloatArray) -> Any:
    """The function's value; an interrupt is answered while it is still being computed.

    LAPACK lets no signal through. A large matrix is therefore handed to a thread that dies with
    the process, while the main thread waits in short naps.
    """
    if matrix.shape[0] < LARGE or current_thread() is not main_thread():
        return function(matrix)
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(function(matrix))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=work, daemon=True).start()
    while not wait([future], timeout=0.1).done:
        pass
    return future.result()
