"""What Arrow files say about themselves is believed only as far as the file goes."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pytest

from table_files.written import WRITERS, arrow_table
from thresher.errors import UnreadableTable
from thresher.table_files import read_table
from thresher.table_files.arrow_headers import arrow_sizes
from thresher.table_files.table import Refusal

N_ROWS = 1000
TEXTS = pa.array([f"text {i % 7}" for i in range(N_ROWS)]).dictionary_encode()
TABLE = pa.table({"a": np.zeros(N_ROWS), "b": np.arange(N_ROWS), "t": TEXTS})


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("n_rows_at_once", [N_ROWS, 300])
def test_the_sizes_are_those_of_the_batches(
    tmp_path: Path, compression: str, n_rows_at_once: int
) -> None:
    path = tmp_path / "t.feather"
    feather.write_feather(TABLE, str(path), compression=compression, chunksize=n_rows_at_once)
    sizes = arrow_sizes(path)
    assert sizes.n_rows == N_ROWS
    dictionary = TABLE["t"].chunk(0).dictionary.nbytes
    batch = TABLE.to_batches(n_rows_at_once)[0]
    numbers = sum(batch.column(name).nbytes for name in ("a", "b"))
    indices = batch.column("t").indices.nbytes
    assert sizes.n_bytes == pytest.approx(numbers + indices + dictionary, rel=0.02)


def test_a_stream_is_measured_as_well(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)
    assert arrow_sizes(path).n_rows == N_ROWS


@pytest.mark.parametrize("name", ["t.feather", "t.arrow"])
def test_a_length_beyond_the_file_is_refused_before_it_is_taken(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "t.feather":  # a compressed part may be longer than the file
        feather.write_feather(arrow_table(), str(path), compression="uncompressed")
    else:
        WRITERS[name](path)
    whole, n_refused = path.read_bytes(), 0
    for place in range(0, len(whole) - 8, 4):
        path.write_bytes(whole[:place] + struct.pack("<q", 2**40) + whole[place + 8 :])
        try:
            assert arrow_sizes(path).n_bytes <= len(whole)
        except Refusal:
            n_refused += 1
    assert n_refused > 5


@pytest.mark.parametrize("name", ["t.feather", "t.arrow"])
def test_a_file_that_is_cut_while_it_is_read_is_damaged(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    table = pa.table({"a": np.arange(200_000.0), "y": np.arange(200_000) % 2})
    if name == "t.feather":
        feather.write_feather(table, str(path), compression="uncompressed", chunksize=50_000)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50_000)

    def shorten(n_bytes: int, _: int) -> None:
        if n_bytes > 0 and path.stat().st_size > 1000:
            with path.open("r+b") as file:
                file.truncate(1000)

    with pytest.raises(UnreadableTable, match=r"is damaged, truncated|changed while"):
        read_table(path, progress=shorten)


def test_a_file_without_its_end_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    WRITERS["t.feather"](path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UnreadableTable, match="is damaged, truncated"):
        read_table(path)
