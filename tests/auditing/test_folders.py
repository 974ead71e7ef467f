"""The second pass over a folder: a typed error and nothing half-written, wherever it fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from estimators.small import examine_quickly
from oracles.large.files import write_folder
from oracles.large.test_faults import FAULTS, N_POSITIONS, remove
from thresher import auditing
from thresher.auditing import Audit, audit_table, folders, forest
from thresher.auditing.folders import SampledTable, save_rows_of_folder
from thresher.errors import UnreadablePart
from thresher.files import replacing


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    """The audit of a sample of 200 rows of 600."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "SAMPLE_ENTRIES", 1400)
        patch.setattr("thresher.oracles.large.large_pool.LEAST_ROWS", 10)
        patch.setattr(auditing, "examine", examine_quickly)
        patch.setattr(forest, "N_TREES", 10)
        folder = tmp_path_factory.mktemp("audited") / "pool"
        write_folder(folder)
        table = SampledTable.of(folder, label="answer", id_column=None, strict=False)
        yield audit_table(table, noise_rate=0.05, sparsities=(2,))


def in_folder(audit: Audit, folder: Path) -> Audit:
    """The same audit, with the pool in another folder that has the same files."""
    write_folder(folder)
    table = audit.findings.table
    assert isinstance(table, SampledTable)
    pool = folders.ParquetPool(folder, columns=())
    return replace(audit, findings=replace(audit.findings, table=replace(table, pool=pool)))


def _is_refused(audit: Audit, folder: Path, fault: Any, position: int) -> None:
    moved, out = in_folder(audit, folder / "pool"), folder / "rows.csv"
    out.write_text("old")
    file = sorted((folder / "pool").glob("*.parquet"))[position % 3]
    fault(file, position)
    with pytest.raises(UnreadablePart, match=file.name):
        save_rows_of_folder(moved, out)
    assert out.read_text() == "old"
    assert {path.name for path in folder.iterdir()} == {"pool", "rows.csv"}


def test_a_file_that_is_gone_in_the_second_pass_is_named(found: Audit, tmp_path: Path) -> None:
    _is_refused(found, tmp_path, remove, position=2)


@pytest.mark.slow
@pytest.mark.parametrize("position", range(N_POSITIONS))
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_in_the_second_pass_is_named(
    found: Audit, tmp_path: Path, fault: Callable[[Path, int], None], position: int
) -> None:
    _is_refused(found, tmp_path, fault, position)


class FullDisk:
    """A file on a disk that is full after so many bytes."""

    def __init__(self, file: Any, n_bytes: int) -> None:
        self._file, self._left = file, n_bytes

    def write(self, content: Any) -> int:
        self._left -= len(content)
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _is_full(audit: Audit, folder: Path, share: float, patch: pytest.MonkeyPatch) -> None:
    moved, out = in_folder(audit, folder / "pool"), folder / "rows.csv"
    save_rows_of_folder(moved, out)
    whole = out.read_bytes()

    @contextmanager
    def full(path: Path) -> Iterator[Any]:
        with replacing(path) as file:
            yield FullDisk(file, int(share * len(whole)))

    patch.setattr(folders, "replacing", full)
    with pytest.raises(OSError, match="No space left"):
        save_rows_of_folder(moved, out)
    assert out.read_bytes() == whole
    assert {path.name for path in folder.iterdir()} == {"pool", "rows.csv"}


def test_a_full_disk_keeps_what_was_there(
    found: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _is_full(found, tmp_path, 0.6, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("position", range(N_POSITIONS))
def test_a_disk_that_is_full_anywhere_keeps_what_was_there(
    found: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    _is_full(found, tmp_path, position / N_POSITIONS, monkeypatch)
