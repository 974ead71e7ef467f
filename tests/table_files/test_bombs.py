"""Small files that would take much memory are refused before they take it."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from measuring import measured
from thresher import memory
from thresher.errors import NotEnoughMemory, ThresherError, UnreadableTable
from thresher.table_files import prepare_table, read_table

MB = 10**6
FREE = 60 * MB

Make = Callable[[Path, int], object]


def constant(path: Path, n_rows: int) -> None:
    """Equal rows, which Parquet writes as one."""
    rows = np.zeros(n_rows, dtype=np.int8)
    parquet.write_table(pa.table({"a": rows, "y": rows}), path)


def compressed_batch(path: Path, n_rows: int) -> None:
    rows = np.zeros(n_rows)
    feather.write_feather(
        pa.table({"a": rows, "y": rows}), str(path), compression="zstd", chunksize=n_rows
    )


def nothing(path: Path, n_rows: int) -> None:
    """Missing values, of which a stream holds only the number."""
    rows = pa.nulls(n_rows)
    table = pa.table({"a": rows, "y": rows})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def repeated_text(path: Path, n_rows: int) -> None:
    """One long text in all rows, which lies once in the file."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), ["long " * 20_000])
    parquet.write_table(pa.table({"a": texts, "y": np.arange(n_rows) % 2}), path)


def common_beginnings(path: Path, n_rows: int) -> None:
    """Long texts, of which each is written as what it adds to the one before."""
    texts = ["long " * 20_000] * n_rows
    parquet.write_table(
        pa.table({"a": texts, "y": np.arange(n_rows) % 2}),
        path,
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    )


def small_integers(path: Path, n_rows: int) -> None:
    """One byte for each number, which takes eight as a feature."""
    np.savez_compressed(path, X=np.zeros((n_rows, 10), np.uint8), y=np.zeros(n_rows, np.uint8))


def wide_lines(path: Path, n_columns: int) -> None:
    names = ",".join(f"c{i}" for i in range(n_columns))
    path.write_text(f"{names}\n{','.join('1' * n_columns)}\n")


def nothing_but_commas(path: Path, n_columns: int) -> None:
    with gzip.open(path, "wb") as file:
        file.write(b"," * n_columns + b"\n")


def many_short_lines(path: Path, n_rows: int) -> None:
    with gzip.open(path, "wb") as file:
        file.write(b"a,y\n" + b"1,1\n" * n_rows)


def far_feature(path: Path, number: int) -> None:
    path.write_text(f"1 {number}:1\n-1 1:1\n")


BOMBS: dict[str, tuple[Make, int]] = {
    "constant.parquet": (constant, 3 * 10**6),
    "repeated.parquet": (repeated_text, 2_000),
    "beginnings.parquet": (common_beginnings, 700),
    "compressed.feather": (compressed_batch, 10**7),
    "nothing.arrow": (nothing, 10**8),
    "integers.npz": (small_integers, 10**6),
    "wide.csv": (wide_lines, 5_000),
    "commas.csv.gz": (nothing_but_commas, 10**6),
    "lines.csv.gz": (many_short_lines, 4 * 10**6),
    "far.svm": (far_feature, 9_999_999),
}


def test_memory_is_measured_wherever_it_is_taken() -> None:
    with measured() as nothing_taken:
        pass
    with measured() as taken:
        taken_by_numpy, taken_by_arrow = np.ones(MB // 8), pa.allocate_buffer(MB)
    assert nothing_taken.n_bytes < MB / 10
    assert taken.n_bytes >= taken_by_numpy.nbytes + taken_by_arrow.size


@pytest.mark.parametrize("read", [read_table, prepare_table])
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_with_both_numbers_before_it_goes_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[..., object]
) -> None:
    path = tmp_path / name
    make, size = BOMBS[name]
    make(path, size)
    assert path.stat().st_size < MB / 10
    monkeypatch.setattr(memory, "available_memory", lambda: FREE)
    with (
        measured() as peak,
        pytest.raises(NotEnoughMemory, match=r"needs about .* GB of memory, but only 0\.06 GB"),
    ):
        read(path)
    assert peak.n_bytes < 2 * FREE


