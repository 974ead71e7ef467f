"""What the tests of the arena share."""

from __future__ import annotations

from collections.abc import Callable

import psutil
import pytest

from experiments.arena.arenas import workers


@pytest.fixture
def new_workers() -> Callable[[], list[psutil.Process]]:
    """The arena's processes below this one that were not there before the test."""
    old = workers()
    return lambda: [worker for worker in workers() if worker not in old]
