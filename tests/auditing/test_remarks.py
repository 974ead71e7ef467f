"""How to read a report: rows of every kind, what reasons mean, and weak evidence."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from thresher.auditing import remarks
from thresher.auditing.verdict import Suspicions
from thresher.estimators import Evidence

N_ROWS = 40  # 30 data errors, then 10 wrong labels, all of them suspects


def audit_of(steers: float, disagrees: float) -> SimpleNamespace:
    is_error, places = np.arange(N_ROWS) < 30, np.arange(N_ROWS)
    parts = (np.where(is_error, 0.0, part) for part in (steers, disagrees))
    kinds = Suspicions(*parts, np.where(is_error, 1.0, 0.0), np.zeros(N_ROWS), can_tell=True)
    return SimpleNamespace(suspicions=kinds, distinct_suspects=places)


@pytest.mark.parametrize("kind", ["steers", "disagrees"])
def test_wrong_labels_are_shown_beside_many_data_errors(kind):
    audit = audit_of(**{"steers": 0.6, "disagrees": 0.6, kind: 0.7})
    shown = remarks.shown_suspects(audit, 15)
    assert shown.tolist() == [*range(8), *range(30, 37)]
    assert set(audit.suspicions.kinds[shown]) == {"data_error", kind}


def test_only_reasons_that_occur_are_explained():
    said = remarks.meanings(audit_of(steers=0.6, disagrees=0.7))
    assert said == [remarks.MEANINGS["disagrees"], remarks.MEANINGS["data_error"]]


@pytest.mark.parametrize(("improvement", "is_weak"), [(0.9, False), (1.7, True), (2.1, False)])
def test_less_than_two_standard_errors_are_called_little(improvement, is_weak):
    evidence = Evidence(100, 20, 0.05, 0.5, 0.4, 6.0, improvement)
    findings = SimpleNamespace(classifier=SimpleNamespace(evidence_=evidence))
    assert ("evidence is weak" in remarks.weak_evidence(findings)) == is_weak


@pytest.mark.parametrize(
    ("sparsity", "n_used", "is_said"), [("auto", 30, True), (30, 30, False), ("auto", 3, False)]
)
def test_a_limit_on_features_is_offered_where_there_is_none(sparsity, n_used, is_said):
    classifier = SimpleNamespace(support_=np.arange(n_used))
    findings = SimpleNamespace(classifier=classifier, chosen=SimpleNamespace(sparsity=sparsity))
    assert bool(remarks.fewer_features(findings)) == is_said


@pytest.mark.parametrize(
    ("trust", "counts", "is_said"), [(1.0, True, False), (0.5, True, True), (0.5, False, False)]
)
def test_an_error_over_rows_that_all_count_fully_needs_no_warning(trust, counts, is_said):
    classifier = SimpleNamespace(row_weights_=np.array([1.0, trust]))
    findings = SimpleNamespace(classifier=classifier, counts_by_trust=counts)
    assert bool(remarks.larger_error(findings)) == is_said
