"""scikit-learn's callbacks: a task a phase, a bar that moves, and an end on request."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from estimators.small import QUICK, fitted, table
from thresher import HalfspaceClassifier, HalfspaceClassifierCV

callback = pytest.importorskip("sklearn.callback")

TABLE = table()


@cache
def whole() -> HalfspaceClassifier:
    """The fit without callbacks."""
    return fitted(TABLE.X, TABLE.y)


class Recorder:
    """Records its calls, and asks to stop after some phases."""

    def __init__(self, stop_after: int = 100) -> None:
        self.stop_after = stop_after
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.tables: list[Any] = []

    def setup(self, **_: Any) -> None:
        self.begun.append("setup")

    def teardown(self, **_: Any) -> None:
        self.ended.append("teardown")

    def on_fit_task_begin(self, _: Any, context: Any, *, X: Any = None) -> None:
        self.begun.append(context.task_name)
        self.tables.append(X)

    def on_fit_task_end(self, _: Any, context: Any) -> bool:
        self.ended.append(context.task_name)
        return self.ended.count("phase") >= self.stop_after


def recorded(recorder: Recorder, X: Any = TABLE.X, **changes: Any) -> HalfspaceClassifier:
    """A fit with a callback."""
    options = {"sparsity": 2, "noise_rate": 0.02, "final_fit": "hinge", "random_state": 0}
    model = HalfspaceClassifier(**{**options, **changes}).set_callbacks(recorder)
    return model.fit(X, TABLE.y)


def test_every_phase_is_a_task_of_the_fit() -> None:
    recorder = Recorder()
    recorded(recorder)
    assert recorder.begun == ["setup", "fit", *["phase"] * whole().n_iter_]
    assert recorder.ended == [*["phase"] * whole().n_iter_, "fit", "teardown"]


def test_callbacks_see_the_table_that_was_given() -> None:
    recorder = Recorder()
    recorded(recorder)
    assert all(X is TABLE.X for X in recorder.tables)


@pytest.mark.parametrize("n_phases", [1, 2])
def test_a_callback_that_asks_to_stop_ends_the_fit_after_that_phase(n_phases: int) -> None:
    assert n_phases < whole().n_iter_
    model = recorded(Recorder(stop_after=n_phases))
    assert model.n_iter_ == len(model.phases_) == n_phases
    assert model.score(TABLE.X, TABLE.y) > 0.8


def test_the_phases_before_the_end_are_those_of_the_whole_run() -> None:
    model = recorded(Recorder(stop_after=2))
    assert model.phases_[1].halfspace.tobytes() == whole().phases_[1].halfspace.tobytes()


def test_callbacks_change_nothing_else() -> None:
    assert recorded(Recorder()).coef_.tobytes() == whole().coef_.tobytes()


def test_callbacks_are_taken_down_after_an_error() -> None:
    class Failing(Recorder):
        def on_fit_task_end(self, *_: Any) -> bool:
            raise RuntimeError("no room on the screen")

    recorder = Failing()
    with pytest.raises(RuntimeError, match="no room on the screen"):
        recorded(recorder)
    assert recorder.ended == ["teardown"]


def test_the_progress_bar_of_scikit_learn_works(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    model = HalfspaceClassifier(2, random_state=0).set_callbacks(callback.ProgressBar())
    model.fit(TABLE.X, TABLE.y)
    assert "HalfspaceClassifier" in capsys.readouterr().out


# -- estimators on the way -------------------------------------------------------------------


def monitored(model: Any) -> Any:
    """The accuracies that scikit-learn's monitor wrote down, by task."""
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model.set_callbacks(monitor).fit(TABLE.X, TABLE.y)
    log = monitor.get_logs().data
    return [(row["task_name"], row["accuracy"]) for row in log]


