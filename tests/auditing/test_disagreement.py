"""How likely labels are wrong, given what models say that have not seen them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from thresher.auditing import forest
from thresher.auditing.disagreement import look_at_labels
from thresher.auditing.duplicates import counts_of, equal_rows, repeated
from thresher.auditing.wrong_labels import WrongLabels, wrong_labels

N = 1000
NOTHING, ONCE = np.zeros((N, 0)), np.ones(N)


def drawn(slope: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, N)
    return scores, np.where(rng.random(N) < expit(slope * scores), 1.0, -1.0)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 3.0])
def test_labels_that_follow_a_logistic_curve_are_hardly_ever_wrong(slope: float) -> None:
    found = wrong_labels(*drawn(slope), NOTHING, ONCE)
    assert (found.probability >= 0.5).sum() <= 0.005 * N
    assert (found.evidence < 4).all()


def test_wrong_labels_are_counted_in_each_class() -> None:
    scores, signs = drawn(3.0)
    rows = np.flatnonzero((scores > 2) & (signs > 0))[:40]
    signs[rows] = -1.0
    found = wrong_labels(scores, signs, NOTHING, ONCE)
    assert (found.probability[rows] >= 0.5).all()
    assert (found.probability[signs > 0] < 0.5).all()
    assert (found.evidence > 20).all()


def test_the_units_of_scores_do_not_matter() -> None:
    scores, signs = drawn(1.0)
    signs[np.argsort(-scores)[:20]] = -1.0
    one, other = (wrong_labels(k * scores, signs, NOTHING, ONCE) for k in (1.0, 2.0))
    np.testing.assert_allclose(one.probability, other.probability, atol=0.02)


def test_a_sign_of_wrong_labels_counts_if_they_go_together() -> None:
    scores, signs = drawn(1.0)
    rows = np.flatnonzero(np.abs(scores) > 3)[:30]
    signs[rows] = -np.sign(scores[rows])
    gate = np.isin(np.arange(N), rows)[:, np.newaxis].astype(float)
    with_gate = wrong_labels(scores, signs, gate, ONCE)
    assert with_gate.evidence[0] > wrong_labels(scores, signs, NOTHING, ONCE).evidence[0]
    assert (with_gate.probability[rows] > 0.9).all()


def test_rows_that_are_rather_like_suspects_come_first_and_others_keep_their_order() -> None:
    found = WrongLabels(np.array([0.6, 0.9, 0.7, 0.1, 0.2]), np.ones(5))
    ordered = found.in_order_of(np.array([0.9, 0.1, 0.4, 0.6, 0.4])).probability
    assert np.argsort(-ordered).tolist() == [0, 1, 2, 3, 4]
    assert (ordered[:4] >= 0.5).all()
    assert ordered[4] == 0.2


def test_evidence_of_planted_rows_that_are_alike_does_not_accuse_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forest, "N_TREES", 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    signs = np.where(rng.random(400) < expit(4 * X[:, 0]), 1.0, -1.0)
    X[:40], signs[:40] = [2.0, 3.0, 3.0] + 0.1 * rng.normal(size=(40, 3)), -1.0
    view, _ = look_at_labels(X, signs, np.where(np.arange(400) < 40, 0.1, 1.0), np.arange(400), 0)
    assert view.by_scores.evidence[:40].min() > 20
    assert np.median(view.by_scores.evidence[40:]) < 4


def test_equal_rows_do_not_vouch_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "N_TREES", 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    signs = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:20], signs[:20] = [2.0, 0.0, 0.0], -1.0  # twenty copies with a wrong label
    _, view = look_at_labels(X, signs, np.ones(200), equal_rows(X), 0)
    assert (view.scores[:20] > 0).all()
    _, fooled = look_at_labels(X, signs, np.ones(200), np.arange(200), 0)
    assert (fooled.scores[:20] < 0).all()


def test_groups_of_equal_rows_are_listed_with_their_positions() -> None:
    groups = equal_rows(np.array([[1.0], [2.0], [1.0], [3.0], [2.0], [1.0]]))
    assert counts_of(groups).tolist() == [3, 2, 3, 1, 2, 3]
    assert [group.tolist() for group in repeated(groups)] == [[0, 2, 5], [1, 4]]
