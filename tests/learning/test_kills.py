"""Ask, tell, save, kill, restore, by two processes on one file: nothing acknowledged is lost."""

import os
import select
import signal
import struct
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from runs import Table
from thresher.files import UNFINISHED
from thresher.learning import ActiveLearner, PracticalSchedule
from thresher.learning.journal import load_journal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")

TABLE = Table(n_rows=120, n_features=6, sparsity=2)
SCHEDULE = PracticalSchedule(min_unlabeled=60, max_unlabeled=60)
N_TOLD = 2  # labels in a sequence
LONGEST = 60.0  # seconds of a sequence: far more than one takes, also on a busy machine


def continue_run(path: Path, seed: int) -> bytes:
    """One sequence: restore, ask, tell, save. The ids that are saved when it returns."""
    learner = ActiveLearner.restore(path, TABLE.X)
    question = learner.ask()
    if question is None:
        return b"end"
    ids = np.random.default_rng(seed).permutation(question.ids)[:N_TOLD]
    learner.tell(TABLE.y[ids], ids=ids)
    learner.save(path)
    return struct.pack(f"{ids.size}q", *ids.tolist())


@dataclass
class Child:
    """A process that makes one sequence and says when its labels are saved."""

    path: Path
    seed: int
    pid: int = field(init=False)
    acknowledged: int = field(init=False)

    def __post_init__(self) -> None:
        self.acknowledged, said = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads, of which the child uses none
            self.pid = os.fork()
        if self.pid:
            os.close(said)
            return
        status = 1
        try:
            os.write(said, continue_run(self.path, self.seed))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def end(self, kill_at: float) -> bytes:
        """What it has acknowledged before it ended or was killed."""
        said = self._said(kill_at - time.monotonic())
        if said is None:
            os.kill(self.pid, signal.SIGKILL)
            said = self._said(LONGEST) or b""
        os.close(self.acknowledged)
        _, status = os.waitpid(self.pid, 0)
        assert status in (0, signal.SIGKILL), "a sequence failed"
        return said

    def _said(self, seconds: float) -> bytes | None:
        ready, _, _ = select.select([self.acknowledged], [], [], max(0.0, seconds))
        return os.read(self.acknowledged, 1000) if ready else None


@dataclass
class Counts:
    """How the sequences ended."""

    acknowledged: int = 0
    killed: int = 0
    finished_runs: int = 0


def two_at_a_time(path: Path, n_pairs: int) -> Counts:
    """Make pairs of sequences, two of three pairs killed at random times; check after each."""
    rng = np.random.default_rng(0)
    counts, acknowledged, usual = Counts(), set[int](), 0.1
    for number in range(n_pairs):
        if not path.exists():
            options = {"sparsity": 2, "noise_rate": 0.0, "label_budget": 40, "schedule": SCHEDULE}
            ActiveLearner(TABLE.X, random_state=number, **options).save(path)
            acknowledged = set()
        start = time.monotonic()
        children = [Child(path, 2 * number + i) for i in range(2)]
        if number % 3:
            said = [child.end(start + usual * rng.uniform(0.2, 1.5)) for child in children]
        else:
            said = [child.end(start + LONGEST) for child in children]
            usual = time.monotonic() - start
        for ids in said:
            counts.killed += not ids
            if ids and ids != b"end":
                counts.acknowledged += 1
                acknowledged |= set(struct.unpack(f"{len(ids) // 8}q", ids))
        assert acknowledged <= load_journal(path).journal.labels.keys()
        if b"end" in said:
            counts.finished_runs += 1
            path.unlink()
    return counts


@pytest.mark.parametrize("n_sequences", [6, pytest.param(1000, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost(tmp_path: Path, n_sequences: int) -> None:
    path = tmp_path / "run.npz"
    counts = two_at_a_time(path, n_sequences // 2)
    assert counts.acknowledged >= n_sequences / 4
    if n_sequences >= 1000:
        assert counts.killed >= n_sequences / 20
        assert counts.finished_runs >= 3
    others = [file.name for file in tmp_path.iterdir() if file != path]
    assert all(name.startswith(".thresher-") and name.endswith(UNFINISHED) for name in others)
