"""`audit` in a notebook: arrays and data frames in, data frames and sentences out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

import thresher
from estimators.small import examine_quickly
from thresher import auditing
from thresher.auditing import contents, forest
from thresher.auditing.disagreement import View
from thresher.auditing.examination import Findings
from thresher.auditing.verdict import weigh
from thresher.auditing.wrong_labels import WrongLabels

N, D = 240, 5
COLUMNS = [f"c{j}" for j in range(D)]
FLIPPED, ABSURD = np.arange(8), 100


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(auditing, "examine", examine_quickly)
    monkeypatch.setattr(forest, "N_TREES", 20)


def table() -> tuple[np.ndarray, np.ndarray]:
    """A clear rule; the first labels are wrong, one value is absurd, and two rows are equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X[:, 0] += 0.3 * np.sign(X[:, 0])
    X[FLIPPED, 0] += 2 * np.sign(X[FLIPPED, 0])
    X[60] = X[61]
    y = np.where(X[:, 0] > 0, "yes", "no")
    y[FLIPPED] = np.where(y[FLIPPED] == "yes", "no", "yes")
    X[ABSURD, 3] = 4000.0
    return X, y


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "examine", examine_quickly)
        patch.setattr(forest, "N_TREES", 20)
        X, y = table()
        frame = pd.DataFrame(X, columns=COLUMNS, index=[f"r{i}" for i in range(N)])
        yield SimpleNamespace(X=frame, y=pd.Series(y, frame.index), audit=thresher.audit(frame, y))


def test_rows_are_in_input_order_with_their_index_and_ids(found):
    rows = found.audit.rows
    assert rows.index.tolist() == rows["id"].tolist() == found.X.index.tolist()
    kinds = ["steers", "disagrees", "data_error"]
    expected = ["id", "label", "predicted", "trust", "suspicion", *kinds, "repeats", "reason"]
    assert rows.columns.tolist() == expected
    assert rows["label"].tolist() == found.y.tolist()


def test_each_kind_of_fault_is_in_its_own_column(found):
    rows = found.audit.rows
    by_label = rows[["steers", "disagrees"]].max(axis=1)
    assert (by_label.iloc[FLIPPED] >= 0.5).sum() >= 7
    assert rows["data_error"].iloc[ABSURD] >= 0.5
    assert (rows["data_error"].iloc[FLIPPED] < 0.5).all()
    assert by_label.iloc[ABSURD] < 0.5


def test_suspects_are_the_rows_from_a_half_on_the_most_suspicious_first(found):
    suspects, rows = found.audit.suspects, found.audit.rows
    assert set(suspects["id"]) == set(rows["id"][rows["suspicion"] >= 0.5])
    assert (suspects["suspicion"].diff().dropna() <= 0).all()
    assert len(suspects) <= 12


def test_only_suspects_have_a_reason(found):
    rows = found.audit.rows
    assert ((rows["reason"] != "") == (rows["suspicion"] >= 0.5)).all()
    assert rows["reason"].iloc[ABSURD] == "c3 = 4000: out of range"


def test_equal_rows_are_listed_and_are_not_suspects(found):
    (group,) = found.audit.duplicates.to_dict("records")
    assert (group["rows"], group["count"]) == ([60, 61], 2)
    assert group["labels"] == found.y.iloc[[60, 61]].tolist()
    assert (found.audit.rows["suspicion"].iloc[[60, 61]] < 0.5).all()


def test_data_errors_name_the_column_and_the_value(found):
    (error,) = found.audit.data_errors.to_dict("records")
    assert (error["column"], error["rows"], error["values"]) == ("c3", [ABSURD], [4000.0])


def test_clean_keeps_everything_but_the_suspects(found):
    X, y = found.audit.clean(found.X, found.y)
    kept = ~found.X.index.isin(found.audit.suspects.index)
    pd.testing.assert_frame_equal(X, found.X[kept])
    pd.testing.assert_series_equal(y, found.y[kept])


