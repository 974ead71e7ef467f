"""Faults at twenty positions each: a typed error that names file and part, or the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from oracles.large.files import NAMES, write_folder
from thresher import ActiveLearner
from thresher.errors import UnreadablePart
from thresher.oracles import ParquetPool

ASKED: dict[str, Any] = {
    "sparsity": 2,
    "noise_rate": 0.0,
    "label_budget": 60,
    "random_state": 0,
}
N_POSITIONS = 20


def answer(_ids: Any, X: Any) -> Any:
    return np.where(X[:, 1] - X[:, 4] > 0, 1, -1)


def truncate(file: Path, position: int) -> None:
    os.truncate(file, file.stat().st_size * position // N_POSITIONS)


def remove(file: Path, _position: int) -> None:
    file.unlink()


def rename_column(file: Path, position: int) -> None:
    table = pq.read_table(file)
    names = list(table.column_names)
    names[position % len(NAMES)] = "other"
    pq.write_table(table.rename_columns(names), file, row_group_size=50)


def change_type(file: Path, position: int) -> None:
    table, name = pq.read_table(file), NAMES[position % len(NAMES)]
    place = table.column_names.index(name)
    texts = [str(value) for value in table.column(name).to_pylist()]
    pq.write_table(table.set_column(place, name, [texts]), file, row_group_size=50)


def damage(file: Path, position: int) -> None:
    """Other bytes in the middle, and the old size and time."""
    status, content = file.stat(), bytearray(file.read_bytes())
    start = 4 + (len(content) - 200) * position // N_POSITIONS
    content[start : start + 64] = bytes(64)
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


FAULTS: list[Callable[[Path, int], None]] = [truncate, remove, rename_column, change_type]


def _is_refused_or_the_same(folder: Path, fault: Any, position: int) -> str:
    """What becomes of a run if a file changes before its later phases, and then is whole again."""
    write_folder(folder)
    files = sorted(folder.glob("*.parquet"))
    expected = ActiveLearner(ParquetPool(folder), **ASKED).learn_from(answer).halfspace_
    learner = ActiveLearner(ParquetPool(folder), **ASKED)
    question = learner.ask()
    assert question is not None
    learner.tell(answer(question.ids, question.X))
    file = files[position % len(files)]
    whole, times = file.read_bytes(), file.stat()
    fault(file, position)
    try:
        learner.learn_from(answer)
    except UnreadablePart as error:
        assert str(file) in str(error)
        file.write_bytes(whole)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        learner.learn_from(answer)  # nothing was lost
        assert np.array_equal(learner.halfspace_, expected)
        return "refused"
    assert np.array_equal(learner.halfspace_, expected)
    return "same bits"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_file_that_changes_between_phases_is_refused(
    fault: Callable[[Path, int], None], tmp_path: Path
) -> None:
    assert _is_refused_or_the_same(tmp_path / "pool", fault, position=7) == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("position", range(N_POSITIONS))
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_position_is_refused(
    fault: Callable[[Path, int], None], position: int, tmp_path: Path
) -> None:
    assert _is_refused_or_the_same(tmp_path / "pool", fault, position) == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("position", range(N_POSITIONS))
def test_damaged_pages_of_files_with_checksums_are_refused(position: int, tmp_path: Path) -> None:
    """Size and time are as before; only the checksums of the pages and of the footer tell."""
    write_folder(tmp_path)
    for file in tmp_path.glob("*.parquet"):
        pq.write_table(pq.read_table(file), file, row_group_size=50, write_page_checksum=True)
    pool, file = ParquetPool(tmp_path), sorted(tmp_path.glob("*.parquet"))[position % 3]
    expected = pool.take(np.arange(600))
    damage(file, position)
    try:
        assert np.array_equal(pool.take(np.arange(600)), expected)  # bytes that nothing reads
    except UnreadablePart as error:
        assert str(file) in str(error)
