"""Saved runs: interrupted anywhere and restored, they give the same bits and pay nothing twice."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runs import SMALL, Table, active, finish, oracle
from thresher import memory
from thresher.errors import BudgetExceeded, DamagedFile, LearningStopped, NotEnoughMemory
from thresher.learning import (
    ActiveLearner,
    PaperConstants,
    PracticalSchedule,
    Task,
    TheorySchedule,
    learn_passively,
)
from thresher.learning import journal as journal_module
from thresher.learning.journal import Journal, RecordedDraw, checksum, load_journal, save_journal
from thresher.oracles import ArrayPool, Draw, StreamPool
from thresher.simulate import InBandMass

TABLE = Table()
SCHEDULE = replace(SMALL, min_unlabeled=150, max_unlabeled=150)
N_PARTS = 3  # each question is answered in so many parts


def begin(pool: Any, **changes: Any) -> ActiveLearner:
    """A run of about a dozen parts."""
    options = {"label_budget": 54, "schedule": SCHEDULE, "noise_rate": 0.05}
    return active(pool, **{**options, **changes})


def tell_part(learner: ActiveLearner, reveal: Callable[[Any], Any]) -> bool:
    """Answer a part of the question; whether there was one."""
    question = learner.ask()
    if question is None:
        return False
    n_part = -(-question.ids.size // N_PARTS) if question.ids.size > N_PARTS else None
    learner.tell(reveal(question.ids[:n_part]), ids=question.ids[:n_part])
    return True


def run_interrupted(learner: ActiveLearner, at: set[int], path: Path, **world: Any) -> Any:
    """The finished learner, saved and restored after the parts whose numbers are given."""
    n_parts = 0
    while tell_part(learner, world["reveal"]):
        n_parts += 1
        if n_parts in at:
            learner.save(path)
            learner = ActiveLearner.restore(path, world["pool"]())
    return learner, n_parts


def bits(learner: ActiveLearner) -> list[bytes]:
    """The halfspaces of all phases, bit by bit."""
    return [outcome.halfspace.tobytes() for outcome in learner.phases_]


def table_run(at: set[int], path: Path, form: str) -> tuple[ActiveLearner, int, list[int]]:
    """A run on a table, restored each time with a new pool."""
    table = Table()
    rows = {"dense": table.X, "csr": table.csr, "fortran": np.asfortranarray(table.X)}[form]
    return *run_interrupted(
        begin(rows), at, path, reveal=table.reveal, pool=lambda: rows
    ), table.asked


def oracle_run(at: set[int], path: Path) -> tuple[ActiveLearner, int, list[int]]:
    """A run on an oracle that lives on while the learner is restored."""
    source = oracle(20, 3, noise_rate=0.05, adversary=InBandMass(3.0))
    asked: list[int] = []

    def reveal(ids: Any) -> Any:
        asked.extend(ids.tolist())
        return source.reveal(ids)

    return *run_interrupted(begin(source), at, path, reveal=reveal, pool=lambda: source), asked


WORLDS: dict[str, Callable[[set[int], Path], tuple[ActiveLearner, int, list[int]]]] = {
    "dense": lambda at, path: table_run(at, path, "dense"),
    "csr": lambda at, path: table_run(at, path, "csr"),
    "fortran": lambda at, path: table_run(at, path, "fortran"),
    "oracle": oracle_run,
}


# Interruptions


@dataclass(frozen=True)
class World:
    """A world with its undisturbed run, and one run for each place of an interruption."""

    undisturbed: tuple[ActiveLearner, int, list[int]]
    interrupted: dict[int, tuple[ActiveLearner, int, list[int]]]


KINDS = ("dense", "csr", "oracle")


@pytest.fixture(
    scope="module",
    params=[
        *((kind, 4) for kind in KINDS),
        *(pytest.param((kind, 1), marks=pytest.mark.slow) for kind in KINDS),
    ],
    ids=str,
)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Every run of a world, or every fourth."""
    kind, step = request.param
    run, path = WORLDS[kind], tmp_path_factory.mktemp("runs") / "run.npz"
    undisturbed = run(set(), path)
    return World(undisturbed, {at: run({at}, path) for at in range(1, undisturbed[1] + 1, step)})


def test_a_run_has_many_places_to_be_interrupted(world: World) -> None:
    assert world.undisturbed[1] >= 9
    assert len(world.interrupted) >= 3


