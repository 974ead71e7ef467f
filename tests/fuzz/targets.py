"""What is fuzzed: a file that is whole, ways to change it, and what is done with the result.

A new target needs a `Target`; the tests take all of `TARGETS`.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from estimators.saved import PREPARED
from estimators.saved import TEXT as MODEL
from fuzz import command_line
from fuzz import mutations as m
from fuzz.mutations import Mutation
from runs import Table
from table_files.written import WRITERS
from thresher.estimators import load_model
from thresher.experiments.arena.report import load_summaries
from thresher.experiments.arena.run import NAME, RecordFile, Run, read_records
from thresher.experiments.arena.summary import save_csv
from thresher.experiments.spec import SimulationSpec, TableSpec
from thresher.label_page.accounts import Account, Accounts
from thresher.learning import ActiveLearner, PracticalSchedule
from thresher.oracles import StreamPool
from thresher.preparation import Numbers, TablePreparation
from thresher.preparation.kinds import Categories
from thresher.table_files import LabeledTable, prepare_table, read_table


@dataclass(frozen=True)
class Target:
    """One kind of file.

    Parameters
    ----------
    name : of the file
    write : writes a whole one
    read : does with a file what users do; a `ThresherError` is the only thing that it may raise
    mutations : to choose from
    n_fast : number of cases in the fast suite
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    mutations: tuple[Mutation, ...]
    n_fast: int = 72


# -- tables ------------------------------------------------------------------------------------


COLUMN = ("numbers", 0, 1)
PREPARATION = TablePreparation(
    (Numbers("2", *COLUMN, median=0.5), Categories("1", *COLUMN, ("0.5", ""), ("7",), "0.5"))
)


def read_as_table(path: Path) -> None:
    """Read it as for learning, or as for prediction, strictly or as it is; numbers are finite."""
    id_column = "3" if path.suffix not in (".npz", ".svm") else None
    choices: list[Callable[[Path], LabeledTable]] = [
        read_table,
        partial(read_table, one_hot=True, features=["1", "2=0"]),
        partial(read_table, features=["2", "1"], with_labels=False),
        partial(read_table, id_column=id_column),
        prepare_table,
        partial(prepare_table, id_column=id_column),
        partial(prepare_table, preparation=PREPARATION, with_labels=False),
    ]
    table = choices[sum(path.read_bytes()) % len(choices)](path)
    assert np.isfinite(np.asarray(getattr(table.X, "data", table.X))).all()
    assert table.X.shape == (table.n_rows, len(table.feature_names))


TABLE_MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    ".csv": (m.damage, m.change_cell, m.change_cell),
    ".tsv": (m.damage, m.change_cell, m.change_cell),
    ".gz": (m.damage, m.repack_gzip, m.repack_gzip),
    ".svm": (m.damage, m.change_cell, m.change_cell),
    ".npz": (m.damage, m.repack_zip, m.repack_zip, m.repack_zip),
    ".parquet": (m.damage, m.extremes),
    ".arrow": (m.damage, m.extremes),
    ".feather": (m.damage, m.extremes),
}
TABLES = [name for name in WRITERS if name not in ("T.CSV", "t.svmlight", "t.libsvm")]


# -- models, runs, records ---------------------------------------------------------------------


def write_model(path: Path) -> None:
    """A model with everything in it."""
    path.write_text(MODEL)


def read_as_model(path: Path) -> None:
    """Load it, and predict with it."""
    model = load_model(path)
    if model.preparation is not None:
        rows = pd.DataFrame({n: ["1", "a b", None] for n in model.preparation.used_columns})
        assert np.isfinite(model.decision_function(rows)).all()
    elif model.n_features < 1000:
        assert np.isfinite(model.decision_function(np.ones((2, model.n_features)))).all()


ROWS = Table(n_rows=80, n_features=4, sparsity=2)
QUICK = PracticalSchedule(min_unlabeled=30, max_unlabeled=30)


