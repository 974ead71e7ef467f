"""One weight a row, from trust and agreement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cli_tables import NAMES, poisoned
from thresher.auditing import Suspicion, examine
from thresher.auditing.proof import proven, remaining_variance
from thresher.auditing.suspicion import agreement_of
from thresher.learning.steps import around_class_medians
from thresher.solvers import worst_direction_of_rows
from thresher.table_files import LabeledTable

MARGINS = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e300, 1e300))


@settings(deadline=None)
@given(MARGINS)
def test_agreement_is_a_share_that_grows_with_the_margin(margins):
    agreement = agreement_of(margins)
    assert np.all((agreement >= 0) & (agreement <= 1))
    assert np.all(np.diff(agreement[np.argsort(margins)]) >= 0)


@settings(deadline=None)
@given(MARGINS.filter(lambda margins: np.all(np.abs(margins) < 1e150)), st.integers(-300, 300))
def test_agreement_does_not_depend_on_the_units_of_scores(margins, power):
    small = np.where(np.abs(margins) < 1e-100, 0.0, margins)
    np.testing.assert_allclose(agreement_of(small), agreement_of(small * 2.0**power))


def test_a_row_without_trust_counts_half():
    suspicion = Suspicion(np.array([1.0, 0.0]), np.array([0.8, 0.8]))
    np.testing.assert_allclose(suspicion.weight, [0.8, 0.4])


def test_the_least_are_as_many_as_may_be_planted():
    suspicion = Suspicion(np.ones(21), np.linspace(1, 0, 21))
    assert suspicion.least(0.1).tolist() == [20, 19, 18]
    assert suspicion.least(0.0).size == 0


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
    limit, trust = remaining_variance(findings), findings.suspicion.trust
    assert limit.holds_for_trust
    found = largest_variance(findings, trust)
    assert found.lower <= limit.upper
    assert found.lower / trust.mean() <= limit.of_trusted_rows
    assert limit.share_taken == pytest.approx(1 - trust.mean())


def test_no_column_of_the_view_exceeds_one(findings):
    assert np.square(view_of(findings)).mean(axis=0).max() <= 1


def test_a_bound_that_is_too_small_would_be_noticed(findings):
    everyone = np.ones(findings.table.n_rows)
    assert largest_variance(findings, everyone).lower > remaining_variance(findings).upper


def test_weights_that_take_as_little_as_allowed_leave_the_optimum(findings):
    limit = remaining_variance(findings)
    first = findings.classifier.phases_[0]
    assert limit.optimum == pytest.approx(first.optimum_lower / first.phase.l2_radius**2)
    assert limit.outlier_fraction == first.phase.outlier_fraction


def test_what_is_proven_names_the_number_of_features(findings):
    told = f"up to {remaining_variance(findings).n_features} features"
    assert any(told in sentence for sentence in proven(findings))


def test_reasons_speak_against_the_label(findings):
    row = int(findings.suspects[0])
    assert set(findings.reasons(row)) <= {0, 1}
    assert findings.reasons(row)


def test_a_table_without_labels_is_refused():
    table = LabeledTable(np.eye(3), None, ["a", "b", "c"], np.arange(3), None)
    with pytest.raises(ValueError, match="table must have labels"):
        examine(table)
