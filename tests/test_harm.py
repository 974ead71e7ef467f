"""The harm study: what is fitted to what, and that every fit leaves a record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import harm, harm_tables, wide_tables
from benchmarks.harm import Fit, Selection
from benchmarks.harm_bars import load
from benchmarks.harm_tables import ENRON, STRENGTHS, TABLES, split_of
from thresher.experiments.arena.run import RecordFile
from thresher.experiments.spec import THRESHER
from thresher.simulate import POISON_STRENGTHS


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A table of 60 rows, its sparse twin, and an Enron of eight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    np.savez(tmp_path / "tiny.npz", X=X, y=y)
    twin = sp.csr_array(X)
    parts = {"X_data": twin.data, "X_indices": twin.indices, "X_indptr": twin.indptr}
    np.savez(tmp_path / "sparse.npz", X_shape=twin.shape, y=y, **parts)
    is_train = np.arange(60) < 40
    np.savez(tmp_path / f"{ENRON}.npz", X_shape=twin.shape, y=y, is_train=is_train, **parts)
    planted = {f"p3pct_L2_13.{name}": value for name, value in parts.items()}
    planted |= {"p3pct_L2_13.X_shape": twin.shape, "p3pct_L2_13.y": -y}
    np.savez(tmp_path / f"{harm_tables.ENRON_ATTACKS}.npz", **planted)
    split_of.cache_clear()
    return str(tmp_path)


# -- the study -------------------------------------------------------------------------------


def test_the_study_has_nine_tables_and_ten_attacks_at_two_strengths() -> None:
    assert len(TABLES) == 9 and len(STRENGTHS) == 10
    of_pools = {"jittered-flip", "query-following"}  # measured by the pool study
    assert set(STRENGTHS) == set(POISON_STRENGTHS) - of_pools
    for attack, strengths in STRENGTHS.items():
        assert len(strengths) == 2 and set(strengths) <= set(POISON_STRENGTHS[attack])
    assert sum(len(table.seeds) == 20 for table in TABLES.values()) == 2
    assert sum(table.has_rivals for table in TABLES.values()) == 3


def test_every_split_meets_every_method_once_clean_and_under_every_attack() -> None:
    fits = list(Selection(tables=("spambase", "mdrr")).fits())
    assert len(fits) == len({fit.run for fit in fits})
    of_every_table = (THRESHER, *harm.UNDEFENDED, *harm.TREES, *harm.TRUSTED)
    everything = (*of_every_table, *harm.RIVALS)
    assert len(fits) == 5 * 21 * len(everything) + 20 * 21 * len(of_every_table)


def test_enron_is_clean_once_and_has_its_own_attacks_whatever_the_seeds() -> None:
    fits = list(Selection(tables=(ENRON,), methods=(THRESHER,), seeds=(1000,)).fits())
    assert len(fits) == 21
    assert sum(fit.attack == "none" for fit in fits) == 1
    assert {fit.strength for fit in fits} == {None, 1.0, 3.0}


def test_a_selection_is_of_tables_attacks_methods_and_seeds() -> None:
    chosen = Selection(("spambase",), ("far-clump", "none"), ("forest",), (7, 8))
    assert [fit.run for fit in chosen.fits()] == [
        "spambase/7/none//forest",
        "spambase/7/far-clump/2/forest",
        "spambase/7/far-clump/8/forest",
        "spambase/8/none//forest",
        "spambase/8/far-clump/2/forest",
        "spambase/8/far-clump/8/forest",
    ]


def test_a_split_is_70_percent_with_a_tenth_planted(folder: str) -> None:
    split = split_of(folder, "tiny", 0, "boundary-flip", 1.0)
    assert len(split.y_test) == 18 and split.is_planted.sum() == 5 and len(split.y) == 47
    assert not split_of(folder, "tiny", 0, "none", None).is_planted.any()


def test_a_large_table_is_cut_to_the_same_rows_every_time(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = replace(harm_tables.table_named("tiny"), max_rows=30)
    monkeypatch.setitem(harm_tables.TABLES, "tiny", cut)
    rows = []
    for seed in (0, 1):
        split = split_of(folder, "tiny", seed, "none", None)
        rows.append({tuple(row) for row in np.vstack([split.X, split.X_test])})
    assert len(rows[0]) == 30 and rows[0] == rows[1]


def test_enrons_planted_rows_stand_below_its_own_training_rows(folder: str) -> None:
    split = split_of(folder, ENRON, 13, "L2", 3.0)
    assert split.X.shape == (100, 3) and len(split.y_test) == 20
    assert np.array_equal(np.flatnonzero(split.is_planted), np.arange(40, 100))
    assert np.array_equal(split.y[:40], -split.y[40:80])
    clean = split_of(folder, ENRON, 1, "none", None)
    assert np.array_equal(clean.X.toarray(), split.X.toarray()[:40])


# -- one fit ---------------------------------------------------------------------------------


def measured(folder: str, method: str, table: str = "tiny") -> dict:
    return harm.measure(Fit(table, 3, "duplicated-spam", 10.0, method), folder)


def test_a_fit_is_told_the_true_share_of_planted_rows(folder: str) -> None:
    record = measured(folder, "l1-logistic")
    assert record["status"] == "finished" and record["noise_rate"] == 5 / 47
    assert 0 <= record["error"] <= 1 and 0 <= record["balanced_error"] <= 1
    clean = harm.measure(Fit("tiny", 3, "none", None, "l1-logistic"), folder)
    assert clean["noise_rate"] == 0.02 and clean["n_train"] == 42


def test_a_tuned_model_records_the_error_of_its_own_cross_validation(folder: str) -> None:
    model = harm.make_model("linear-svm", 0.1, 3, 3)
    split = split_of(folder, "tiny", 3, "duplicated-spam", 10.0)
    best = max(point.score for point in model.fit(split.X, split.y).path_)
    assert measured(folder, "linear-svm")["cv_error"] == pytest.approx(1 - best)
    assert harm.cv_error(object()) is None


def test_a_model_with_trust_records_that_of_planted_and_clean_rows(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trusting:
        def fit(self, *_):
            planted = split_of(folder, "tiny", 3, "duplicated-spam", 10.0).is_planted
            self.row_weights_ = np.where(planted, 0.25, 0.75)

        def predict(self, X):
            return np.ones(len(X))

    monkeypatch.setattr(harm, "make_model", lambda *_: Trusting())
    record = measured(folder, THRESHER)
    assert (record["trust_planted"], record["trust_clean"]) == (0.25, 0.75)
    assert record["balanced_error"] == 0.5


def test_an_exception_is_an_outcome(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(harm, "make_model", fail)
    record = measured(folder, "forest")
    assert (record["status"], record["message"]) == ("failed", "MemoryError: no room")


@pytest.mark.parametrize("table", ["tiny", "sparse"])
@pytest.mark.parametrize("method", ["boosting", "trusted-boosting"])
def test_boosting_takes_dense_and_sparse_tables(folder: str, table: str, method: str) -> None:
    assert measured(folder, method, table)["status"] == "finished"


def test_boosting_gets_the_columns_that_tell_most_of_a_table_with_many(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = split_of(folder, "sparse", 3, "none", None)
    monkeypatch.setattr(harm, "MANY_COLUMNS", 2)
    monkeypatch.setattr(harm, "BOOSTED_COLUMNS", 1)
    for method in ("boosting", "trusted-boosting"):
        model = harm.make_model(method, 0.1, 3, 3).fit(split.X, split.y)
        chosen = getattr(model, "estimator_", model)[0].get_support()
        assert chosen.tolist() == [True, False, False]


def test_a_record_says_how_much_of_the_trust_was_used(folder: str) -> None:
    chosen = json.loads(measured(folder, "trusted-forest")["chosen"])
    assert chosen["use_of_trust_"] in ("none", "improbable", "labels", "all")
    assert measured(folder, "forest")["chosen"] == "{}"


# -- all of them -----------------------------------------------------------------------------


def test_what_the_file_has_is_not_measured_again(tmp_path: Path) -> None:
    asked = []

    def execute(fits):
        for fit in fits:
            asked.append(fit.run)
            yield harm.record_of(fit, "failed" if fit.seed == 1 else "finished")

    fits = [Fit("tiny", seed, "none", None, "forest") for seed in range(3)]
    for wanted, retry in ((fits[:2], False), (fits, False), (fits, True)):
        with RecordFile(tmp_path / "records.jsonl") as file:
            harm.complete(file, wanted, execute, retry=retry)
    assert asked == [fits[k].run for k in (0, 1, 2, 1)]


def test_a_run_that_is_stopped_keeps_its_records(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def execute(fits, **_):
        yield harm.record_of(fits[0], "finished")
        raise KeyboardInterrupt

    monkeypatch.setattr(harm, "in_processes", execute)
    out = tmp_path / "records.jsonl"
    options = ["--data-dir", folder, "--out", str(out), "--tables", "tiny", "absent"]
    assert harm.main([*options, "--methods", "forest", "--seeds", "2"]) == 130
    said = capsys.readouterr().err
    assert "1 records are in" in said and f"skipped, not in {folder}: absent" in said
    assert len(out.read_text().splitlines()) == 1


def test_without_a_data_folder_it_says_what_belongs_there(capsys: pytest.CaptureFixture) -> None:
    assert harm.main(["--tables", "spambase"]) == 2
    assert "--data-dir must name a folder with spambase.npz" in capsys.readouterr().err


@pytest.mark.slow
def test_fits_run_in_processes(tmp_path: Path, folder: str) -> None:
    out = tmp_path / "records.jsonl"
    options = ["--data-dir", folder, "--out", str(out), "--tables", "tiny", "--seeds", "1"]
    options += ["--attacks", "none", "trust-keeping", "--methods", "forest", "l1-logistic"]
    assert harm.main([*options, "--jobs", "2"]) == 0
    assert load(out)["status"].tolist() == ["finished"] * 6


# -- what a fit costs ------------------------------------------------------------------------


@pytest.mark.parametrize(("most_times", "code"), [(1e9, 0), (0.0, 1)])
def test_the_cost_of_wide_tables_is_shown_and_judged(
    most_times: float,
    code: int,
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(wide_tables, "in_a_process", wide_tables.cost_of)
    monkeypatch.setattr(wide_tables, "MEGABYTES", 1e9)  # the process of the tests is large
    monkeypatch.setattr(wide_tables, "MOST_TIMES", most_times)
    assert wide_tables.main(["--data-dir", folder, "--tables", "tiny", "sparse"]) == code
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == ["table", "tiny", "sparse"]
    assert all(line.endswith("NO" if code else "yes") for line in shown[1:])


def test_the_size_of_a_sparse_table_counts_its_entries() -> None:
    assert wide_tables.megabytes_of(sp.csr_array(np.eye(1000))) == pytest.approx(0.016, rel=0.01)