def test_clean_refuses_another_table(found):
    with pytest.raises(ValueError, match="expected 240 rows as in the audit, got 3"):
        found.audit.clean(found.X.iloc[:3], found.y.iloc[:3])


def test_the_verdict_counts_the_suspects_and_states_the_held_out_error(found):
    n_suspects = len(found.audit.suspects)
    assert f"{n_suspects} of 240 rows" in found.audit.verdict
    assert "1 has a data error" in found.audit.verdict
    assert "has an error of" in found.audit.verdict


def test_data_errors_are_not_part_of_the_noise_rate_and_keep_their_trust(found):
    said = "This share is about labels; rows with a data error (1) count separately."
    assert found.audit.verdict.endswith(said)
    is_trusted = found.audit.rows["trust"].iloc[ABSURD] >= 0.5
    notes = " ".join(contents.about_suspicious_rows(found.audit, 1))
    assert ("A data error alone does not lower trust" in notes) == is_trusted
    assert notes.startswith(f"and {len(found.audit.suspects) - 1} more")


def test_suspects_in_no_group_are_counted(found):
    in_groups = sum(group.rows.size for group in found.audit.alike)
    n_others = len(found.audit.suspects) - in_groups
    said = contents.describe_ungrouped(found.audit)
    assert said.startswith(f"The {n_others} other" if in_groups else "The suspects do not")


def test_equal_suspects_share_a_line_and_the_notes_say_so(found):
    suspects = found.audit.suspicions.suspects
    equal = found.audit.equal.copy()
    equal[suspects[:3]] = equal[suspects[0]]
    notes = contents.about_suspicious_rows(replace(found.audit, equal=equal), 100)
    assert notes[0] == (
        f"Equal rows share a line: {suspects.size} suspects on {suspects.size - 2} lines."
    )


def test_a_bound_that_says_nothing_is_not_among_what_is_proven(found):
    findings = found.audit.findings
    whole = contents.statements(found.audit)
    bound = replace(findings.adversary_bound, value=np.inf)
    empty = Findings(findings.name, findings.table, findings.classifier)
    vars(empty)["adversary_bound"] = bound  # in place of what is computed when asked
    changed = contents.statements(replace(found.audit, findings=empty))
    assert not any("halfspace within distance" in sentence for sentence in contents.proven(empty))
    assert "the bound cannot rule it out" in changed["Not proven"][-1]
    assert any("halfspace within distance" in s for part in whole.values() for s in part)


def test_the_report_is_written(found, tmp_path):
    found.audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.index(found.audit.sentences()[0]) < page.index("<h2>The model</h2>")


@pytest.mark.parametrize("kind", ["array", "csr", "polars", "pyarrow"])
def test_every_kind_of_table_gives_the_same_rows(kind, found):
    X, y = table()
    make = {
        "array": lambda: X,
        "csr": lambda: sp.csr_array(X),
        "polars": lambda: pl.DataFrame(dict(zip(COLUMNS, X.T))),
        "pyarrow": lambda: pa.table(dict(zip(COLUMNS, X.T))),
    }
    given = make[kind]()
    answer = thresher.audit(given, y)
    library = {"polars": pl.DataFrame, "pyarrow": pa.Table}.get(kind, pd.DataFrame)
    assert isinstance(answer.rows, library)
    suspects = np.sort(np.flatnonzero(~answer.is_kept))
    if kind != "csr":  # whose columns are not centered
        np.testing.assert_array_equal(suspects, np.flatnonzero(~found.audit.is_kept))
    kept, labels = answer.clean(given, y)
    assert kept.shape == (N - suspects.size, D)
    assert len(labels) == N - suspects.size


def test_missing_values_and_categories_are_taken_as_they_come():
    X, y = table()
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame.loc[5:25, "c1"] = np.nan
    frame["city"] = np.where(np.arange(N) % 3, "Rome", "Oslo")
    answer = thresher.audit(frame, y)
    assert answer.rows["data_error"].iloc[ABSURD] >= 0.5
    assert "c1 is missing" in answer.findings.table.feature_names