def test_interrupted_after_any_tell_a_run_ends_with_the_same_bits(world: World) -> None:
    expected = bits(world.undisturbed[0])
    assert all(bits(learner) == expected for learner, _, _ in world.interrupted.values())


def test_interrupted_after_any_tell_no_label_is_paid_twice(world: World) -> None:
    paid = world.undisturbed[2]
    assert len(paid) == len(set(paid))
    assert all(asked == paid for _, _, asked in world.interrupted.values())


@pytest.mark.parametrize("name", list(WORLDS))
def test_interrupted_after_every_tell_a_run_ends_with_the_same_bits_and_counts(
    name: str, tmp_path: Path
) -> None:
    run = WORLDS[name]
    undisturbed, n_parts, paid = run(set(), tmp_path / "run.npz")
    learner, _, asked = run(set(range(1, n_parts + 1)), tmp_path / "run.npz")
    assert bits(learner) == bits(undisturbed) and asked == paid
    assert (learner.n_labels_, learner.n_draws_, learner.n_queries_) == (
        undisturbed.n_labels_,
        undisturbed.n_draws_,
        undisturbed.n_queries_,
    )


def test_a_run_saved_before_its_first_question_can_be_restored(tmp_path: Path) -> None:
    begin(TABLE.X).save(tmp_path / "run.npz")
    learner = ActiveLearner.restore(tmp_path / "run.npz", TABLE.X)
    assert bits(finish(learner, TABLE.reveal)) == bits(finish(begin(TABLE.X), TABLE.reveal))


def test_a_finished_run_is_restored_finished(tmp_path: Path) -> None:
    finish(begin(TABLE.X), TABLE.reveal).save(tmp_path / "run.npz")
    assert ActiveLearner.restore(tmp_path / "run.npz", TABLE.X).ask() is None


def test_a_restored_learner_can_be_told_without_asking_again(tmp_path: Path) -> None:
    learner = begin(TABLE.X)
    ids = learner.ask().ids
    learner.save(tmp_path / "run.npz")
    restored = ActiveLearner.restore(tmp_path / "run.npz", TABLE.X)
    restored.tell(TABLE.y[ids])
    assert restored.n_labels_ == ids.size


def test_a_stream_that_goes_on_elsewhere_gives_its_rows_new_ids(tmp_path: Path) -> None:
    rows = iter(np.random.default_rng(0).standard_normal((10**4, 20)))
    learner, labels = begin(rows), {}

    def answer(learner: ActiveLearner) -> bool:
        question = learner.ask()
        if question is not None:
            new = np.where(question.X @ TABLE.target >= 0, 1.0, -1.0)
            assert not labels.keys() & set(question.ids.tolist())
            labels.update(zip(question.ids.tolist(), new.tolist()))
            learner.tell(new)
        return question is not None

    while answer(learner):
        learner.save(tmp_path / "run.npz")
        learner = ActiveLearner.restore(tmp_path / "run.npz", rows)
    assert learner.halfspace_ @ TABLE.target > 0.9


def test_an_oracle_that_starts_anew_is_refused_where_its_ids_would_repeat(tmp_path: Path) -> None:
    source = oracle(20, 3)
    learner = begin(source)
    learner.tell(source.reveal(learner.ask().ids))
    learner.save(tmp_path / "run.npz")
    with pytest.raises(LearningStopped, match="id of an earlier row"):
        ActiveLearner.restore(tmp_path / "run.npz", oracle(20, 3, seed=1))


def test_strided_rows_of_a_live_source_are_restored_with_the_same_bits(tmp_path: Path) -> None:
    class Strided:
        """A source whose rows are views of a wider array."""

        n_features, n_seen = 20, 0

        def draw(self, request: Any) -> Draw:
            wide = np.random.default_rng(self.n_seen).standard_normal((4000, 40))
            rows = wide[:, ::2]
            inside = np.flatnonzero(request.band.admits(rows))[: request.n_rows]
            first = self.n_seen
            self.n_seen += 4000
            return Draw(ids=first + inside, X=wide[inside][:, ::2], n_drawn=4000)

    def answer(learner: ActiveLearner) -> bool:
        question = learner.ask()
        if question is not None:
            learner.tell(np.where(question.X @ TABLE.target >= 0, 1.0, -1.0))
        return question is not None

    undisturbed, source = begin(Strided()), Strided()
    while answer(undisturbed):
        pass
    learner = begin(source)
    while answer(learner):
        learner.save(tmp_path / "run.npz")
        learner = ActiveLearner.restore(tmp_path / "run.npz", source)
    assert bits(learner) == bits(undisturbed)


