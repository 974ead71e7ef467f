"""Changed files and command lines give what whole ones give, or an error of ours.

No crash, no hang, and no more memory than twice what was estimated.
"""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from fuzz.command_line import change_arguments, is_whole
from fuzz.mutations import BYTES, change_cell, change_json
from fuzz.targets import TARGETS, Target
from measuring import measured
from thresher import memory
from thresher.errors import ThresherError

SECONDS = 20  # of one case, which takes milliseconds
FREE = 200 * 10**6  # bytes
NOT_ESTIMATED = 20 * 10**6  # bytes that a case may take besides: small files, text, objects
N_SLOW = 1100  # cases of each target


class StillRunning(BaseException):
    """Not an `Exception`: the command line prints those, and goes on."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `StillRunning` in a block that takes longer."""

    def stop(_: int, __: FrameType | None) -> None:
        raise StillRunning(f"after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    other_limit = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *other_limit)


@pytest.fixture
def estimates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of bytes that were asked for and granted, with little free memory."""
    granted: list[int] = []
    ask = memory.require_memory

    def note(n_bytes: int, purpose: str) -> None:
        ask(n_bytes, purpose)
        granted.append(n_bytes)

    monkeypatch.setattr(memory, "available_memory", lambda: FREE)
    for module in list(sys.modules.values()):
        if getattr(module, "require_memory", None) is ask:
            monkeypatch.setattr(module, "require_memory", note)
    return granted


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


@pytest.mark.filterwarnings("always::UserWarning")  # which the command line prints
@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize("n_cases", [None, pytest.param(N_SLOW, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_changed_file_is_read_or_refused(
    target: Target, n_cases: int | None, tmp_path: Path, estimates: list[int]
) -> None:
    n_refused, n_cases = 0, n_cases or target.n_fast
    for seed, path in cases(target, n_cases, tmp_path):
        estimates.clear()
        try:
            with measured() as peak, at_most(SECONDS):
                target.read(path)
        except ThresherError as error:
            n_refused += 1
            assert str(error).isprintable(), f"case {seed}"
        except BaseException as error:
            error.add_note(f"case {seed} of {target.name}")
            raise
        assert peak.n_bytes < 2 * max(estimates, default=0) + NOT_ESTIMATED, f"case {seed}"
    assert 0 < n_refused < n_cases


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_whole_file_is_read(target: Target, tmp_path: Path) -> None:
    target.write(tmp_path / target.name)
    target.read(tmp_path / target.name)


def test_every_mutation_changes_something() -> None:
    rng = np.random.default_rng(0)
    whole = b'{"a": [1, 2, 3], "b": "text, of cells"}'
    for mutation in (*BYTES, change_cell, change_json):
        assert sum(mutation(whole, rng) != whole for _ in range(20)) > 10


def test_command_lines_are_changed() -> None:
    rng = np.random.default_rng(0)
    words = ["learn", "table.csv", "--sparsity", "2"]
    changed = [
        json.loads(change_arguments(json.dumps([" ".join(words)]).encode(), rng)) for _ in range(20)
    ]
    assert sum(line != words for line in changed) > 15


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", b'{"a": [1, 2'),
        ("w.csv", b"id,weight\n1,0.5\n2,0."),
        ("w.csv", b"id,weight\n1,0.5\n2\n"),
        ("r.html", b"<html><body><p>"),
        ("f.png", b"\x89PNG\r\n\x1a\n"),
        (".thresher-0.unfinished", b"{}"),
    ],
)
def test_a_part_of_a_file_is_not_whole(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert not is_whole(tmp_path / name)


def test_a_block_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(StillRunning), at_most(0.05):
        signal.pause()
