"""Command lines that are damaged like files, and what is run with them.

They run in our own process, in a folder with a table, a model, a sweep and records of the arena.
Of `demo`, what takes long and depends on no argument is left out; the runs of `arena run` are not
given processes of their own.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from estimators.saved import TEXT as MODEL
from estimators.small import examine_quickly
from fuzz.mutations import HOSTILE_NUMBERS, HOSTILE_TEXTS
from thresher import cli
from thresher.errors import ThresherError
from thresher.experiments.arena.processes import Records, Task, workers
from thresher.experiments.arena.run import Run
from thresher.files import UNFINISHED

COMMANDS = [
    "demo --seed 3 --out demo",
    "learn table.csv --id-column id --label y --noise-rate 0.1 --sparsity 2 --out new.json",
    "learn table.csv --id-column id --choose 1,2 --seed 1 --out new.json",
    "audit table.csv --id-column id --noise-rate 0.05 --sparsity 2 --raw-csv --out rows.csv",
    "predict model.json table.csv --id-column id --label y --out answers.csv",
    "plan --features 9 --sparsity 2 --error 0.1 --noise-rate 0.01 --failure-probability 0.1",
    "plan --features 9 --sparsity 2 --error 0.1 --json",
    "simulate --features 9 --sparsity 1 --noise-rate 0.1 --adversary far-clump --label-budget 20 "
    "--strength 2 --seeds 1 --distribution laplace --json runs.json",
    "simulate --features 9 --sparsity 1 --told-noise-rate 0.02 --target-error 0.2 --seeds 0,2 "
    "--label-budget 20 --method thresher --verbose",
    "arena run tiny.toml --out arena --jobs 1 --retry-failed",
    "arena report arena --out arena.html --csv cells.csv",
]
# What a shell can pass: neither zero bytes nor halves of surrogate pairs other than of bytes.
TEXTS = [*(text for text in HOSTILE_TEXTS if text not in ("\0", "\ud800")), "\udcff", "-", "--"]
NUMBERS = [*map(str, HOSTILE_NUMBERS), "nan", "inf", "-inf", "1e-320", "0.5", "2", "3", "0.01"]
NUMBERS += ["1,", "0-2", "1e3", "all", "²", "١"]
NAMES = ["table.csv", "model.json", "tiny.toml", "arena", "missing.csv", ".", "id", "y", "a"]
OPTIONS = [
    *("--report r.html", "--figure f.png", "--one-hot", "--json", "--choose", "--sparsity all"),
    *("--help", "--version", "--scheduler here", "--data-dir .", "--label a", "--id-column a"),
]
LETTERS = "-=,.0é \x1b\n'\udcff"


def change_arguments(content: bytes, rng: np.random.Generator) -> bytes:
    """One of the lines of a JSON list as a list of words, after one or two changes."""
    lines = json.loads(content)
    words = lines[int(rng.integers(len(lines)))].split()
    for _ in range(int(rng.choice([1, 1, 2]))):
        words = _changed(words, rng) or [""]
    return json.dumps(words).encode()


def _changed(words: list[str], rng: np.random.Generator) -> list[str]:
    place = int(rng.integers(len(words)))
    before, word, after = words[:place], words[place], words[place + 1 :]
    match int(rng.integers(15)):
        case 0:
            return before + after
        case 1:
            return [*before, word, word, *after]
        case 2:
            return [*before, *reversed(words[place:])]
        case 3:
            return [*before, word, *_one_of(OPTIONS, rng).split(), *after]
        case 4:
            cut = int(rng.integers(len(word) + 1))
            return [*before, word[:cut] + _one_of(LETTERS, rng) + word[cut + 1 :], *after]
        case 5:
            return [*before, f"{word}={after[0] if after else ''}", *after[1:]]
        case _:  # most often another value after an option
            options = [i for i, word in enumerate(words[:-1]) if word.startswith("--")] or [-1]
            place = options[int(rng.integers(len(options)))] + 1
            return [*words[:place], _other_value(words[place], rng), *words[place + 1 :]]


def _other_value(value: str, rng: np.random.Generator) -> str:
    """Most often a value of the same kind: a number, or a name that ends alike."""
    if rng.random() < 0.2:
        return _one_of([*TEXTS, *NUMBERS, *NAMES], rng)
    if value[:1].isdigit():
        return _one_of(NUMBERS, rng)
    return _one_of(NAMES, rng) if rng.random() < 0.3 else _one_of(TEXTS, rng) + Path(value).suffix


def _one_of(values: list[str] | str, rng: np.random.Generator) -> str:
    return values[int(rng.integers(len(values)))]


# -- running them ------------------------------------------------------------------------------


def run_command(arguments: list[str], inputs: dict[str, bytes], folder: Path) -> None:
    """Run `thresher` in an empty folder with these files.

    Raises
    ------
    ThresherError : it was refused, with one line that says why
    AssertionError : an error without a type of ours, a file that is not whole, an odd exit code
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in inputs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    with chdir(folder), _quick_work():
        code, printed = _called(arguments)
        assert "Traceback" not in printed
        assert printed.replace("\n", "").replace("\xa0", "").isprintable()
        if code == cli.FAILURE:
            _check_kind_of_failure(arguments)
    written = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert all(is_whole(path) for path in written.values()), f"{arguments}: {sorted(written)}"
    if code == cli.MISUSE:
        assert {name: path.read_bytes() for name, path in written.items()} == inputs
    if code != 0:
        assert code in (cli.FAILURE, cli.MISUSE), f"{arguments}: {code}"
        line = printed.splitlines()[-1]
        assert line.startswith("thresher: error: ")
        raise ThresherError(line)


