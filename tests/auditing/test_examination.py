"""What is found in a table, and what is proven about its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cli_tables import NAMES, poisoned
from estimators.small import QUICK, examine_quickly, spread_out
from thresher import HalfspaceClassifier
from thresher.auditing import contents, examine, remarks
from thresher.auditing.examination import remaining_variance
from thresher.learning.steps import around_class_medians
from thresher.solvers import worst_direction_of_rows
from thresher.table_files import LabeledTable


@pytest.fixture(scope="module")
def findings():
    data = poisoned()
    table = LabeledTable(data.X, data.y, NAMES, np.arange(len(data.y)), "answer")
    return examine(table, noise_rate=0.1, sparsities=(2,))


def view_of(findings):
    rows = findings.classifier.scaling_.apply(findings.table.X)
    return around_class_medians(rows, np.where(findings.labels == "yes", 1.0, -1.0))


def largest_variance(findings, weights):
    """The largest mean over all rows in a direction of as many features as was proven about."""
    l1_radius = remaining_variance(findings).n_features ** 0.5
    return worst_direction_of_rows(view_of(findings), weights, l2_radius=1.0, l1_radius=l1_radius)


def test_the_proven_variance_holds_for_rows_counted_by_trust(findings):
    limit, trust = remaining_variance(findings), findings.classifier.row_weights_
    assert limit.holds_for_trust
    found = largest_variance(findings, trust)
    assert found.lower <= limit.upper
    assert found.lower / trust.mean() <= limit.of_trusted_rows
    assert limit.share_removed == pytest.approx(1 - trust.mean())


def test_no_column_of_the_view_exceeds_one(findings):
    assert np.square(view_of(findings)).mean(axis=0).max() <= 1


def test_a_bound_that_is_too_small_would_be_noticed(findings):
    everyone = np.ones(findings.table.n_rows)
    assert largest_variance(findings, everyone).lower > remaining_variance(findings).upper


def test_weights_that_take_as_little_as_allowed_leave_the_optimum(findings):
    limit = remaining_variance(findings)
    first = findings.classifier.phases_[0]
    assert limit.optimum == pytest.approx(first.optimum_lower / first.phase.l2_radius**2)
    assert limit.outlier_fraction == first.weight_allowance


def test_what_is_proven_names_the_number_of_features(findings):
    said = f"at most {remaining_variance(findings).n_features} features"
    assert any(said in sentence for sentence in contents.proven(findings))


def test_reasons_speak_against_the_label(findings):
    row = int(np.flatnonzero(poisoned().is_planted)[0])
    assert set(findings.reasons(row)) <= {0, 1}
    assert findings.reasons(row)


def test_a_table_without_labels_is_refused():
    table = LabeledTable(np.eye(3), None, ["a", "b", "c"], np.arange(3), None)
    with pytest.raises(ValueError, match="table must have labels"):
        examine(table)


@pytest.mark.slow
def test_a_wide_table_says_of_which_columns_it_speaks():
    rows = np.random.default_rng(0).standard_normal((60, 402))
    names = [f"f{j}" for j in range(402)]
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    wide = examine_quickly(LabeledTable(rows, labels, names, np.arange(60), "answer"))
    (said, *_) = [line for line in contents.proven(wide) if "unit direction" in line]
    features = "41 features (one more than the model may use, for its intercept)"
    assert f"{features} of the 400 most promising columns, the" in said


def test_the_gap_of_a_penalized_fit_is_rounded_up():
    rows = np.random.default_rng(0).standard_normal((80, 4))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    table = LabeledTable(rows, labels, list("abcd"), np.arange(80), "answer")
    findings = examine_quickly(table)
    findings.classifier.penalized_fit_ = replace(fit_of(rows, labels), gap=0.00001)
    (said,) = [line for line in contents.proven(findings) if "penalized loss" in line]
    assert "within 0.01% of its minimum" in said


def test_a_report_says_what_kind_of_penalized_fit_it_is():
    rows = np.random.default_rng(0).standard_normal((80, 4))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    findings = examine_quickly(LabeledTable(rows, labels, list("abcd"), np.arange(80), "answer"))
    fit = fit_of(rows, labels)
    findings.classifier.penalized_fit_ = replace(fit, gap=np.inf, n_averaged=7)
    said = contents.final_model(findings)
    assert "an average of 7 fits of" in said and "no certificate" in said
    constant = replace(fit, coef=np.zeros(4), offset=-1.0, gap=np.inf)
    findings.classifier.penalized_fit_ = constant
    assert "predicts no for every row" in contents.final_model(findings)


def fit_of(rows, labels):
    model = HalfspaceClassifier(2, final_fit="penalized", schedule=QUICK, random_state=0)
    return model.fit(rows, labels).penalized_fit_


def test_a_report_says_that_trust_does_not_help():
    rows, labels = spread_out()
    names = [f"x{j}" for j in range(rows.shape[1])]
    table = LabeledTable(rows, np.where(labels, "a", "b"), names, np.arange(300), "label")
    findings = examine_quickly(table, noise_rate=0.1, final_fit="penalized")
    assert not findings.counts_by_trust
    assert contents.final_model(findings).endswith("penalty, on all rows.")
    said = contents.outlier_removal(findings)
    assert "penalized fits use all rows" in said and "count less" not in said
    assert "all held-out rows alike" in remarks.held_out_rows(findings)