def test_a_passive_run_can_be_saved_and_restored(tmp_path: Path) -> None:
    learner = learn_passively(TABLE.X, TABLE.y, sparsity=3, noise_rate=0.0)
    learner.save(tmp_path / "run.npz")
    assert bits(ActiveLearner.restore(tmp_path / "run.npz", TABLE.X)) == bits(learner)


def test_a_run_stopped_by_its_budget_can_be_restored(tmp_path: Path) -> None:
    schedule = replace(SCHEDULE, use_every_row=True)
    learner = begin(TABLE.X, schedule=schedule, label_budget=20)
    with pytest.raises(BudgetExceeded):
        learner.ask()
    learner.save(tmp_path / "run.npz")
    restored = ActiveLearner.restore(tmp_path / "run.npz", TABLE.X)
    with pytest.raises(BudgetExceeded):
        restored.ask()


# Schedules and tasks


@pytest.mark.parametrize(
    "schedule",
    [
        PracticalSchedule(),
        PracticalSchedule(shrink=0.5, reuse_labels=False, variance_factor=8.0),
        PracticalSchedule(max_unlabeled=np.int64(9000), first_radius=np.float32(0.25)),
        TheorySchedule(n_features=20, sparsity=3, target_error=0.1, noise_rate=0.01),
        TheorySchedule(
            n_features=20,
            sparsity=3,
            target_error=0.1,
            constants=replace(PaperConstants.gaussian(), entry_factor=2.0),
        ),
    ],
)
def test_a_schedule_is_rebuilt_from_the_file(schedule: Any, tmp_path: Path) -> None:
    task = Task(n_features=20, sparsity=3, noise_rate=0.01)
    save_journal(tmp_path / "run.npz", Journal(seed=1), task, schedule)
    assert load_journal(tmp_path / "run.npz").schedule == schedule


@pytest.mark.parametrize(
    "task",
    [
        Task(n_features=20, sparsity=3, noise_rate=0.01),
        Task(n_features=20, sparsity=30, noise_rate=0, target_error=0.1, label_budget=7),
        Task(
            n_features=np.int32(20),
            sparsity=np.int64(3),
            noise_rate=np.float32(0.25),
            target_error=np.float64(0.1),
            label_budget=np.int64(9),
        ),
    ],
)
def test_a_task_is_rebuilt_from_the_file(task: Task, tmp_path: Path) -> None:
    save_journal(tmp_path / "run.npz", Journal(seed=1), task, SCHEDULE)
    assert load_journal(tmp_path / "run.npz").task == task


def test_the_largest_seed_survives(tmp_path: Path) -> None:
    task = Task(n_features=20, sparsity=3, noise_rate=0.01)
    save_journal(tmp_path / "run.npz", Journal(seed=2**127), task, SCHEDULE)
    assert load_journal(tmp_path / "run.npz").journal.seed == 2**127


@dataclass(frozen=True, kw_only=True)
class Hasty(PracticalSchedule):
    """A schedule of the caller's own, with a parameter that Thresher does not know."""

    haste: float = 2.0


def test_a_schedule_of_your_own_must_be_given_again(tmp_path: Path) -> None:
    learner = begin(TABLE.X, schedule=Hasty(min_unlabeled=150, max_unlabeled=150))
    learner.ask()
    learner.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="pass it as schedule"):
        ActiveLearner.restore(tmp_path / "run.npz", TABLE.X)


def test_a_schedule_of_your_own_that_is_given_again_goes_on(tmp_path: Path) -> None:
    schedule = Hasty(min_unlabeled=150, max_unlabeled=150)
    learner = begin(TABLE.X, schedule=schedule)
    tell_part(learner, TABLE.reveal)
    learner.save(tmp_path / "run.npz")
    restored = ActiveLearner.restore(tmp_path / "run.npz", TABLE.X, schedule=schedule)
    undisturbed = finish(begin(TABLE.X, schedule=schedule), TABLE.reveal)
    assert bits(finish(restored, TABLE.reveal)) == bits(undisturbed)


