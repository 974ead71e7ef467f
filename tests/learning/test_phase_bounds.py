"""What a phase reports is true of the weights it used: recomputed here, by other means.

Nothing is taken from the solvers or from the certificates: bounds on the variance come from
eigenvalues, from many directions, and from weights made here.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import HalfspaceClassifier, learn_actively, learn_passively
from thresher.estimators.columns import HomogeneousRows
from thresher.learning import PracticalSchedule
from thresher.learning.history import PhaseOutcome

SLACK = 1e-9  # relative: the rounding of this recomputation
N_FITS = 200


# -- the recomputation -----------------------------------------------------------------------


def second_moment(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.einsum("ni,n,nj->ij", rows, weights, rows) / len(rows)


def into_both_balls(directions: np.ndarray, r: float, rho: float) -> np.ndarray:
    """Each row scaled to the boundary of the intersection of an l2 and an l1 ball."""
    l2, l1 = np.linalg.norm(directions, axis=1), np.abs(directions).sum(axis=1)
    return directions * np.minimum(r / l2, rho / l1)[:, None]


def variance_from_below(gram: np.ndarray, r: float, rho: float, seed: int = 0) -> float:
    """The largest vᵀAv over many directions of both balls, eigenvectors and their cuts first."""
    d = len(gram)
    vectors = np.linalg.eigh(gram)[1].T
    cuts = [
        np.where(np.abs(v) >= np.sort(np.abs(v))[-k], v, 0) for v in vectors for k in range(1, d)
    ]
    drawn = np.random.default_rng(seed).standard_normal((2000, d))
    few = drawn * (np.random.default_rng(seed).random(drawn.shape) < 0.5)
    starts = np.vstack([vectors, *cuts, np.eye(d), drawn, few[few.any(axis=1)]])
    inside = into_both_balls(starts, r, rho)
    return float(np.einsum("ki,ij,kj->k", inside, gram, inside).max())


def variance_from_above(gram: np.ndarray, r: float, rho: float) -> float:
    """The least of r²·λmax(A − U) + ρ²·max|U| over the entries of A as levels at which U clips."""
    least = np.inf
    for level in (0.0, *np.quantile(np.abs(gram), np.linspace(0, 1, 15))):
        rest = gram - np.clip(gram, -level, level)
        value = r**2 * max(float(np.linalg.eigvalsh(rest)[-1]), 0.0) + rho**2 * level
        least = min(least, value)
    return least


def other_weights(rows: np.ndarray, allowance: float, start: np.ndarray) -> list[np.ndarray]:
    """Admissible weights: the ones used, and the rest of the allowance spent on the worst rows."""
    found = [start]
    for base in (np.ones(len(rows)), start):
        weights, budget = base.copy(), base.sum() - (1 - allowance) * len(rows)
        while budget > 1e-9:
            top = np.linalg.eigh(second_moment(rows, weights))[1][:, -1]
            scores = np.where(weights > 0, np.square(rows @ top), -1.0)
            worst = int(scores.argmax())
            taken = min(float(weights[worst]), budget)
            weights[worst] -= taken
            budget -= taken
        found.append(weights)
    return found


def contradictions(
    outcome: PhaseOutcome, rows: np.ndarray, earlier: list[PhaseOutcome]
) -> list[str]:
    """Everything that the outcome reports about its weights and that is not so."""
    phase, weights, found = outcome.phase, outcome.row_weights, []
    r, rho = phase.l2_radius, phase.removal_l1_radius

    def demand(holds: bool, what: str) -> None:
        if not holds:
            found.append(f"phase {phase.index}: {what}")

    gram = second_moment(rows, weights)
    below, above = variance_from_below(gram, r, rho), variance_from_above(gram, r, rho)
    demand(outcome.variance_lower <= above * (1 + SLACK), "variance_lower is too large")
    demand(outcome.variance_upper >= below * (1 - SLACK), "variance_upper is too small")
    for candidate in other_weights(rows, outcome.weight_allowance, weights):
        reached = variance_from_above(second_moment(rows, candidate), r, rho)
        demand(outcome.optimum_lower <= reached * (1 + SLACK), "optimum_lower is too large")
    demand(weights.min() >= 0 and weights.max() <= 1, "weights outside of [0, 1]")
    removed = 1 - weights.mean()
    demand(abs(outcome.weight_removed - removed) < 1e-12, "weight_removed is not what is gone")
    demand(removed <= outcome.weight_allowance + 1e-11, "more is gone than the allowance")
    demand(outcome.weight_allowance <= allowed(outcome, earlier) + 1e-11, "allowance too large")
    demand(outcome.weight_left_out <= phase.trimmed_share + 1e-12, "too much is left out")
    if outcome.removal_is_certified:
        demand(outcome.variance_upper <= outcome.variance_allowance * (1 + SLACK), "not certified")
    return found


def allowed(outcome: PhaseOutcome, earlier: list[PhaseOutcome]) -> float:
    """One outlier fraction for each view, and what earlier phases took from the same rows."""
    if not outcome.phase.label_aware:
        return outcome.phase.outlier_fraction
    trust = dict.fromkeys(outcome.row_ids.tolist(), 1.0)
    for other in earlier:
        for i, weight in zip(other.row_ids.tolist(), other.row_weights.tolist(), strict=True):
            trust[i] = min(trust.get(i, 1.0), weight)
    lost = 1 - np.mean([trust[i] for i in outcome.row_ids.tolist()])
    return min(1.0, float(lost) + 2 * outcome.phase.outlier_fraction)


# -- the fits --------------------------------------------------------------------------------


def table(seed: int, *, sparse: bool) -> tuple[np.ndarray, np.ndarray]:
    """A small table with a few planted rows, in one of four ways."""
    rng = np.random.default_rng([seed, 15])
    n, d = int(rng.choice([40, 120, 250])), int(rng.choice([2, 4, 8, 14]))
    X = rng.standard_normal((n, d)) * rng.choice([1.0, 1.0, 3.0], d)
    if sparse:
        X *= rng.random((n, d)) < 0.4
    y = np.where(X[:, 0] - 0.5 * X[:, -1] + 0.1 * rng.standard_normal(n) > 0, 1.0, -1.0)
    n_planted, kind = n // 12, seed % 4
    if kind == 1:
        X[:n_planted] = 4 * rng.standard_normal(d)
    if kind == 2:
        X[:n_planted] *= 5
        y[:n_planted] *= -1
    if kind == 3:
        X[:n_planted, 0] = 3.0
        y[:n_planted] = -1.0
    y[-2:] = [1.0, -1.0]
    return X, y


def fit(seed: int) -> tuple[tuple[PhaseOutcome, ...], Any]:
    """The phases of a small fit, and a function that gives the rows with some ids."""
    rng = np.random.default_rng([seed, 16])
    driver = seed % 5
    X, y = table(seed, sparse=driver in (1, 3))
    noise_rate = float(rng.choice([0.0, 0.05, 0.1, 0.2]))
    sparsity = int(rng.choice([1, 2, 5, X.shape[1]]))
    if driver <= 3:  # dense, sparse; label-aware, or not
        model = HalfspaceClassifier(
            sparsity, noise_rate, label_aware=driver <= 1, random_state=seed
        )
        model.fit(sp.csr_array(X) if driver in (1, 3) else X, y)
        rows = HomogeneousRows(X, model.scaling_, True)
        return model.phases_, rows.__getitem__
    asked = {"sparsity": sparsity, "noise_rate": noise_rate, "random_state": seed}
    if seed % 2:
        return learn_passively(X, y, **asked).phases_, X.__getitem__
    schedule = PracticalSchedule(min_unlabeled=60, max_unlabeled=60)
    asked.update(label_budget=60, schedule=schedule)
    return learn_actively(X, lambda ids, _: y[ids], **asked).phases_, X.__getitem__


def refuted(seed: int) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        phases, rows_of = fit(seed)
    return [
        found
        for k, outcome in enumerate(phases)
        for found in contradictions(outcome, rows_of(outcome.row_ids), list(phases[:k]))
    ]


def seeds() -> list[Any]:
    return [s if s < 10 else pytest.param(s, marks=pytest.mark.slow) for s in range(N_FITS)]


@pytest.mark.parametrize("seed", seeds())
def test_no_phase_reports_what_a_recomputation_contradicts(seed: int) -> None:
    assert refuted(seed) == []


@pytest.mark.slow
def test_the_fits_cover_what_they_should() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [outcome for seed in range(60) for outcome in fit(seed)[0]]
    assert {outcome.phase.label_aware for outcome in outcomes} == {True, False}
    assert {"tightest", "feasible"} <= {outcome.removal_status for outcome in outcomes}
    certified = [outcome.removal_is_certified for outcome in outcomes]
    assert np.mean(certified) > 0.97


# -- the recomputation can fail --------------------------------------------------------------


@pytest.fixture(scope="module")
def late_phase() -> tuple[PhaseOutcome, np.ndarray, list[PhaseOutcome]]:
    """A label-aware phase that uses the least of three weights, and what is needed to check it."""
    phases, rows_of = fit(5)
    outcome = next(o for o in phases if o.removal_status == "feasible")
    rows, earlier = rows_of(outcome.row_ids), list(phases[: phases.index(outcome)])
    assert contradictions(outcome, rows, earlier) == []
    return outcome, rows, earlier


@pytest.mark.parametrize(
    "forged",
    [
        lambda o: {"variance_lower": 1.3 * o.variance_upper},
        lambda o: {"variance_upper": 0.8 * o.variance_lower},
        lambda o: {"optimum_lower": 1.3 * o.variance_upper},
        lambda o: {"weight_removed": o.phase.outlier_fraction},
        lambda o: {"weight_allowance": o.phase.outlier_fraction / 4},
        lambda o: {"weight_allowance": 0.9 + 0 * o.weight_allowance},
        lambda o: {"variance_allowance": o.variance_upper / 2},
        lambda o: {"row_weights": np.minimum(2 * o.row_weights, 1.1)},
    ],
    ids=lambda forged: forged.__code__.co_consts[1] if callable(forged) else "",
)
def test_a_false_report_is_contradicted(forged: Any, late_phase: Any) -> None:
    outcome, rows, earlier = late_phase
    assert contradictions(replace(outcome, **forged(outcome)), rows, earlier) != []


def test_the_bounds_of_the_recomputation_enclose_the_truth() -> None:
    gram = np.diag([1.0, 2.0, 4.0])
    assert variance_from_below(gram, 1.0, 2.0) == pytest.approx(4.0)
    assert variance_from_above(gram, 1.0, 2.0) == pytest.approx(4.0)