def test_coin_flips_name_no_row_and_say_why():
    rng = np.random.default_rng(1)
    answer = thresher.audit(rng.normal(size=(N, D)), rng.choice(["no", "yes"], N))
    assert answer.suspects.empty
    assert answer.verdict.startswith("None of the 240 rows is a suspect. Cannot tell whether")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(N), "y must hold exactly two labels, got 1: 0.0"),
        (
            np.arange(N) / 7,
            r"240 distinct numbers, from 0 to 34.14\. .* threshold first: y > ",
        ),
        (np.arange(N - 1) % 2, "y must hold one label for each of 240 rows"),
        (np.where(np.arange(N) == 3, None, "a"), r"every row, but y\[3\] is missing"),
    ],
)
def test_unusable_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        thresher.audit(table()[0], y)


# -- how kinds are weighed -----------------------------------------------------------------------


SIGNS = np.tile([-1.0, 1.0], 10)


def weighed(
    error: float, evidence: float, trust: float = 1.0, n_copies: int = 1, agrees: bool = False
):
    """Twenty rows whose labels both models contradict, or only the first."""
    by_scores, by_signs = (WrongLabels(np.full(20, 0.9), np.full(20, k * evidence)) for k in (1, 2))
    views = [
        View(name, scores, error, error, by_scores, by_signs)
        for name, scores in (("linear", -SIGNS), ("forest", SIGNS if agrees else -SIGNS))
    ]
    data = SimpleNamespace(probability=np.zeros(20))
    counts = np.ones(20, dtype=int)
    counts[0] = n_copies
    return weigh(tuple(views), data, SIGNS, np.full(20, trust), counts)


def test_without_evidence_in_the_whole_table_no_row_is_named():
    assert weighed(0.1, evidence=100).suspects.size == 20
    doubtful = weighed(0.1, evidence=0.1)
    assert doubtful.suspects.size == 0
    assert doubtful.can_tell


def test_a_model_hardly_better_than_a_constant_names_no_row():
    assert weighed(0.48, evidence=100).suspects.size == 0
    assert not weighed(0.48, evidence=100).can_tell


def test_a_row_steers_only_if_it_lost_its_trust():
    assert (weighed(0.1, 100, trust=1.0).steers == 0).all()
    assert (weighed(0.1, 100, trust=0.0).steers == 0.9).all()


def test_a_label_that_a_useful_model_predicts_is_not_named_while_the_row_is_trusted():
    assert weighed(0.1, evidence=100, agrees=True).suspects.size == 0
    assert weighed(0.1, evidence=100, agrees=True, trust=0.0).suspects.size == 20


def test_a_repeated_row_is_not_named_for_that():
    assert 0 < weighed(0.48, 0.0, n_copies=2).repeated[0] < 0.5


@pytest.fixture(scope="module")
def steered():
    """Planted rows that steer a model without contradicting it visibly."""
    rng = np.random.default_rng(1)
    cancer = load_breast_cancer()
    bad = cancer.data[rng.choice(np.flatnonzero(cancer.target == 0), 40, replace=False)]
    bad[:, :10] *= 2
    return thresher.audit(np.vstack([cancer.data, bad]), np.append(cancer.target, np.ones(40, int)))


def test_a_second_look_names_rows_that_a_small_estimate_would_miss(steered):
    assert steered.findings.classifier.noise_rate_ == 0.1 and steered.assumed is None
    assert (steered.suspicions.suspects >= 569).sum() >= 30
    assert (steered.suspicions.suspects < 569).sum() <= 4


def test_suspects_beyond_the_estimate_are_explained(steered):
    assert steered.noise_rate.high < steered.n_wrong_labels / 609
    assert "found by a second look, with noise_rate=0.1" in steered.verdict
    assert "An estimated 0.0% of the rows (up to" in steered.verdict
