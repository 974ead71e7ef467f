"""Every error of Thresher's own is raised here, by real use, and its message can be acted upon.

A message says what happened, where, what is kept, and what to do next; each test names the words
that say so. An error that lost nothing because nothing had begun needs no third part.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.large.files import write_folder
from runs import SMALL, Table, active, finish, oracle
from thresher import ActiveClassifier, HalfspaceClassifier, LabelSession, errors, memory
from thresher.errors import ThresherError, UncertifiedPhase, warn_caller
from thresher.label_sessions.disk import SystemFile
from thresher.learning import ActiveLearner
from thresher.oracles import ParquetPool
from thresher.outliers import remove_outliers
from thresher.table_files import read_table

TABLE = Table()
WARNINGS = {
    UncertifiedPhase,
    errors.DistrustedClass,
    errors.DoubtfulLabels,
    errors.UnsuitablePool,
}


@dataclass(frozen=True)
class Case:
    """How an error comes about, and the words in which it says what, where, what is kept, next."""

    error: type[BaseException]
    provoke: Callable[[Path, pytest.MonkeyPatch], Any]
    words: tuple[str, ...]


def _budget_of_labels(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    schedule = replace(SMALL, use_every_row=True)
    active(TABLE.X, schedule=schedule, label_budget=20).ask()


def _unknown_id(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    source = oracle()
    active(source).ask()
    source.reveal([10**9])


def _no_usable_row(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    active(1e9 * TABLE.X).ask()


def _tell_without_question(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    active(TABLE.X).tell([1.0])


def _another_pool(path: Path, _patch: pytest.MonkeyPatch) -> None:
    learner = active(TABLE.X)
    learner.ask()
    learner.save(path)
    ActiveLearner.restore(path, Table(seed=1).X)


def _repeated_id(path: Path, _patch: pytest.MonkeyPatch) -> None:
    source = oracle()
    learner = active(source)
    learner.tell(source.reveal(learner.ask().ids))
    learner.save(path)
    ActiveLearner.restore(path, oracle(seed=1))


def _damaged_file(path: Path, _patch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"something else")
    ActiveLearner.restore(path, TABLE.X)


def _unreadable_table(path: Path, _patch: pytest.MonkeyPatch) -> None:
    np.savez(path, X=np.array([[1.0], [np.nan]]), y=[0, 1])
    read_table(path)


def _unreadable_part(path: Path, _patch: pytest.MonkeyPatch) -> None:
    folder = path.parent / "pool"
    write_folder(folder)
    pool = ParquetPool(folder)
    (folder / "part-001.parquet").unlink()
    pool.take([0, 300])


def _distrusted_class(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).standard_normal((1000, 5))
    is_small = rows[:, 0] > np.quantile(rows[:, 0], 0.98)
    HalfspaceClassifier(2, 0.1, final_fit="hinge").fit(rows, is_small)


def _careless_adversary(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    class Careless:
        def corrupt(self, n_rows: int, view: Any, _rng: Any) -> Any:
            return np.zeros((n_rows, view.n_features)), np.zeros(n_rows)

    active(oracle(noise_rate=0.2, adversary=Careless())).ask()


def _not_enough_memory(_path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory, "available_memory", lambda: 10**3)
    remove_outliers(TABLE.X, l2_radius=1.0, l1_radius=2.0, outlier_fraction=0.1)


def _uncertified(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    finish(active(TABLE.X, schedule=replace(SMALL, variance_factor=1e-6)), TABLE.reveal)


def _unscaled_pool(*_: Any) -> None:
    ActiveLearner(TABLE.X / 100, sparsity=2, noise_rate=0.0, random_state=0).ask()


def _one_class_of_answers(_path: Path, _patch: pytest.MonkeyPatch) -> None:
    learner = ActiveClassifier(TABLE.X, random_state=0)
    while (question := learner.ask()) is not None:
        learner.tell(["ham"] * len(question.ids))


def _session(path: Path) -> LabelSession:
    return LabelSession.create(path.parent / "mail", TABLE.X[:60], random_state=0)


def _damaged_journal(path: Path, _patch: pytest.MonkeyPatch) -> None:
    _session(path).close()
    journal = path.parent / "mail" / "journal.txt"
    journal.write_bytes(journal.read_bytes().replace(b"header", b"reader", 1))
    LabelSession.open(path.parent / "mail", TABLE.X[:60])


def _second_writer(path: Path, _patch: pytest.MonkeyPatch) -> None:
    with _session(path) as session:
        LabelSession.open(session.folder, TABLE.X[:60])


def _failing(call: str, error: OSError) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def provoke(path: Path, patch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise error

        with _session(path) as session:
            patch.setattr(SystemFile, call, fail)
            session.note("ann", "hello")

    return provoke


CASES = {
    "damaged journal": Case(
        errors.DamagedJournal,
        _damaged_journal,
        ("line 1, byte 0", "journal.txt", "was not changed", "thresher label repair"),
    ),
    "second writer": Case(
        errors.SessionInUse, _second_writer, ("mail is open in process", " on ", "close it there")
    ),
    "disk full": Case(
        errors.NotSaved,
        _failing("write", OSError(28, "No space left on device")),
        ("No space left", "2 journal lines, is safe", "answer again"),
    ),
    "failing disk": Case(
        errors.SessionStopped,
        _failing("sync", OSError(5, "Input/output error")),
        ("did not confirm", "The first 2 lines", "are safe", "open the session again"),
    ),
    "labels": Case(
        errors.BudgetExceeded,
        _budget_of_labels,
        ("labels are needed", "the budget has only 20 left", "0 labels and 0 phases are kept"),
    ),
    "unknown id": Case(
        errors.UnknownId, _unknown_id, ("id 1000000000 was never drawn", "so far are 0 to 199")
    ),
    "no usable row": Case(
        errors.LearningStopped,
        _no_usable_row,
        ("no usable row", "200 draws are kept", "Scale the features"),
    ),
    "no question": Case(
        errors.LearningStopped, _tell_without_question, ("no question to answer", "call ask first")
    ),
    "another pool": Case(
        errors.LearningStopped,
        _another_pool,
        ("its rows differ", "saved file is unchanged", "restore it with the same table"),
    ),
    "repeated id": Case(
        errors.LearningStopped,
        _repeated_id,
        ("the id of an earlier row", "ids, ", "labels so far are kept", "a first_id"),
    ),
    "damaged file": Case(
        errors.DamagedFile, _damaged_file, ("run.npz", "damaged", "was not changed")
    ),
    "table": Case(
        errors.UnreadableTable,
        _unreadable_table,
        ("run.npz", "missing values", "'x0' (1)", "row 1", "fill them in"),
    ),
    "part of a pool": Case(
        errors.UnreadablePart,
        _unreadable_part,
        ("part-001.parquet", "was not found", "move it out of the folder"),
    ),
    "adversary": Case(
        errors.AdversaryError,
        _careless_adversary,
        ("the adversary Careless", "y[0] is 0.0", "must be -1 or +1"),
    ),
    "memory": Case(
        errors.NotEnoughMemory,
        _not_enough_memory,
        ("the second moment of 20 features", "is free", "use fewer features"),
    ),
    "distrusted class": Case(
        errors.DistrustedClass,
        _distrusted_class,
        ("class True (20 of 1000 rows)", "a mean trust of", "a smaller noise_rate"),
    ),
    "one class of answers": Case(
        errors.DoubtfulLabels,
        _one_class_of_answers,
        ("all labels so far are 'ham'", "random rows are asked about", "as initial_labels"),
    ),
    "a pool that is not scaled": Case(
        errors.UnsuitablePool,
        _unscaled_pool,
        ("a root mean square of about", "scale the columns to mean 0", "or use ActiveClassifier"),
    ),
    "uncertified": Case(
        UncertifiedPhase,
        _uncertified,
        ("phase 1", "outlier removal is infeasible", "see phases_ for the bounds"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_says_what_happened_where_what_is_kept_and_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    with pytest.raises(case.error) as caught:
        case.provoke(tmp_path / "run.npz", monkeypatch)
    message = str(caught.value)
    assert [words for words in case.words if words not in message] == [], message


def test_every_error_class_has_a_case() -> None:
    classes = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert classes - {ThresherError} == {case.error for case in CASES.values()}


def test_every_error_but_the_warning_is_caught_by_one_name() -> None:
    raised = {case.error for case in CASES.values()} - WARNINGS
    assert all(issubclass(error, ThresherError) for error in raised)


def test_the_tree_in_the_docstring_names_every_error() -> None:
    tree = inspect.getdoc(errors)
    raised = {case.error for case in CASES.values()} - WARNINGS
    assert [error.__name__ for error in raised if error.__name__ not in tree] == []


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.UnknownId, ValueError),
        (errors.DamagedFile, ValueError),
        (errors.UnreadableTable, ValueError),
        (errors.AdversaryError, ValueError),
        (errors.NotEnoughMemory, MemoryError),
        (UncertifiedPhase, UserWarning),
        (errors.DistrustedClass, UserWarning),
    ],
)
def test_an_error_is_also_what_a_caller_would_expect(
    error: type[BaseException], builtin: type[BaseException]
) -> None:
    assert issubclass(error, builtin)


def test_after_any_case_a_new_run_succeeds() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert finish(active(TABLE.X), TABLE.reveal).halfspace_.any()


def test_a_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match="a word") as caught:
        warn_caller("a word", UserWarning)
    assert caught[0].filename == __file__
