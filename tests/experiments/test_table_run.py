"""Runs on real tables: what is split, planted, learned and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from experiments.arena.arenas import run_inline
from thresher import HalfspaceClassifier, cli
from thresher.errors import UnreadableTable
from thresher.experiments import table_run
from thresher.experiments.arena import Run, Sweep, processes, run_sweep
from thresher.experiments.arena.report import load_summaries, save_report
from thresher.experiments.spec import TABLE_METHODS, TableSpec
from thresher.experiments.table_run import load_table, make_learner, run_table, split_table

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 6))
Y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
POISONED = TableSpec(table="dense", noise_rate=0.1, adversary="far-clump", method="l1-logistic")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("tables")
    np.savez(folder / "dense.npz", X=X.astype(np.float32), y=Y, X_scale=2.0)
    rows = sp.csr_array(np.where(np.abs(X) > 1, X, 0))
    parts: dict[str, Any] = {
        "X_data": rows.data, "X_indices": rows.indices, "X_indptr": rows.indptr,
    }  # fmt: skip
    np.savez(folder / "sparse.npz", format="csr", X_shape=rows.shape, y=Y, **parts)
    (folder / "mail.csv").write_text("words,links,spam\n120,0,no\n35,4,yes\n")
    return folder


def test_a_table_may_have_any_format(data_dir: Path) -> None:
    assert np.allclose(load_table(data_dir, "dense").X, 2 * X, rtol=1e-6)
    assert sp.issparse(load_table(data_dir, "sparse").X)
    assert load_table(data_dir, "mail").y.tolist() == ["no", "yes"]


def test_a_table_that_is_not_there_is_named(data_dir: Path) -> None:
    with pytest.raises(UnreadableTable, match="lost"):
        load_table(data_dir, "lost")


def test_the_attack_on_trust_is_aimed_at_our_own_filter(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = []
    monkeypatch.setattr(
        table_run, "poisoned_split", lambda *_, **options: targets.append(options["target"])
    )
    for adversary in ("trust-keeping", "far-clump"):
        split_table(TableSpec(table="dense", noise_rate=0.1, adversary=adversary), 3, data_dir)
    assert isinstance(targets[0], HalfspaceClassifier) and targets[0].noise_rate == 0.1
    assert targets[1] is None


def test_rows_to_be_judged_by_are_clean_and_the_same_for_everybody(data_dir: Path) -> None:
    clean = split_table(TableSpec(table="dense"), 3, data_dir)
    poisoned = split_table(POISONED, 3, data_dir)
    assert np.array_equal(clean.X_test, poisoned.X_test)
    assert len(clean.y_test) == 90
    assert not clean.is_planted.any()
    assert poisoned.is_planted.mean() == pytest.approx(0.1, abs=0.01)
    assert len(poisoned.y) == len(clean.y) + poisoned.is_planted.sum()


@pytest.mark.parametrize("method", TABLE_METHODS)
def test_every_method_is_told_the_noise_rate_if_it_asks(method: str) -> None:
    parameters = make_learner(method, 0.07, seed=0).get_params()
    told = parameters.get("noise_rates", parameters.get("noise_rate"))
    assert told in ((0.07,), 0.07) or method in ("l1-logistic", "linear-svm")


def test_what_a_learner_raises_is_an_outcome(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise MemoryError("too much")

    monkeypatch.setattr(table_run, "fit_quietly", refuse)
    outcome = run_table(POISONED, 0, data_dir)
    assert (outcome["status"], outcome["message"]) == ("failed", "MemoryError: too much")
    assert outcome["error"] is None


def test_a_trial_on_a_table_needs_the_folder() -> None:
    with pytest.raises(ValueError, match="data_dir must be the folder with the table 'dense'"):
        Run("a", POISONED, 0).execute()


SWEEP = Sweep.from_text(
    """
seeds = "0-0"
pilot_seeds = "9-9"
[[worlds]]
table = ["dense", "sparse"]
noise_rate = [0.0, 0.1]
[[adversaries]]
adversary = "far-clump"
strength = [1, 4]
[[learners]]
method = ["l1-logistic", "norm-filter-l1-logistic"]
""",
    name="tables",
)


def test_a_sweep_of_tables_runs_and_is_reported(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "run_here", run_inline)
    records = run_sweep(SWEEP, tmp_path, n_jobs=1, data_dir=data_dir)
    assert len(records) == 2 * 2 * (3 + 2 * 1)
    assert {record["status"] for record in records} == {"finished"}
    save_report(load_summaries(tmp_path), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Table dense, noise rate 0.1" in page
    assert 'data-figure="worst case by noise"' in page
    assert "relevant" not in page


def test_a_table_that_is_not_there_is_named_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sweep 'tables' needs the table dense: not in data_dir"):
        run_sweep(SWEEP, tmp_path / "out", data_dir=tmp_path)
    assert not (tmp_path / "out").exists()


# -- the command line ----------------------------------------------------------------------------


def test_a_sweep_of_tables_alone_asks_for_their_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["arena", "run", "real", "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert "sweep real needs --data-dir DIR, a folder with its tables (spambase)" in told
    assert not (tmp_path / "out").exists()


def test_parts_and_tables_that_lack_a_file_are_skipped_by_name(
    data_dir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "run_here", run_inline)
    mine = 'seeds = 1\n[[worlds]]\ntable = ["dense", "lost"]\n[[learners]]\nmethod = "l1-logistic"'
    (tmp_path / "mine.toml").write_text(mine)
    (tmp_path / "both.toml").write_text('parts = ["real", "mine.toml"]')
    arguments = ["arena", "run", str(tmp_path / "both.toml"), "--out", str(tmp_path / "out")]
    assert cli.main([*arguments, "--data-dir", str(data_dir), "--jobs", "1"]) == 0
    told = capsys.readouterr()
    assert "skipped: sweep real needs --data-dir DIR" in told.err
    assert "skipping the table lost: it needs a file lost.* in the data folder" in told.out
    assert "1 of 1 runs finished" in told.out
