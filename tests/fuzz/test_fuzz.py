"""Changed files give what whole ones give, or an error of ours: no crash, no hang, no bomb."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from fuzz.mutations import BYTES, change_cell, change_json
from fuzz.targets import TARGETS, Target
from measuring import measured
from thresher import memory
from thresher.errors import ThresherError

SECONDS = 20  # of one case, which takes milliseconds
FREE = 200 * 10**6  # bytes
N_SLOW = 1100  # cases of each target


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in a block that takes longer."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"still running after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    other_limit = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *other_limit)


def cases(target: Target, n_cases: int, folder: Path) -> Iterator[tuple[int, Path]]:
    """Changed files with their seeds, from which each can be made again."""
    path = folder / target.name
    target.write(path)
    whole = path.read_bytes()
    for seed in range(n_cases):
        rng = np.random.default_rng([seed, len(target.name)])
        mutation = target.mutations[int(rng.integers(len(target.mutations)))]
        path.write_bytes(mutation(whole, rng))
        yield seed, path


@pytest.mark.parametrize("n_cases", [None, pytest.param(N_SLOW, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_changed_file_is_read_or_refused(
    target: Target, n_cases: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: FREE)
    n_refused, n_cases = 0, n_cases or target.n_fast
    with measured() as peak:
        for seed, path in cases(target, n_cases, tmp_path):
            try:
                with at_most(SECONDS):
                    target.read(path)
            except ThresherError as error:
                n_refused += 1
                assert str(error).isprintable(), f"case {seed}"
            except Exception as error:
                error.add_note(f"case {seed} of {target.name}")
                raise
    assert 0 < n_refused < n_cases
    assert peak.n_bytes < 2 * FREE


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_whole_file_is_read(target: Target, tmp_path: Path) -> None:
    target.write(tmp_path / target.name)
    target.read(tmp_path / target.name)


def test_every_mutation_changes_something() -> None:
    rng = np.random.default_rng(0)
    whole = b'{"a": [1, 2, 3], "b": "text, of cells"}'
    for mutation in (*BYTES, change_cell, change_json):
        assert sum(mutation(whole, rng) != whole for _ in range(20)) > 10


def test_a_block_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(TimeoutError), at_most(0.05):
        signal.pause()
