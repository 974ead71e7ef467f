"""What the record of a run promises: checksums, versions, and files of earlier schedules."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.errors import DamagedFile
from thresher.learning import PracticalSchedule, TheorySchedule, journal
from thresher.learning.journal import (
    Journal,
    RecordedDraw,
    RunFile,
    SavedRun,
    checksum,
    load_journal,
    save_journal,
)
from thresher.learning.task import Task
from thresher.oracles import Draw

THEORY = TheorySchedule(sparsity=1, n_features=2, target_error=0.1)
TASK = Task(n_features=2, sparsity=1, noise_rate=0.0)
DRAW = Draw(ids=[3, 8], X=[[0.5, -1.0], [2.0, 0.25]], n_drawn=9)
SPARSE = Draw(ids=[5, 6], X=sp.csr_array([[0.0, 2.0], [0.0, 0.0]]), n_drawn=4)


def saved(path: Path, schedule: object = None, *, keep_rows: bool = True) -> Path:
    """A file with a dense and a sparse draw and both labels."""
    draws = [RecordedDraw.of(draw, keep_rows=keep_rows) for draw in (DRAW, SPARSE)]
    record = Journal(seed=4, draws=draws, labels={3: 1.0, 8: -1.0})
    save_journal(path, record, TASK, schedule or PracticalSchedule())
    return path


def changed(path: Path, change: Callable[[dict[str, Any]], Any], **arrays: Any) -> Path:
    """The file with another header, and some arrays replaced."""
    with np.load(path) as whole:
        kept = {name: whole[name] for name in whole.files} | arrays
    header = json.loads(bytes(kept["header"]))
    change(header)
    kept["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **kept)
    return path


# -- records ---------------------------------------------------------------------------------


def test_the_checksum_of_dense_rows_is_the_crc_of_their_bytes() -> None:
    """Files that users have hold such numbers."""
    assert checksum(DRAW.X) == zlib.crc32(np.ascontiguousarray(DRAW.X).tobytes())
    assert checksum(np.asfortranarray(DRAW.X)) == checksum(DRAW.X)
    assert checksum(np.zeros((0, 2))) == 0


def test_the_checksum_of_sparse_rows_covers_values_and_places() -> None:
    X = SPARSE.X
    parts = [X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()]
    assert checksum(X) == zlib.crc32(b"".join(parts))
    moved = sp.csr_array((X.data, np.array([0], X.indices.dtype), X.indptr), shape=X.shape)
    below = sp.csr_array((X.data, X.indices, np.array([0, 0, 1], X.indptr.dtype)), shape=X.shape)
    assert len({checksum(rows) for rows in (X, 2 * X, moved, below)}) == 4
    empty = sp.csr_array((2, 2))
    assert checksum(empty) == zlib.crc32(empty.indptr.tobytes())


def test_a_draw_is_recognized_by_its_ids_and_its_rows() -> None:
    recorded = RecordedDraw.of(DRAW, keep_rows=False)
    assert recorded.is_of(DRAW)
    assert not recorded.is_of(Draw(ids=[3, 9], X=DRAW.X, n_drawn=9))
    assert not recorded.is_of(Draw(ids=[3, 8], X=2 * DRAW.X, n_drawn=9))


def test_rows_are_kept_only_where_asked() -> None:
    assert RecordedDraw.of(DRAW, keep_rows=True).X is DRAW.X
    without = RecordedDraw.of(DRAW, keep_rows=False)
    assert (without.X, without.n_drawn, without.checksum) == (None, 9, checksum(DRAW.X))


def test_records_of_arrays_are_compared_by_identity_and_not_changed() -> None:
    first, second = (RecordedDraw.of(DRAW, keep_rows=True) for _ in range(2))
    run = SavedRun(Journal(seed=1), TASK, None)
    assert first != second
    assert run != SavedRun(run.journal, TASK, None)
    assert Journal(seed=1) != Journal(seed=1)
    assert len({first, second, Journal(seed=1), run}) == 4
    with pytest.raises(FrozenInstanceError):
        first.n_drawn = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        run.task = TASK  # type: ignore[misc]


def test_a_journal_counts_what_was_drawn_and_begins_empty() -> None:
    record = Journal(seed=1)
    assert (record.n_drawn, record.draws, record.labels) == (0, [], {})
    record.draws += [RecordedDraw.of(draw, keep_rows=False) for draw in (DRAW, SPARSE)]
    assert record.n_drawn == 13
    assert Journal(seed=2).draws == []


SAME = Journal(4, [RecordedDraw.of(DRAW, keep_rows=False)], {3: 1.0})


@pytest.mark.parametrize(
    ("seed", "ids", "rows", "is_taken"),
    [(4, [3, 8], 1, True), (5, [3, 8], 1, False), (4, [3, 9], 1, False), (4, [3, 8], 2, False)],
)
def test_only_answers_of_the_same_run_are_taken_over(
    seed: int, ids: list[int], rows: int, is_taken: bool
) -> None:
    first = RecordedDraw.of(Draw(ids=ids, X=rows * DRAW.X, n_drawn=9), keep_rows=False)
    later = RecordedDraw.of(SPARSE, keep_rows=False)
    record = Journal(SAME.seed, [*SAME.draws], {**SAME.labels})
    record.add(Journal(seed, [first, later], {5: -1.0}))
    assert (len(record.draws), record.labels) == (
        (2, {3: 1.0, 5: -1.0}) if is_taken else (1, {3: 1.0})
    )


# -- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_rows", [True, False])
def test_draws_come_back_as_they_were(tmp_path: Path, keep_rows: bool) -> None:
    record = load_journal(saved(tmp_path / "run.npz", keep_rows=keep_rows)).journal
    for draw, recorded in zip((DRAW, SPARSE), record.draws, strict=True):
        assert recorded.is_of(draw)
        assert recorded.n_drawn == draw.n_drawn
        assert (recorded.X is not None) is keep_rows
    if keep_rows:
        assert np.array_equal(record.draws[0].X, DRAW.X)
        assert np.array_equal(record.draws[1].X.toarray(), SPARSE.X.toarray())


def test_the_format_has_a_name_and_a_version(tmp_path: Path) -> None:
    with np.load(saved(tmp_path / "run.npz")) as whole:
        header = json.loads(bytes(whole["header"]))
    assert (header["format"], header["version"]) == ("thresher-run", 1)
    for other in ({"version": 0}, {"version": 2}, {"format": "thresher-model"}):
        path = changed(
            saved(tmp_path / "run.npz"), lambda header, other=other: header.update(other)
        )
        with pytest.raises(DamagedFile, match=r"format 'thresher-.* version"):
            load_journal(path)


@pytest.mark.parametrize("name", ["n_drawn", "checksums"])
def test_as_many_counts_as_checksums_are_needed(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path / "run.npz")
    with pytest.raises(DamagedFile):
        load_journal(changed(path, lambda header: header[name].append(1)))


def test_rows_that_differ_from_their_checksum_are_damaged(tmp_path: Path) -> None:
    for name in ("draw0", "draw1"):
        path = saved(tmp_path / "run.npz")
        member = {"draw0": {"draw0.X": 2 * DRAW.X}, "draw1": {"draw1.data": 2 * SPARSE.X.data}}
        with pytest.raises(DamagedFile, match=f"{name} is not what was written"):
            load_journal(changed(path, lambda _: None, **member[name]))


@pytest.mark.parametrize("values", [[1.0, 0.0], [1.0, 2.0], [-2.0, 1.0], [1.0, np.nan], [1.0]])
def test_labels_are_one_or_minus_one_and_as_many_as_ids(
    tmp_path: Path, values: list[float]
) -> None:
    path = saved(tmp_path / "run.npz")
    with pytest.raises(DamagedFile):
        load_journal(changed(path, lambda _: None, label_values=np.array(values)))


@pytest.mark.parametrize("error", [FileNotFoundError, IsADirectoryError, PermissionError])
def test_what_the_system_refuses_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    def refuse(_: Any) -> None:
        raise error("refused")

    monkeypatch.setattr(journal, "_parse", refuse)
    with pytest.raises(error, match="refused"):
        load_journal(saved(tmp_path / "run.npz"))


@pytest.mark.parametrize("ids", [[3, 98, 99], [98, 99, 3]])
def test_a_label_of_a_row_that_was_never_drawn_is_named(tmp_path: Path, ids: list[int]) -> None:
    labels = {"label_ids": np.array(ids), "label_values": np.ones(3)}
    with pytest.raises(DamagedFile, match="id 98 has a label but was never drawn"):
        load_journal(changed(saved(tmp_path / "run.npz"), lambda _: None, **labels))


@pytest.mark.parametrize("labels", [{3: 1.0}, {3: 1.0, 8: -1.0}])
def test_a_run_without_draws_has_no_labels(tmp_path: Path, labels: dict[int, float]) -> None:
    save_journal(tmp_path / "run.npz", Journal(4, [], labels), TASK, PracticalSchedule())
    with pytest.raises(DamagedFile, match="id 3 has a label but was never drawn"):
        load_journal(tmp_path / "run.npz")


def test_rows_of_another_width_are_damaged(tmp_path: Path) -> None:
    path = saved(tmp_path / "run.npz")
    with pytest.raises(DamagedFile, match="draw0 has 3 features, the run 2"):
        load_journal(changed(path, lambda _: None, **{"draw0.X": np.ones((2, 3))}))


@pytest.mark.parametrize(("number", "is_read"), [(0, True), (-1, False)])
def test_a_checksum_is_not_negative(tmp_path: Path, number: int, is_read: bool) -> None:
    path = saved(tmp_path / "run.npz", keep_rows=False)
    changed(path, lambda header: header.update(checksums=[number, 5]))
    if is_read:
        assert load_journal(path).journal.draws[0].checksum == number
        return
    with pytest.raises(DamagedFile, match="checksum must be at least 0"):
        load_journal(path)


@pytest.mark.parametrize(("seed", "is_read"), [(0, True), (-1, False)])
def test_a_seed_is_not_negative(tmp_path: Path, seed: int, is_read: bool) -> None:
    path = changed(saved(tmp_path / "run.npz"), lambda header: header.update(seed=seed))
    if is_read:
        assert load_journal(path).journal.seed == seed
        return
    with pytest.raises(DamagedFile, match="seed must be at least 0"):
        load_journal(path)


def test_errors_of_others_are_named_and_shortened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise KeyError("x" * 500)

    path = tmp_path / "run.npz"
    path.write_bytes(b"not an archive")
    with pytest.raises(DamagedFile) as caught:
        load_journal(path)
    assert "BadArchive" not in str(caught.value)
    monkeypatch.setattr(journal, "_parse", fail)
    with pytest.raises(DamagedFile, match="KeyError: ") as caught:
        load_journal(saved(path))
    assert str(caught.value).count("x") == 198  # an ellipsis and a quotation mark are the rest


def test_a_file_that_others_have_removed_or_locked_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> None:
        raise PermissionError("locked")

    file = RunFile(saved(tmp_path / "run.npz"))
    run = file.load()
    file.path.unlink()
    file.save(run.journal, run.task, run.schedule)
    saved(file.path)  # by another process
    with monkeypatch.context() as patch:
        patch.setattr(journal, "load_journal", refuse)
        file.save(Journal(seed=7), run.task, run.schedule)
    assert file.load().journal.seed == 7


# -- schedules -------------------------------------------------------------------------------


def test_schedules_of_earlier_versions_are_read_unless_a_switch_was_off(tmp_path: Path) -> None:
    def add(header: dict[str, Any], **switches: bool) -> None:
        header["schedule"]["fields"] |= switches

    on = changed(saved(tmp_path / "run.npz"), lambda header: add(header, localize=True))
    assert load_journal(on).schedule == PracticalSchedule()
    off = changed(saved(tmp_path / "run.npz"), lambda header: add(header, localize=False))
    with pytest.raises(DamagedFile, match="PracticalSchedule no longer has the switch localize"):
        load_journal(off)


def test_a_run_of_an_earlier_version_goes_on_without_a_posterior(tmp_path: Path) -> None:
    def forget(header: dict[str, Any]) -> None:
        del header["schedule"]["fields"]["use_posterior"]

    path = changed(saved(tmp_path / "run.npz"), forget)
    assert load_journal(path).schedule == PracticalSchedule(use_posterior=False)


def test_constants_of_earlier_versions_are_read_without_the_retired_one(tmp_path: Path) -> None:
    path = changed(
        saved(tmp_path / "run.npz", THEORY),
        lambda header: header["schedule"]["fields"]["constants"].update(draws_factor=3.0),
    )
    assert load_journal(path).schedule == THEORY


def test_a_schedule_of_an_unknown_kind_is_named(tmp_path: Path) -> None:
    path = changed(
        saved(tmp_path / "run.npz"), lambda header: header["schedule"].update(kind="Hasty")
    )
    with pytest.raises(DamagedFile, match="schedule of the unknown kind 'Hasty'"):
        load_journal(path)


def test_only_schedules_of_our_own_are_written(tmp_path: Path) -> None:
    class Derived(PracticalSchedule):
        pass

    for schedule, expected in (
        (PracticalSchedule(), PracticalSchedule()),
        (THEORY, THEORY),
        (Derived(), None),
        ("a word", None),
    ):
        assert load_journal(saved(tmp_path / "run.npz", schedule)).schedule == expected