# Another pool


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A file of a run that has asked its first question and was told a part."""
    learner = begin(TABLE.X)
    tell_part(learner, TABLE.reveal)
    learner.save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def test_a_table_with_other_features_is_refused(saved: Path) -> None:
    with pytest.raises(ValueError, match="pool must have 20 features like the saved run, got 19"):
        ActiveLearner.restore(saved, TABLE.X[:, 1:])


@pytest.mark.parametrize(
    "pool",
    [
        TABLE.X[:-1],
        TABLE.X[::-1],
        2 * TABLE.X,
        Table(seed=1).X,
        ArrayPool(TABLE.X, random_state=9),
        StreamPool(TABLE.X),
    ],
    ids=["shorter", "reversed", "scaled", "another table", "another order", "a stream"],
)
def test_another_table_of_as_many_features_is_refused(saved: Path, pool: Any) -> None:
    with pytest.raises(LearningStopped, match="not the pool that the run was saved with"):
        ActiveLearner.restore(saved, pool)


def test_a_refused_pool_leaves_the_file_usable(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(LearningStopped):
        ActiveLearner.restore(saved, Table(seed=1).X)
    assert saved.read_bytes() == before
    assert ActiveLearner.restore(saved, TABLE.X).n_labels_ > 0


def test_a_stream_that_has_ended_is_restored(tmp_path: Path) -> None:
    learner = begin(iter(TABLE.X[:150]))
    tell_part(learner, TABLE.reveal)
    learner.save(tmp_path / "run.npz")
    restored = ActiveLearner.restore(tmp_path / "run.npz", iter(()))
    assert restored.n_labels_ == learner.n_labels_ > 0
    question = restored.ask()
    assert question is not None
    restored.tell(TABLE.reveal(question.ids))
    assert finish(restored, TABLE.reveal).phases_


# Several processes


def continued(path: Path, n_parts: int) -> ActiveLearner:
    """The learner of another process, which has answered some parts more."""
    learner = ActiveLearner.restore(path, TABLE.X)
    for _ in range(n_parts):
        tell_part(learner, TABLE.reveal)
    return learner


def labels_in(path: Path) -> set[int]:
    return set(load_journal(path).journal.labels)


def test_what_another_process_has_saved_meanwhile_is_kept(saved: Path) -> None:
    ahead, behind = continued(saved, 6), continued(saved, 1)
    assert behind.n_labels_ < ahead.n_labels_
    assert len(ahead.phases_) > len(behind.phases_)
    ahead.save(saved)
    known = labels_in(saved)
    for _ in range(2):  # the second time nobody else has written
        behind.save(saved)
        assert labels_in(saved) == known
    assert ActiveLearner.restore(saved, TABLE.X).n_labels_ == ahead.n_labels_
    assert bits(finish(ActiveLearner.restore(saved, TABLE.X), TABLE.reveal)) == bits(
        finish(behind, TABLE.reveal)
    )


def test_labels_of_both_processes_are_kept(saved: Path) -> None:
    before = labels_in(saved)
    first, second = continued(saved, 0), continued(saved, 0)
    question = first.ask()
    assert question is not None
    assert second.ask() is not None
    first.tell(TABLE.reveal(question.ids[:1]), ids=question.ids[:1])
    second.tell(TABLE.reveal(question.ids[1:2]), ids=question.ids[1:2])
    first.save(saved)
    second.save(saved)
    assert labels_in(saved) == before | set(question.ids[:2].tolist())
    assert second.n_labels_ == len(before) + 1  # what it knows itself is as it was


@pytest.mark.parametrize("other", ["seed", "task", "labels", "damage"])
def test_the_file_of_another_run_is_replaced(saved: Path, other: str) -> None:
    learner, another = continued(saved, 1), continued(saved, 6)
    if other == "seed":
        another = finish(begin(TABLE.X, random_state=99), TABLE.reveal)
    elif other == "task":
        another = finish(begin(TABLE.X, noise_rate=0.1), TABLE.reveal)
    elif other == "labels":
        another._journal.labels = {i: -value for i, value in another._journal.labels.items()}
    another.save(saved)
    if other == "damage":
        saved.write_bytes(saved.read_bytes()[:-30])
    learner.save(saved)
    assert labels_in(saved) == set(learner._journal.labels)


def test_a_new_learner_replaces_the_file(saved: Path) -> None:
    begin(TABLE.X).save(saved)
    assert labels_in(saved) == set()


# Damaged files


def contents(path: Path) -> Any:
    """Everything a file says, in a form that can be compared."""
    saved = load_journal(path)
    draws = [
        (
            draw.ids.tolist(),
            draw.n_drawn,
            draw.checksum,
            None if draw.X is None else checksum(draw.X),
        )
        for draw in saved.journal.draws
    ]
    return saved.journal.seed, draws, saved.journal.labels, saved.task, saved.schedule


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest file that has everything in it, rows too."""
    draw = Draw(ids=[3, 8], X=[[0.5, -1.0], [2.0, 0.25]], n_drawn=9)
    sparse = Draw(ids=[5], X=Table(1, 2, 1).csr, n_drawn=1)
    records = [RecordedDraw.of(draw, keep_rows=True), RecordedDraw.of(sparse, keep_rows=True)]
    journal = Journal(seed=4, draws=records, labels={3: 1.0, 8: -1.0})
    path = tmp_path_factory.mktemp("tiny") / "run.npz"
    task = Task(n_features=2, sparsity=1, noise_rate=0.0)
    save_journal(path, journal, task, PracticalSchedule())
    return path