def write_run(path: Path, *, stream: bool) -> None:
    """A run that has got half of its labels."""
    pool = StreamPool(ROWS.csr[[i]] for i in range(80)) if stream else ROWS.X
    options = {"sparsity": 2, "noise_rate": 0.0, "label_budget": 20, "schedule": QUICK}
    learner = ActiveLearner(pool, random_state=0, **options)
    question = learner.ask()
    assert question is not None
    learner.tell(ROWS.y[question.ids[:5]], ids=question.ids[:5])
    learner.save(path)


def read_as_run(path: Path, *, stream: bool) -> None:
    """Restore it, and save it again. A schedule of which a forger has made much work is given."""
    pool = StreamPool((), n_features=4, first_id=80) if stream else ROWS.X
    learner = ActiveLearner.restore(path, pool, schedule=QUICK)
    assert 0 <= learner.n_labels_ <= 80
    learner.save(path)


def write_records(path: Path) -> None:
    """A finished run, one that died, and one on a real table."""
    spec = SimulationSpec(n_features=9, sparsity=1, noise_rate=0.1, adversary="far-clump")
    records = [Run("thresher", spec, seed).unfinished("died", "gone", 1.0) for seed in range(3)]
    records[0] |= {"status": "finished", "error": 0.1, "n_labels": 30, "n_draws": 99}
    records.append(Run("x", TableSpec(table="mail"), 0).unfinished("timed out", "", None))
    with RecordFile(path) as file:
        for record in records:
            file.append({**record, "arena": "tiny", "schedule.shrink": 0.5})


def read_as_records(path: Path) -> None:
    """Read them; those that can be read are also summarized in a CSV file."""
    if read_records(path):
        (path.parent / "records.jsonl").write_bytes(path.read_bytes())
        save_csv(load_summaries(path.parent), path.parent / "cells.csv")
    json.dumps(read_records(path), ensure_ascii=False).encode()


# -- command lines -----------------------------------------------------------------------------


def write_commands(path: Path) -> None:
    """A command line for each verb and its options."""
    path.write_text(json.dumps(command_line.COMMANDS))
    write_records(path.with_name(NAME))


def read_as_arguments(path: Path) -> None:
    """Run the one command line that is left, or each."""
    lines = json.loads(path.read_bytes())
    commands = [line.split() for line in lines] if lines == command_line.COMMANDS else [lines]
    inputs = {**command_line.INPUTS, f"arena/{NAME}": path.with_name(NAME).read_bytes()}
    for arguments in commands:
        command_line.run_command(arguments, inputs, path.parent / "around" / "folder")


# -- links to a labeling page ------------------------------------------------------------------


def write_access(path: Path) -> None:
    """The links of an owner, and of an annotator who has used it; the same on every call."""
    people = [
        Account("owner", "owner", "0" * 64),
        Account("ann", "annotator", "1" * 64, ("2" * 64,)),
    ]
    content = {"format": "thresher access 1", "accounts": [asdict(person) for person in people]}
    path.write_text(json.dumps(content), encoding="utf-8")


def read_as_access(path: Path) -> None:
    """Sign in, and make a new link."""
    accounts = Accounts(path.parent)
    assert accounts.exchange("x") is None
    assert accounts.of_cookie("x") is None
    accounts.new_owner_link("owner")


TARGETS = [
    *(
        Target(name, WRITERS[name], read_as_table, TABLE_MUTATIONS[Path(name).suffix])
        for name in TABLES
    ),
    *(
        Target(name, partial(Path.write_text, data=text), read_as_model, (m.damage, m.change_json))
        for name, text in {"model.json": MODEL, "prepared.json": PREPARED}.items()
    ),
    Target(
        "run.npz",
        partial(write_run, stream=False),
        partial(read_as_run, stream=False),
        (m.damage, m.repack_zip, m.repack_zip),
    ),
    Target(
        "stream.npz",
        partial(write_run, stream=True),
        partial(read_as_run, stream=True),
        (m.damage, m.repack_zip, m.repack_zip),
    ),
    Target("access.json", write_access, read_as_access, (m.damage, m.change_json), 36),
    Target(
        "tiny.jsonl", write_records, read_as_records, (m.damage, m.change_json, m.change_json), 14
    ),
    Target(
        "commands.json", write_commands, read_as_arguments, (command_line.change_arguments,), 60
    ),
]
