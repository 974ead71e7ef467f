"""`thresher learn`, `audit` and `predict` on folders that need not fit into memory."""

from __future__ import annotations

import csv
import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_tables import Poisoned, poisoned, write
from thresher.auditing import folders
from thresher.table_files import prepare_table

OPTIONS = "--id-column id --noise-rate 0.1 --sparsity 2"
SAMPLE = 2000  # entries: 200 rows of ten columns

pytestmark = pytest.mark.usefixtures("learned")


@pytest.fixture(scope="module")
def table() -> Poisoned:
    return poisoned()


def as_folder(table: pa.Table, folder: Path, n_files: int = 4, group_rows: int = 40) -> None:
    folder.mkdir()
    size = -(-table.num_rows // n_files)
    for number in range(n_files):
        part = table.slice(number * size, size)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=group_rows)


@pytest.fixture(scope="module")
def rows(table: Poisoned, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file and a folder with the same rows, in one place, so that they are learned once."""
    place = tmp_path_factory.mktemp("rows")
    write(table, place / "mail.parquet")
    as_folder(pq.read_table(place / "mail.parquet"), place / "mail")
    return place


@pytest.fixture
def folder(tmp_path: Path, rows: Path) -> Path:
    """A folder to work in, with links to both."""
    for name in ("mail", "mail.parquet"):
        (tmp_path / name).symlink_to(rows / name)
    return tmp_path


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "SAMPLE_ENTRIES", SAMPLE)
    monkeypatch.setattr("thresher.oracles.large.large_pool.LEAST_ROWS", 10)


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_small_folder_is_read_whole(folder: Path) -> None:
    one = folders.SampledTable.of(folder / "mail", label=None, id_column="id", strict=False)
    two = prepare_table(folder / "mail.parquet", id_column="id")
    assert np.array_equal(one.X, two.X)
    assert (one.feature_names, one.remarks) == (two.feature_names, ())
    assert (one.y.tolist(), one.ids.tolist()) == (two.y.tolist(), two.ids.tolist())


@pytest.mark.usefixtures("small_sample")
def test_a_sample_is_learned_and_every_row_is_judged(
    folder: Path, call_cli: Any, table: Poisoned
) -> None:
    done = call_cli(f"audit mail {OPTIONS} --out rows.csv", folder)
    assert done.returncode == 0, done.stderr
    assert "a uniform sample of 200 of 440 rows" in done.stdout
    assert "of all 440 rows" in done.stdout
    lines = lines_of(folder / "rows.csv")
    assert [line["id"] for line in lines] == [f"r{i}" for i in range(440)]
    assert [line["label"] for line in lines] == table.y.tolist()
    suspicion = np.array([float(line["suspicion"]) for line in lines])
    trust = np.array([float(line["trust"]) for line in lines])
    usual = np.quantile(suspicion[~table.is_planted], 0.9)
    assert (suspicion[table.is_planted] > usual).mean() > 0.9
    assert trust[table.is_planted].mean() < 0.5 * trust[~table.is_planted].mean()
    reasons = {line["reason"] for line in lines if float(line["suspicion"]) >= 0.5}
    assert reasons <= {folders.STEERS, folders.DISAGREES}


@pytest.mark.parametrize("options", ["", "--proba --label answer"])
def test_predictions_for_a_folder_are_those_for_the_file(
    folder: Path, call_cli: Any, options: str
) -> None:
    call_cli(f"learn mail.parquet {OPTIONS} --out model.json", folder)
    said = [
        call_cli(f"predict model.json {name} --id-column id --out {out} {options}", folder).stdout
        for name, out in (("mail", "a.csv"), ("mail.parquet", "b.csv"))
    ]
    one, two = lines_of(folder / "a.csv"), lines_of(folder / "b.csv")
    for name in ("id", "prediction"):
        assert [line[name] for line in one] == [line[name] for line in two]
    for name in set(one[0]) - {"id", "prediction"}:  # sums can differ in their last bits
        numbers = ([float(line[name]) for line in lines] for lines in (one, two))
        assert np.allclose(*numbers, rtol=1e-12, atol=1e-12)
    assert said[0].splitlines()[0] == said[1].splitlines()[0]


@pytest.mark.usefixtures("small_sample")
def test_columns_of_any_kind_are_prepared_in_every_part(
    folder: Path, call_cli: Any, table: Poisoned
) -> None:
    rows = pq.read_table(folder / "mail.parquet")
    gaps = np.where(np.arange(440) % 7 == 0, np.nan, table.X[:, 3])
    rows = rows.set_column(rows.column_names.index("f3"), "f3", pa.array(gaps, from_pandas=True))
    city = pa.array(np.array(["Rome", "Oslo", "Lima"])[np.arange(440) % 3])
    as_folder(rows.add_column(1, "city", city), folder / "messy")
    done = call_cli(f"audit messy {OPTIONS} --out rows.csv", folder)
    assert done.returncode == 0, done.stderr
    assert "city" in done.stdout
    suspicion = np.array([float(line["suspicion"]) for line in lines_of(folder / "rows.csv")])
    usual = np.quantile(suspicion[~table.is_planted], 0.9)
    assert (suspicion[table.is_planted] > usual).mean() > 0.9


# -- faults ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_sample")
def test_a_third_label_beyond_the_sample_is_named_and_nothing_is_written(
    folder: Path, call_cli: Any
) -> None:
    rows = pq.read_table(folder / "mail.parquet")
    sampled = set(folders.ParquetPool(folder / "mail", columns=()).sample_ids(SAMPLE).tolist())
    row = max(set(range(440)) - sampled)
    labels = rows.column("answer").to_pylist()
    labels[row] = "maybe"
    rows = rows.set_column(rows.column_names.index("answer"), "answer", pa.array(labels))
    as_folder(rows, folder / "three")
    done = call_cli(f"audit three {OPTIONS} --out rows.csv", folder)
    assert done.returncode == 1
    assert "part-3.parquet, row group" in done.stderr
    assert "maybe" in done.stderr
    assert not list(folder.glob("*rows.csv*")) and not list(folder.glob("*unfinished*"))


@pytest.mark.usefixtures("small_sample")
def test_a_full_disk_leaves_nothing_half_written(
    folder: Path, call_cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (folder / "rows.csv").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    done = call_cli(f"audit mail {OPTIONS} --out rows.csv", folder)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert (folder / "rows.csv").read_text() == "old"
    assert not list(folder.glob("*unfinished*"))


def test_a_damaged_file_is_named_in_one_line(folder: Path, call_cli: Any) -> None:
    as_folder(pq.read_table(folder / "mail.parquet"), folder / "damaged")
    file = folder / "damaged" / "part-2.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    done = call_cli(f"learn damaged {OPTIONS}", folder)
    assert done.returncode == 1
    assert "part-2.parquet" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_cleaning_a_folder_is_refused(folder: Path, call_cli: Any) -> None:
    done = call_cli("audit mail --clean kept.csv", folder)
    assert done.returncode == 2
    assert "--clean needs a file" in done.stderr
