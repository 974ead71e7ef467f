"""Pools in files: what is drawn, what is read, and what happens to damaged or changed files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.pools_on_disk import CountingPool
from oracles.large.files import NAMES, as_table, rows_and_labels, write_folder
from thresher import ActiveLearner
from thresher.errors import UnreadablePart
from thresher.geometry import Band
from thresher.oracles import DrawRequest, ParquetPool
from thresher.oracles.large import data_files

NORMAL = np.array([0.0, 0.6, 0.0, 0.0, -0.8, 0.0])
EVERYTHING = Band(normal=np.zeros(6), width=np.inf)
NARROW = Band(normal=NORMAL, width=0.4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "pool")
    return tmp_path / "pool"


# -- draws -------------------------------------------------------------------------------------


def test_all_rows_in_the_band_are_found(folder: Path) -> None:
    rows, _ = rows_and_labels(600)
    draw = ParquetPool(folder).draw(DrawRequest(n_rows=1000, band=NARROW))
    assert draw.ids.tolist() == np.flatnonzero(np.abs(rows @ NORMAL) <= 0.4).tolist()
    assert np.array_equal(draw.X, rows[draw.ids])
    assert draw.n_drawn == 600


def test_a_limited_draw_counts_the_rows_it_looked_at(folder: Path) -> None:
    pool, rows = ParquetPool(folder), rows_and_labels(600)[0]
    draw = pool.draw(DrawRequest(n_rows=20, band=NARROW))
    mass = np.mean(np.abs(rows @ NORMAL) <= 0.4)
    assert draw.n_rows == 20
    # Negative binomial: its mean is 20/mass; five standard deviations.
    assert abs(draw.n_drawn - 20 / mass) < 5 * np.sqrt(20 * (1 - mass)) / mass


def test_a_row_in_the_band_is_as_often_drawn_as_any_other(folder: Path) -> None:
    pool = ParquetPool(folder)
    inside = np.flatnonzero(np.abs(rows_and_labels(600)[0] @ NORMAL) <= 0.4)
    counts = np.zeros(600)
    for _ in range(20):
        counts[pool.draw(DrawRequest(n_rows=20, band=NARROW)).ids] += 1
    expected, share = 20 * 20 / inside.size, 20 / inside.size
    statistic = np.sum((counts[inside] - expected) ** 2) / (expected * (1 - share))
    # Normal approximation of chi squared, false alarms below 1e-6.
    assert abs(statistic - inside.size) < 5 * np.sqrt(2 * inside.size)


def test_max_draws_limits_what_is_looked_at(folder: Path) -> None:
    draw = ParquetPool(folder).draw(DrawRequest(n_rows=500, band=NARROW, max_draws=100))
    assert draw.n_drawn == 100
    assert draw.n_rows < 100
    assert ParquetPool(folder).draw(DrawRequest(n_rows=9, band=EVERYTHING, max_draws=4)).n_rows == 4


def test_without_a_band_runs_of_neighbors_are_drawn(folder: Path) -> None:
    rows, _ = rows_and_labels(600)
    draw = ParquetPool(folder, n_places=4).draw(DrawRequest(n_rows=40, band=EVERYTHING))
    assert (draw.n_rows, draw.n_drawn) == (40, 40)
    assert np.sum(np.diff(draw.ids) == 1) >= 40 - 4 - 1
    assert np.array_equal(draw.X, rows[draw.ids])


@pytest.mark.parametrize("n_rows", [1, 7, 599, 600, 10_000])
def test_a_draw_without_a_band_has_the_size_that_is_asked_for(folder: Path, n_rows: int) -> None:
    draw = ParquetPool(folder, n_places=16).draw(DrawRequest(n_rows=n_rows, band=EVERYTHING))
    assert draw.n_rows == min(n_rows, 600)


def test_how_the_rows_are_split_changes_nothing(tmp_path: Path) -> None:
    splits = ({"file_rows": 200, "group_rows": 50}, {"file_rows": 600, "group_rows": 600})
    draws = []
    for number, split in enumerate((*splits, {"file_rows": 77, "suffix": ".feather"})):
        write_folder(tmp_path / str(number), **split)  # type: ignore[arg-type]
        pool = ParquetPool(tmp_path / str(number))
        requests = (DrawRequest(n_rows=30, band=band) for band in (EVERYTHING, NARROW))
        draws.append([pool.draw(request) for request in requests])
    for other in draws[1:]:
        for one, two in zip(draws[0], other):
            assert np.array_equal(one.ids, two.ids)
            assert one.n_drawn == two.n_drawn
            assert np.array_equal(one.X, two.X)


def test_a_large_row_group_is_read_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ParquetPool(folder).draw(DrawRequest(n_rows=30, band=NARROW))
    monkeypatch.setattr(data_files, "BYTES_AT_ONCE", 300)
    parts = ParquetPool(folder).draw(DrawRequest(n_rows=30, band=NARROW))
    assert np.array_equal(whole.X, parts.X)


def test_a_band_scan_reads_the_columns_of_its_normal(tmp_path: Path) -> None:
    """The footers are read as well; what is fetched afterwards is none of its rows."""
    write_folder(tmp_path, n_rows=60_000, file_rows=60_000, group_rows=20_000)
    pool = CountingPool(tmp_path)
    n_total, before = (tmp_path / "part-000.parquet").stat().st_size, pool.n_bytes
    nothing = Band(normal=NORMAL, width=1e-12)
    assert pool.draw(DrawRequest(n_rows=5, band=nothing)).n_rows == 0
    assert pool.n_bytes - before < 1.2 * 2 / 6 * n_total


def test_a_draw_without_a_band_reads_part_of_the_files(tmp_path: Path) -> None:
    write_folder(tmp_path, n_rows=60_000, file_rows=60_000, group_rows=1000)
    pool = CountingPool(tmp_path, n_places=10)
    before = pool.n_bytes
    pool.draw(DrawRequest(n_rows=500, band=EVERYTHING))
    assert pool.n_bytes - before < (tmp_path / "part-000.parquet").stat().st_size / 3


def test_empty_files_are_passed_over(folder: Path) -> None:
    rows, labels = rows_and_labels(600)
    for name in ("part-000-empty.parquet", "part-999.parquet"):
        pq.write_table(as_table(rows, labels).slice(0, 0), folder / name)
    draw = ParquetPool(folder).draw(DrawRequest(n_rows=1000, band=NARROW))
    assert draw.ids.tolist() == np.flatnonzero(np.abs(rows @ NORMAL) <= 0.4).tolist()


def test_a_pool_without_rows_is_refused(tmp_path: Path) -> None:
    pq.write_table(as_table(*rows_and_labels(3)).slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no rows"):
        ParquetPool(tmp_path)


def test_folders_named_by_key_and_value_are_columns(tmp_path: Path) -> None:
    rows, labels = rows_and_labels(60)
    for year in (2024, 2025):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(as_table(rows, labels), tmp_path / f"year={year}" / "a.parquet")
    pool = ParquetPool(tmp_path, columns=["x1", "year"])
    assert pool.take([0, 60, 119])[:, 1].tolist() == [2024, 2025, 2025]


def test_cells_and_rows_come_in_the_order_asked_for(folder: Path) -> None:
    rows, labels = rows_and_labels(600)
    pool, ids = ParquetPool(folder), [599, 0, 311, 0]
    assert pool.cells("answer", ids).tolist() == labels[ids].tolist()
    assert np.array_equal(pool.take(ids), rows[ids])


def test_a_learner_saves_and_continues(folder: Path, tmp_path: Path) -> None:
    def answer(_ids: Any, X: Any) -> Any:
        return np.where(X[:, 1] - X[:, 4] > 0, 1, -1)

    asked = {"sparsity": 2, "noise_rate": 0.0, "label_budget": 60, "random_state": 0}
    whole = ActiveLearner(ParquetPool(folder), **asked).learn_from(answer)
    learner = ActiveLearner(ParquetPool(folder), **asked)
    question = learner.ask()
    assert question is not None
    learner.tell(answer(question.ids, question.X))
    learner.save(tmp_path / "run.npz")
    again = ActiveLearner.restore(tmp_path / "run.npz", ParquetPool(folder)).learn_from(answer)
    assert np.array_equal(again.halfspace_, whole.halfspace_)
    assert np.flatnonzero(whole.halfspace_).tolist() == [1, 4]


# -- faults ------------------------------------------------------------------------------------


def _assert_refused(pool: ParquetPool, file: Path, part: str = "") -> None:
    with pytest.raises(UnreadablePart) as refused:
        pool.draw(DrawRequest(n_rows=600, band=NARROW))
    assert str(file) in str(refused.value)
    assert part in str(refused.value)


def test_a_missing_file_is_named(folder: Path) -> None:
    pool = ParquetPool(folder)
    (folder / "part-001.parquet").unlink()
    _assert_refused(pool, folder / "part-001.parquet")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_named(folder: Path, share: float) -> None:
    pool, file = ParquetPool(folder), folder / "part-002.parquet"
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    _assert_refused(pool, file)
    with pytest.raises(UnreadablePart, match="part-002"):
        ParquetPool(folder)


def test_a_changed_schema_is_noticed(folder: Path) -> None:
    pool, file = ParquetPool(folder), folder / "part-001.parquet"
    table = pq.read_table(file)
    pq.write_table(table.rename_columns(["y0", *table.column_names[1:]]), file)
    _assert_refused(pool, file, "changed")


def test_other_rows_of_the_same_size_are_noticed(folder: Path) -> None:
    pool, file = ParquetPool(folder), folder / "part-001.parquet"
    status = file.stat()
    rows, labels = rows_and_labels(200, seed=9)
    pq.write_table(as_table(rows, labels), file, row_group_size=50)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    _assert_refused(pool, file, "changed")


def test_missing_values_are_refused_with_their_place(tmp_path: Path) -> None:
    rows, labels = rows_and_labels(40)
    table = as_table(rows, labels).set_column(1, "x1", pa.array([None] + [1.0] * 39))
    pq.write_table(table, tmp_path / "a.parquet")
    _assert_refused(ParquetPool(tmp_path), tmp_path / "a.parquet", "row group 0")


def test_not_a_number_is_refused_with_its_place(tmp_path: Path) -> None:
    rows, labels = rows_and_labels(40)
    rows[30, 1] = np.nan
    pq.write_table(as_table(rows, labels), tmp_path / "a.parquet", row_group_size=20)
    _assert_refused(ParquetPool(tmp_path), tmp_path / "a.parquet", "row group 1")


def test_a_file_without_a_column_is_named(folder: Path) -> None:
    table = pq.read_table(folder / "part-001.parquet").drop_columns(["x3"])
    pq.write_table(table, folder / "part-001.parquet")
    with pytest.raises(UnreadablePart, match=r"part-001.*x3"):
        ParquetPool(folder)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadablePart, match="without Parquet or Arrow files"):
        ParquetPool(tmp_path)
    with pytest.raises(UnreadablePart, match="not found"):
        ParquetPool(tmp_path / "nowhere")


def test_an_unknown_column_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="'z'"):
        ParquetPool(folder, columns=[*NAMES, "z"])
