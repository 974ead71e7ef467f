"""The benchmark of agreement: what it counts, and what it says about tables that are not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.agreement import Agreement, Form, main, measure, table

FORM = Form("a form", lambda X: (X[:, 0], X[:, 0] > 0), bound=1e-5)
SCORES = np.array([-50.0, 1e-6, 2.0])


def counted(found: np.ndarray) -> Agreement:
    agreement = Agreement(FORM)
    agreement.add((SCORES, SCORES > 0), (found, found > 0))
    return agreement


def test_differences_are_relative_to_large_scores_only() -> None:
    agreement = counted(SCORES + np.array([5e-5, 4e-7, 0.0]))
    assert agreement.difference == pytest.approx(1e-6)
    assert agreement.holds


def test_a_label_counts_unless_its_score_is_zero_to_within_the_bound() -> None:
    assert counted(SCORES * np.array([1, -1, 1])).n_disagreeing == 0
    assert counted(SCORES * np.array([1, 1, -1])).n_disagreeing == 1


def test_a_difference_beyond_the_bound_does_not_hold() -> None:
    assert not counted(SCORES + 2e-5).holds


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_form_agrees_on_a_small_table(is_sparse: bool) -> None:
    X = np.random.default_rng(0).standard_normal((600, 5))
    rows = sp.csr_array(X * (np.abs(X) > 1)) if is_sparse else X + 1e6
    _, agreements = measure(rows, np.where(X[:, 0] > X[:, 1], 1, -1))
    assert len(agreements) == 4
    assert all(one.holds for one in agreements)


def test_a_wide_dense_table_keeps_the_columns_that_vary_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X = np.random.default_rng(0).standard_normal((9, 4)) * np.array([3.0, 1.0, 2.0, 0.1])
    np.savez(tmp_path / "wide.npz", format="dense", X=X, y=np.arange(9) % 2)
    monkeypatch.setattr("benchmarks.agreement.MOST_DENSE_COLUMNS", 2)
    assert np.array_equal(table(str(tmp_path), "wide")[0], X[:, [0, 2]])
    assert capsys.readouterr().out == "wide: the 2 of 4 columns with the largest variance\n"


def test_a_missing_table_is_skipped_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data-dir", str(tmp_path), "--tables", "none"]) == 0
    assert capsys.readouterr().err == "none: skipped, there is no none.npz in that folder\n"