def test_a_file_says_what_was_written(tiny: Path) -> None:
    seed, draws, labels, *_ = contents(tiny)
    assert (seed, labels) == (4, {3: 1.0, 8: -1.0})
    assert [draw[:2] for draw in draws] == [([3, 8], 9), ([5], 1)]


def _every(step: int, slow_step: int = 1) -> list[Any]:
    return [step, pytest.param(slow_step, marks=pytest.mark.slow)]


@pytest.mark.parametrize("step", _every(53))
def test_a_file_cut_off_anywhere_is_damaged(tiny: Path, tmp_path: Path, step: int) -> None:
    whole, cut = tiny.read_bytes(), tmp_path / "cut.npz"
    for length in [*range(0, len(whole), step), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match=r"cut\.npz.*was not changed"):
            load_journal(cut)


@pytest.mark.parametrize("step", _every(199))
def test_a_flipped_bit_is_found_or_says_nothing_else(tiny: Path, tmp_path: Path, step: int) -> None:
    whole, flipped, expected = tiny.read_bytes(), tmp_path / "flipped.npz", contents(tiny)
    n_found = 0
    for position in range(0, 8 * len(whole), step):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << (position % 8)
        flipped.write_bytes(damaged)
        try:
            assert contents(flipped) == expected, f"bit {position}"
        except DamagedFile:
            n_found += 1
    assert n_found > 0


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip", b"PK\x03\x04", b"\x93NUMPY", pickle.dumps({"header": 1}), os.urandom(999)],
    ids=["empty", "text", "zip magic", "npy magic", "pickle", "noise"],
)
def test_a_file_that_is_no_archive_is_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    with pytest.raises(DamagedFile):
        load_journal(tmp_path / "run.npz")


@pytest.mark.parametrize("content", [b"not a zip", b"\x93NUMPY", pickle.dumps({"header": 1})])
def test_nobody_is_advised_to_unpickle_what_is_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    with pytest.raises(DamagedFile, match="not a ZIP archive") as caught:
        load_journal(tmp_path / "run.npz")
    assert "pickle" not in str(caught.value)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.npz")
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(ActiveLearner.restore, tmp_path / "run.npz", TABLE.X)
        try:
            with pytest.raises(DamagedFile, match="a device or a pipe"):
                loading.result(timeout=20)
        finally:  # whoever waits is let go
            os.close(os.open(tmp_path / "run.npz", os.O_RDWR | os.O_NONBLOCK))


def test_a_device_is_refused() -> None:
    with pytest.raises(DamagedFile, match="a device or a pipe"):
        load_journal("/dev/zero")


def test_a_run_that_does_not_fit_is_refused_with_both_numbers(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 100)
    with pytest.raises(NotEnoughMemory, match=r"the run needs about .* but only 1e-07 GB"):
        load_journal(tiny)


def test_a_single_array_is_no_run(tmp_path: Path) -> None:
    np.save(tmp_path / "run.npy", np.eye(3))
    with pytest.raises(DamagedFile):
        load_journal(tmp_path / "run.npy")


