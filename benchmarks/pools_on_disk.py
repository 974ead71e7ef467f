"""Pools larger than memory: memory, bytes read, and time beside one plain pass with pyarrow.

    python -m benchmarks.pools_on_disk --folder DIR [--rows 4000000] [--keep]

Writes rows × 500 single-precision numbers (8 GB for 4,000,000 rows) below the folder, and measures
each kind of work in a process of its own, on all rows and on half of them. Before each, the files
are dropped from the system's cache: a pool that is larger than memory comes from the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import ActiveClassifier, ActiveLearner
from thresher.geometry import Band
from thresher.oracles import Draw, DrawRequest, ParquetPool
from thresher.oracles.large.engines import arrow
from thresher.validation import FloatArray

N_FEATURES, SPARSITY, NOISE_RATE = 500, 10, 0.05
FILE_ROWS, GROUP_ROWS, FILES_PER_DRAW = 100_000, 10_000, 10
N_LABELS = 1500  # that `ActiveLearner` buys
N_ASKED = 100  # labels that `ActiveClassifier` buys here
GIGABYTE = 1e9
TARGET = np.zeros(N_FEATURES)
TARGET[37 * np.arange(SPARSITY)] = SPARSITY**-0.5


# -- the rows ----------------------------------------------------------------------------------


def write_rows(folder: Path, n_rows: int) -> None:
    """Normal rows, labeled by a sparse halfspace; planted ones say the opposite, far inside.

    New rows are drawn for every tenth file. The others have the same ones with their columns in
    another order, relevant ones among themselves: as random, all different, and sooner made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parquet, names = arrow("parquet"), [f"c{j:03}" for j in range(N_FEATURES)]
    relevant, others = np.flatnonzero(TARGET), np.flatnonzero(TARGET == 0)
    order = np.arange(N_FEATURES)
    for number in range(-(-n_rows // FILE_ROWS)):
        rng = np.random.default_rng(number)
        if number % FILES_PER_DRAW == 0:
            columns, labels = _drawn(min(FILE_ROWS, n_rows), rng)
        order[relevant], order[others] = rng.permutation(relevant), rng.permutation(others)
        size = min(FILE_ROWS, n_rows - number * FILE_ROWS)
        table = arrow().table([*(columns[j] for j in order), labels], names=[*names, "label"])
        path = folder / f"part-{number:03}.parquet"
        how = {"row_group_size": GROUP_ROWS, "use_dictionary": ["label"]}
        parquet.write_table(table.slice(0, size), path, **how)


def _drawn(n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[Any]]:
    columns = rng.standard_normal((N_FEATURES, n_rows), dtype=np.float32)
    labels = np.where(columns[TARGET > 0].sum(axis=0) > 0, "yes", "no")
    planted = rng.random(n_rows) < NOISE_RATE
    columns[:, planted] *= np.float32(0.3)
    columns[:, planted] += (2.5 * TARGET[:, None]).astype(np.float32)
    labels[planted] = "no"
    return columns, labels


def link_half(folder: Path, half: Path) -> None:
    """A folder with the first half of the files, without a copy of them."""
    half.mkdir(exist_ok=True)
    files = sorted(folder.glob("*.parquet"))
    for file in files[: max(1, len(files) // 2)]:
        os.link(file, half / file.name)


def drop_from_cache(folder: Path) -> None:
    """Let the next reader of the files read them from the disk, where the system does so."""
    for path in folder.glob("*.parquet"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# -- what is measured, each in a process of its own ------------------------------------------------


class CountingPool(ParquetPool):
    """Counts the bytes that are read, in a wrapping file object."""

    n_bytes = 0

    def open_file(self, path: Path) -> Any:
        return arrow().PythonFile(_CountingFile(path, self), mode="r")


class _CountingFile:
    closed = False

    def __init__(self, path: Path, pool: CountingPool) -> None:
        self._file, self._pool = path.open("rb", buffering=0), pool
        self.seek, self.tell, self.close = self._file.seek, self._file.tell, self._file.close
        self.readable = self.seekable = lambda: True
        self.writable = lambda: False

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._pool.n_bytes += len(content)
        return content


def plain_pass(folder: Path) -> dict[str, float]:
    """All columns of all rows with pyarrow, which does nothing with them."""
    n_rows = sum(batch.num_rows for batch in arrow("dataset").dataset(folder).to_batches())
    return {"rows": n_rows}


def active_learner(folder: Path) -> dict[str, float]:
    """The paper's learner; its labels are read from the files as well."""
    pool = ParquetPool(folder)
    learner = ActiveLearner(
        pool, sparsity=SPARSITY, noise_rate=NOISE_RATE, label_budget=N_LABELS, random_state=0
    )
    learner.learn_from(lambda ids, _: np.where(pool.cells("label", ids) == "yes", 1, -1))
    angle = np.arccos(np.clip(learner.halfspace_ @ TARGET, -1, 1))
    return {"labels": learner.n_labels_, "error": float(angle / np.pi)}


def draws(folder: Path) -> dict[str, float]:
    """The share of the files that is read by a first draw, by a band scan and with its rows."""
    pool = CountingPool(folder)
    n_total = sum(path.stat().st_size for path in folder.glob("*.parquet"))

    def share(draw: Callable[[], object]) -> float:
        before = pool.n_bytes
        draw()
        return (pool.n_bytes - before) / n_total

    def drawn(normal: FloatArray, width: float) -> Draw:
        return pool.draw(DrawRequest(n_rows=12_429, band=Band(normal=normal, width=width)))

    return {
        "first draw": share(lambda: drawn(np.zeros(N_FEATURES), np.inf)),
        "band scan": share(lambda: drawn(TARGET, 1e-12)),  # in which there is no row to fetch
        "band with rows": share(lambda: drawn(TARGET, 0.2)),
    }


def active_classifier(folder: Path) -> dict[str, float]:
    """What a person with a pool uses, and predictions for all of it."""
    pool = ParquetPool(folder)
    how: dict[str, Any] = {"noise_rate": NOISE_RATE, "sparsity": SPARSITY}
    learner = ActiveClassifier(pool, label_budget=N_ASKED, random_state=0, **how)
    while (question := learner.ask()) is not None:
        learner.tell(pool.cells("label", question.ids))
    share = float(np.mean(learner.predict(pool) == "yes"))
    return {"labels": learner.n_labels_, "predicted yes": share}


def _command(*arguments: str) -> dict[str, float]:
    from thresher.cli import main

    return {"exit code": main(arguments)}


def learn(folder: Path) -> dict[str, float]:
    """`thresher learn FOLDER`."""
    return _command("learn", str(folder), "--out", str(folder.parent / "model.json"))


def audit(folder: Path) -> dict[str, float]:
    """`thresher audit FOLDER`, with the trust in every row."""
    return _command("audit", str(folder), "--out", str(folder.parent / "rows.csv"))


WORK: Mapping[str, Callable[[Path], dict[str, float]]] = {
    "plain_pass": plain_pass,
    "learn": learn,
    "audit": audit,
    "active_learner": active_learner,
    "active_classifier": active_classifier,
    "draws": draws,
}


# -- bars --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """How one kind of work went."""

    work: str
    rows: int
    seconds: float
    processor_seconds: float
    gigabytes: float
    found: dict[str, float]


def measure(work: str, folder: Path, n_rows: int) -> Measured:
    """Do the work in a process of its own; seconds and memory are those of the process."""
    drop_from_cache(folder)
    command = [sys.executable, "-m", "benchmarks.pools_on_disk", "--work", work]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--folder", str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = process.stdout.read().decode().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"{work} ended with status {status}")
    found = json.loads(lines[-1])
    busy = usage.ru_utime + usage.ru_stime
    return Measured(work, n_rows, seconds, busy, found.pop("gigabytes"), found)


def peak_gigabytes() -> float:
    """The most memory that this process has taken; its parent's before the start does not count."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / GIGABYTE


def bars(whole: dict[str, Measured], half: dict[str, Measured]) -> list[tuple[str, float, float]]:
    """What is bounded: name, value and bound."""
    plain = whole["plain_pass"].seconds
    found = [
        ("active_learner: GB", whole["active_learner"].gigabytes, 1.0),
        (
            "band scan: share of the files over s/d",
            whole["draws"].found["band scan"] / (SPARSITY / N_FEATURES),
            1.2,
        ),
        ("active_classifier: GB", whole["active_classifier"].gigabytes, 1.5),
    ]
    for verb in ("learn", "audit"):
        found.append((f"{verb}: GB", whole[verb].gigabytes, 2.0))
        found.append((f"{verb}: plain passes", whole[verb].seconds / plain, 6.0))
    for work in ("active_learner", "active_classifier", "learn", "audit"):
        one, two = half[work], whole[work]
        found.append((f"{work}: memory of twice the rows", two.gigabytes / one.gigabytes, 1.1))
        found.append((f"{work}: time of twice the rows", two.seconds / one.seconds, 2.0))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print what is measured; 0 if every bar holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pools_on_disk")
    parser.add_argument("--folder", type=Path, required=True, help="where the files are written")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--keep", action="store_true", help="keep the files")
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work is not None:
        found = WORK[options.work](options.folder)
        print(json.dumps({**found, "gigabytes": peak_gigabytes()}))
        return 0
    whole, half = options.folder / "whole", options.folder / "half"
    try:
        return _measure_all(whole, half, options.rows)
    finally:
        if not options.keep:
            shutil.rmtree(options.folder)


def _measure_all(whole: Path, half: Path, n_rows: int) -> int:
    start = time.perf_counter()
    if not whole.exists():
        write_rows(whole, n_rows)
        link_half(whole, half)
    print(f"{n_rows:,} rows written in {time.perf_counter() - start:.0f} s", flush=True)
    results: dict[str, dict[str, Measured]] = {"whole": {}, "half": {}}
    for name, folder, size in (("whole", whole, n_rows), ("half", half, n_rows // 2)):
        for work in WORK:
            results[name][work] = found = measure(work, folder, size)
            print(json.dumps(asdict(found)), flush=True)
    measured = bars(results["whole"], results["half"])
    for what, value, bound in measured:
        print(f"{what:45} {value:8.3f} ≤ {bound:g} {'' if value <= bound else 'MISSED'}")
    return int(any(value > bound for _, value, bound in measured))


if __name__ == "__main__":
    sys.exit(main())