def _called(arguments: list[str]) -> tuple[int, str]:
    """The exit code, and what was printed."""
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n")
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # from the parser
            code = int(stop.code or 0)
    printed.seek(0)
    return code, printed.read()


def _check_kind_of_failure(arguments: list[str]) -> None:
    """A failure must be one that was foreseen; the command line prints any other as well."""
    try:
        _called(["--debug", *arguments])
    except (ThresherError, OSError, ValueError):
        return
    raise AssertionError(f"{arguments} fails only once")


@contextmanager
def _quick_work() -> Iterator[None]:
    """The verbs without what takes long."""
    with (
        mock.patch("thresher.experiments.arena.runner.workers", _without_processes),
        mock.patch("thresher.auditing.examine", examine_quickly),
        mock.patch("thresher.auditing.forest.N_TREES", 5),
        mock.patch("thresher.demo.compare", lambda _: np.zeros((3, 7))),
        mock.patch("thresher.demo.audit_split"),
        mock.patch("thresher.demo.describe_suspects", lambda *_: ""),
        mock.patch("thresher.demo.write_files", lambda *_: []),
    ):
        yield


@contextmanager
def _without_processes(n_jobs: int | None, scheduler: str | None) -> Iterator[Any]:
    def execute(tasks: list[Task], _: float) -> Records:
        for task in tasks:
            yield Run.from_record(task).execute(task.get("data_dir"))

    if scheduler is None:
        yield execute
    else:
        with workers(n_jobs, scheduler) as connected:
            yield connected


# -- what was written --------------------------------------------------------------------------


def is_whole(path: Path) -> bool:
    """Whether a file has its end, and is nothing that was to be replaced.

    Any file may have any content that a verb writes: some options take names of any ending.
    """
    content = path.read_bytes()
    return UNFINISHED not in path.name and any(check(content) for check in CHECKS)


def _is_json(content: bytes) -> bool:
    lines = content.splitlines() if content.count(b"\n{") else [content]
    return all(_parses(json.loads, line) for line in lines)


def _is_table(content: bytes) -> bool:
    lengths = {len(line) for line in csv.reader(content.decode("latin-1").split("\n")[:-1])}
    return content.endswith(b"\n") and len(lengths) == 1 and max(lengths) > 1


def _parses(parse: Callable[[Any], object], content: bytes) -> bool:
    try:
        parse(content.decode())
    except ValueError:
        return False
    return True


CHECKS: tuple[Callable[[bytes], bool], ...] = (
    _is_json,
    _is_table,
    lambda content: _parses(tomllib.loads, content),
    lambda content: content.rstrip().endswith(b"</html>"),
    lambda content: content.endswith(b"IEND\xaeB`\x82"),
)


# -- the files ---------------------------------------------------------------------------------


def table() -> bytes:
    """Rows with ids and the features of the model, whose labels depend on one of them."""
    rows = np.random.default_rng(0).standard_normal((24, 4)).round(3)
    labels = np.where(rows[:, 1] > 0, "yes", "no")
    lines = (f"r{i},{','.join(map(str, row))},{labels[i]}" for i, row in enumerate(rows.tolist()))
    return "\n".join(["id,a,b,c,d,y", *lines, ""]).encode()


SWEEP = b"""\
seeds = 1
[[worlds]]
n_features = 9
sparsity = 1
label_budget = 20
"""
INPUTS = {"table.csv": table(), "model.json": MODEL.encode(), "tiny.toml": SWEEP}