def test_a_directory_is_no_damaged_run(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        load_journal(tmp_path)


def test_a_missing_file_is_missing_and_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_journal(tmp_path / "run.npz")


def rewrite(tiny: Path, path: Path, **arrays: Any) -> Path:
    """A copy of the file with some arrays replaced; None leaves one out."""
    with np.load(tiny) as whole:
        kept = {**{name: whole[name] for name in whole.files}, **arrays}
    np.savez(path, **{name: array for name, array in kept.items() if array is not None})
    return path


def header_with(tiny: Path, **changes: Any) -> np.ndarray:
    """The header's bytes with some entries replaced."""
    with np.load(tiny) as whole:
        return as_bytes({**json.loads(bytes(whole["header"])), **changes})


def as_bytes(header: dict[str, Any]) -> np.ndarray:
    """A header as it stands in a file."""
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def forge(tiny: Path, path: Path, number: int, **parts: Any) -> Path:
    """A copy with other rows in a draw, whose checksum is as if they had been written."""
    with np.load(tiny) as whole:
        names = [name for name in whole.files if name.startswith(f"draw{number}.")]
        arrays = {name: whole[name] for name in names}
        header = json.loads(bytes(whole["header"]))
    arrays |= {f"draw{number}.{name}": part for name, part in parts.items()}
    kinds = ("X",) if f"draw{number}.X" in arrays else ("data", "indices", "indptr")
    value = 0
    for kind in kinds:
        value = zlib.crc32(np.ascontiguousarray(arrays[f"draw{number}.{kind}"]).tobytes(), value)
    header["checksums"][number] = value
    return rewrite(tiny, path, **arrays, header=as_bytes(header))


FORGERIES: dict[str, tuple[int, dict[str, Any]]] = {
    "a far index": (1, {"indices": np.array([0, 2**30], np.int32)}),
    "a negative index": (1, {"indices": np.array([0, -1], np.int32)}),
    "indices of floats": (1, {"indices": np.array([0.0, 1.0])}),
    "rows that end nowhere": (1, {"indptr": np.array([0, 2**30], np.int32)}),
    "rows that begin nowhere": (1, {"indptr": np.array([-5, 2], np.int32)}),
    "more rows": (1, {"indptr": np.array([0, 2, 2], np.int32)}),
    "entries of text": (1, {"data": np.array(["a", "b"])}),
    "entries that are infinite": (1, {"data": np.array([np.inf, 1.0])}),
    "another shape": (1, {"shape": np.array([1, 2**40])}),
    "no shape": (1, {"shape": np.array([], np.int64)}),
    "rows of text": (0, {"X": np.array([["a", "b"], ["c", "d"]])}),
    "rows without a number": (0, {"X": np.full((2, 2), np.nan)}),
    "rows of complex numbers": (0, {"X": np.full((2, 2), 1j)}),
    "a vector": (0, {"X": np.ones(2)}),
    "a wide row": (0, {"X": np.ones((2, 3))}),
    "a row less": (0, {"X": np.ones((1, 2))}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_rows_are_refused_though_their_checksum_is_right(
    tiny: Path, tmp_path: Path, name: str
) -> None:
    number, parts = FORGERIES[name]
    with pytest.raises(DamagedFile):
        load_journal(forge(tiny, tmp_path / "run.npz", number, **parts))


def test_what_is_forged_without_harm_is_read(tiny: Path, tmp_path: Path) -> None:
    load_journal(forge(tiny, tmp_path / "run.npz", 0, X=np.ones((2, 2))))
    load_journal(forge(tiny, tmp_path / "run.npz", 1, data=np.array([5.0, 6.0])))


def test_an_unchanged_copy_is_not_damaged(tiny: Path, tmp_path: Path) -> None:
    assert contents(rewrite(tiny, tmp_path / "copy.npz")) == contents(tiny)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "another"},
        {"version": 2},
        {"version": None},
        {"task": {"n_features": 2}},
        {"task": {"n_features": 2, "sparsity": 1, "noise_rate": 0.9}},
        {"task": []},
        {"schedule": {"kind": "Unheard", "fields": {}}},
        {"schedule": {"kind": "PracticalSchedule", "fields": {"shrink": 7}}},
        {"schedule": {"kind": "TheorySchedule", "fields": {}}},
        {"n_drawn": [9]},
        {"n_drawn": "many"},
        {"n_drawn": [-9, 1]},
        {"n_drawn": [1, 1]},
        {"n_drawn": [9.5, 1]},
        {"n_drawn": [True, True]},
        {"n_drawn": [2**70, -(2**70)]},
        {"seed": 4.5},
        {"seed": "4"},
        {"seed": -4},
        {"task": {"n_features": 3, "sparsity": 1, "noise_rate": 0.0}},
        {"checksums": [0, 0]},
        {"arrays": []},
        {"seed": None},
    ],
)
def test_a_header_that_does_not_fit_is_damage(
    tiny: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = rewrite(tiny, tmp_path / "run.npz", header=header_with(tiny, **changes))
    with pytest.raises(DamagedFile):
        load_journal(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"header": None},
        {"header": np.frombuffer(b"{", dtype=np.uint8)},
        {"header": np.frombuffer(b"[]", dtype=np.uint8)},
        {"header": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
        {"label_values": np.array([1.0, 0.0])},
        {"label_values": np.array([1.0, np.nan])},
        {"label_values": np.array([1.0])},
        {"label_ids": None},
        {"draw0.ids": None},
        {"draw0.X": None},
        {"draw0.X": np.eye(2)},
        {"draw1.data": None},
        {"draw1.indices": np.array([0, 99])},
        {"extra": np.eye(1)},
        {"label_ids": np.array([3.0, 8.0])},
        {"label_ids": np.array(["3", "8"])},
        {"label_ids": np.array([3, 3])},
        {"label_ids": np.array([3, 4])},
        {"label_ids": np.array([[3], [8]]), "label_values": np.array([[1.0], [-1.0]])},
        {"label_values": np.array([[1.0], [-1.0]])},
        {"label_values": np.array(["1", "-1"])},
        {"label_values": np.array([1, -1], complex)},
        {"draw0.ids": np.array([3.0, 8.0])},
        {"draw0.ids": np.array(["3", "8"])},
        {"draw0.ids": np.array([3, 3])},
        {"draw0.ids": np.array([3, 8, 9])},
        {"draw0.ids": np.array([[3, 8]])},
    ],
    ids=str,
)
def test_an_array_that_does_not_fit_is_damage(
    tiny: Path, tmp_path: Path, arrays: dict[str, Any]
) -> None:
    with pytest.raises(DamagedFile):
        load_journal(rewrite(tiny, tmp_path / "run.npz", **arrays))