def test_the_scoring_monitor_of_scikit_learn_gets_a_score_a_phase() -> None:
    scores = monitored(HalfspaceClassifier(2, 0.02, final_fit="hinge", random_state=0))
    stopped = [recorded(Recorder(stop_after=n)).score(TABLE.X, TABLE.y) for n in (1, 2)]
    last = whole().score(TABLE.X, TABLE.y)
    assert [name for name, _ in scores] == ["fit", *["phase"] * whole().n_iter_]
    assert scores[0] == ("fit", last)
    assert [score for _, score in [*scores[1:3], scores[-1]]] == [*stopped, last]


def test_the_estimator_after_a_phase_is_the_one_of_a_fit_that_ended_there() -> None:
    class Keeper(Recorder):
        def on_fit_task_end(self, _: Any, __: Any, *, fitted_estimator: Any) -> bool:
            kept.append(fitted_estimator)
            return False

    kept: list[HalfspaceClassifier] = []
    recorded(Keeper())
    after, ended = kept[1], recorded(Recorder(stop_after=2))
    for name in ("coef_", "intercept_", "row_weights_", "support_"):
        assert getattr(after, name).tobytes() == getattr(ended, name).tobytes()
    assert (after.n_iter_, len(after.phases_)) == (2, 2)
    assert after.to_model().weights.tobytes() == ended.to_model().weights.tobytes()


def test_nothing_is_made_for_callbacks_that_want_no_estimator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def learned(self: HalfspaceClassifier, phases: Any, *rest: Any) -> Any:
        made.append(len(phases))
        return original(self, phases, *rest)

    original = HalfspaceClassifier._learned
    monkeypatch.setattr(HalfspaceClassifier, "_learned", learned)
    recorded(Recorder())
    assert made == [whole().n_iter_]


def test_the_scoring_monitor_gets_the_score_of_a_choice() -> None:
    model = HalfspaceClassifierCV((2,), final_fit="hinge", cv=2, schedule=QUICK, random_state=0)
    assert monitored(model) == [("fit", model.score(TABLE.X, TABLE.y))]


# -- the choice by cross-validation ----------------------------------------------------------


def chosen(*callbacks: Any, sparsities: Any = (2,)) -> HalfspaceClassifierCV:
    """A choice by two folds."""
    model = HalfspaceClassifierCV(
        sparsities, final_fit="hinge", cv=2, schedule=QUICK, random_state=0
    )
    return model.set_callbacks(*callbacks).fit(TABLE.X, TABLE.y)


def test_every_fit_is_a_task_of_the_choice() -> None:
    tasks = ["fit for trust", *["fit to folds"] * 4, "fit of the choice"]
    recorder = Recorder()
    chosen(recorder, sparsities=(1, 2))
    assert recorder.begun == ["setup", "fit", *tasks]
    assert recorder.ended == [*tasks, "fit", "teardown"]
    assert all(X is TABLE.X for X in recorder.tables)


def test_callbacks_do_not_change_the_choice() -> None:
    assert chosen(Recorder()).coef_.tobytes() == chosen().coef_.tobytes()


def test_the_number_of_fits_is_known_beforehand() -> None:
    class Counter(Recorder):
        def on_fit_task_begin(self, _: Any, context: Any) -> None:
            totals.append(context.max_subtasks)

    totals: list[int] = []
    chosen(Counter())
    assert totals[0] == len(totals) - 1 == 4


def test_the_progress_bar_of_scikit_learn_counts_the_fits_of_a_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("rich")
    chosen(callback.ProgressBar())
    shown = capsys.readouterr().out
    assert "HalfspaceClassifierCV - fit" in shown
    assert "100%" in shown


@pytest.mark.slow
def test_callbacks_hear_of_fits_in_other_processes() -> None:
    recorder = Recorder()
    model = HalfspaceClassifierCV((1, 2), cv=2, schedule=QUICK, random_state=0, n_jobs=2)
    model.set_callbacks(recorder).fit(TABLE.X, TABLE.y)
    assert recorder.ended.count("fit to folds") == 4