class Unlimited(int):
    """More memory than anybody asks for; what was asked for is written down."""

    asked: list[int]

    def __lt__(self, other: int) -> bool:
        self.asked.append(other)
        return False


SMALL = {
    "constant.parquet": 10**6,
    "repeated.parquet": 300,
    "beginnings.parquet": 300,
    "compressed.feather": 10**6,
    "nothing.arrow": 10**6,
    "integers.npz": 3 * 10**5,
    "wide.csv": 500,
    "commas.csv.gz": 10**4,
    "lines.csv.gz": 10**6,
    "far.svm": 10**5,
    "texts.parquet": 10**4,
    "texts.feather": 10**4,
    "texts.csv": 10**4,
}


def many_words(path: Path, n_rows: int) -> None:
    """Sentences in which no word occurs twice."""
    words = iter(range(20 * n_rows))
    lines = [" ".join(f"{next(words):x}" for _ in range(20)) + f",{i % 2}\n" for i in range(n_rows)]
    path.write_text("a,y\n" + "".join(lines))


@pytest.mark.slow
def test_no_more_than_twice_the_estimate_is_taken_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_words(tmp_path / "t.csv", 20_000)
    asked = asked_for(monkeypatch)
    with measured() as peak, suppress(UnreadableTable):
        prepare_table(tmp_path / "t.csv")
    assert 80 * MB < peak.n_bytes < 2 * max(asked)


def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What is asked for from now on, all of which is granted."""
    free = Unlimited(10**15)
    free.asked = []
    monkeypatch.setattr(memory, "available_memory", lambda: free)
    return free.asked


ALIKE = {"texts.parquet", "texts.feather"}  # prepared as the CSV file is


def texts_and_numbers(path: Path, n_rows: int) -> None:
    numbers = np.random.default_rng(0).standard_normal((20, n_rows))
    texts = {"id": [f"row {i}" for i in range(n_rows)], "y": ["no", "yes"] * (n_rows // 2)}
    table = pa.table({**{f"c{i}": column for i, column in enumerate(numbers)}, **texts})
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        parquet.write_table(table, path)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        *((name, read_table) for name in SMALL),
        *((name, prepare_table) for name in SMALL if name not in ALIKE),
        *(pytest.param(name, prepare_table, marks=pytest.mark.slow) for name in ALIKE),
    ],
)
def test_no_more_than_twice_the_estimate_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[..., object]
) -> None:
    path, has_ids = tmp_path / name, name.startswith("texts")
    make = texts_and_numbers if has_ids else BOMBS[name][0]
    make(path, SMALL[name])
    asked = asked_for(monkeypatch)
    with measured() as peak, suppress(UnreadableTable):
        read(path, id_column="id" if has_ids and read is read_table else None)
    assert 0 < peak.n_bytes < 2 * max(asked)


# The same in full size, with a limit that the system enforces.

PROGRAM = """
import resource, sys
from thresher.errors import NotEnoughMemory
from thresher.table_files import read_table
import pyarrow.parquet, sklearn.datasets
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * 10**9, -1))
try:
    read_table(sys.argv[1])
except NotEnoughMemory as error:
    print(error)
"""

FULL: dict[str, tuple[Make, int]] = {
    "constant.parquet": (constant, 10**8),
    "repeated.parquet": (repeated_text, 100_000),
    "compressed.feather": (compressed_batch, 10**8),
    "integers.npz": (small_integers, 5 * 10**7),
    "wide.csv": (wide_lines, 10**6),
    "commas.csv.gz": (nothing_but_commas, 6 * 10**6),
    "lines.csv.gz": (many_short_lines, 10**8),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_a_bomb_is_refused_within_the_address_space_that_is_left(tmp_path: Path, name: str) -> None:
    make, size = FULL[name]
    make(tmp_path / name, size)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert "needs about" in done.stdout
    assert not done.stderr


def test_not_enough_memory_is_one_of_our_errors() -> None:
    assert issubclass(NotEnoughMemory, ThresherError)