class Bomb:
    """An object that, unpickled, leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("name", ["header", "label_ids", "draw0.ids", "draw0.X"])
def test_a_pickle_is_never_loaded(tiny: Path, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "trace"
    objects = np.array([Bomb(trace)], dtype=object)
    path = rewrite(tiny, tmp_path / "run.npz", **{name: objects})
    with pytest.raises(DamagedFile):
        load_journal(path)
    assert not trace.exists()


def test_the_bomb_would_have_gone_off(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "trace")))
    assert (tmp_path / "trace").exists()


def test_a_member_that_claims_to_be_huge_is_damage(tiny: Path, tmp_path: Path) -> None:
    path, claim = tmp_path / "run.npz", io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**6)}
    np.lib.format.write_array_header_1_0(claim, shape)
    with zipfile.ZipFile(tiny) as whole, zipfile.ZipFile(path, "w") as copy:
        for name in whole.namelist():
            copy.writestr(name, claim.getvalue() if name == "draw0.X.npy" else whole.read(name))
    with pytest.raises(DamagedFile):
        load_journal(path)


# Writing


@pytest.mark.parametrize("step", ["savez", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    before = saved.read_bytes()
    learner = finish(begin(TABLE.X), TABLE.reveal)

    def fail(*_args: Any, **_options: Any) -> Any:
        raise error

    owner = {"savez": journal_module.np, "fsync": os, "replace": Path}[step]
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fail)
        with pytest.raises(type(error)):
            learner.save(saved)
    assert saved.read_bytes() == before


def test_a_write_that_succeeds_leaves_one_file(saved: Path) -> None:
    finish(begin(TABLE.X), TABLE.reveal).save(saved)
    assert list(saved.parent.iterdir()) == [saved]


def test_a_tables_rows_are_not_copied_into_the_file(saved: Path) -> None:
    assert not any("X" in name or "data" in name for name in zipfile.ZipFile(saved).namelist())


def test_a_live_sources_rows_are_kept_in_the_file(tmp_path: Path) -> None:
    learner = begin(oracle(20, 3))
    learner.ask()
    learner.save(tmp_path / "run.npz")
    assert "draw0.X.npy" in zipfile.ZipFile(tmp_path / "run.npz").namelist()
