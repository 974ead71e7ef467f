"""The number of BLAS threads is what it was, however many threads of Python changed it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from thresher.solvers import minimize_hinge
from thresher.solvers.threads import one_blas_thread


def in_threads(*targets: Callable[[], object]) -> None:
    """Call them at the same time, and wait until all are done."""
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def blas_threads() -> set[int]:
    """The numbers of threads of the BLAS libraries whose number belongs to the process."""
    pools = [pool for pool in threadpool_info() if pool.get("threading_layer") == "pthreads"]
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_blas_threads() -> Iterator[None]:
    """Set from threads that end: they keep no others from setting the number."""
    if len(blas_threads()) != 1:
        pytest.skip("NumPy and SciPy have no BLAS with threads of its own")
    (before,) = blas_threads()
    in_threads(lambda: threadpool_limits(3, "blas"))
    yield
    in_threads(lambda: threadpool_limits(before, "blas"))


def test_the_limit_holds_until_the_last_of_several_threads_leaves() -> None:
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    seen: list[set[int]] = []

    def first() -> None:
        with one_blas_thread():
            first_is_in.set()
            second_is_in.wait(10)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(10)
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(10)
            seen.append(blas_threads())

    in_threads(first, second)
    assert seen == [{1}]
    assert blas_threads() == {3}


def test_an_error_inside_puts_the_number_back() -> None:
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {3}


def test_solves_from_four_threads_leave_the_number_as_it_was() -> None:
    X = np.random.default_rng(0).standard_normal((200, 20))

    def solve() -> None:
        for _ in range(3):
            minimize_hinge(
                X, np.sign(X[:, 0]), center=np.zeros(20), l2_radius=1, l1_radius=2, hinge_scale=0.5
            )

    in_threads(*[solve] * 4)
    assert blas_threads() == {3}
