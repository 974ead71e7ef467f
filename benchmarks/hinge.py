"""Certified hinge minimisation against a generic cone solver and an ordinary linear SVM."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.ratio import Ratio, side_by_side
from thresher.solvers.hinge import minimize_hinge
from thresher.validation import FloatArray

N_ROWS, N_FEATURES, SPARSITY, FLIPPED = 2000, 1000, 20, 0.05
TOLERANCE = 1e-3


def measure() -> list[Ratio]:
    """The ratios of bar B3: a first and a later phase, each against both rivals."""
    return [
        ratio
        for phase, (rows, labels, region) in {
            "phase 1, hinge_scale 0.25": first_phase(0.25),
            "phase 1, hinge_scale 0.5": first_phase(0.5),
            "later phase, hinge_scale 0.25": later_phase(0.25),
        }.items()
        for ratio in _ratios(phase, rows, labels, region)
    ]


def first_phase(hinge_scale: float) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Gaussian rows with 5 % of the labels flipped, and the region of phase 1 around the origin."""
    rows, labels, _ = _flipped_rows(np.random.default_rng(0))
    region = {
        "center": np.zeros(N_FEATURES),
        "l2_radius": 1.0,
        "l1_radius": SPARSITY**0.5,
        "hinge_scale": hinge_scale,
    }
    return rows, labels, region


def later_phase(hinge_scale: float) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """The same rows, and a smaller region around a sparse halfspace near the target."""
    rng = np.random.default_rng(0)
    rows, labels, target = _flipped_rows(rng)
    error = np.where(target != 0, rng.standard_normal(N_FEATURES), 0.0)
    center = target + 0.2 * error / np.linalg.norm(error)
    region = {
        "center": center / np.linalg.norm(center),
        "l2_radius": 0.25,
        "l1_radius": (2 * SPARSITY) ** 0.5 * 0.25,
        "hinge_scale": hinge_scale,
    }
    return rows, labels, region


def _flipped_rows(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    target = np.zeros(N_FEATURES)
    target[:SPARSITY] = rng.uniform(0.5, 1.5, SPARSITY) * rng.choice([-1, 1], SPARSITY)
    target /= np.linalg.norm(target)
    rows = rng.standard_normal((N_ROWS, N_FEATURES))
    labels = np.where(rows @ target >= 0, 1.0, -1.0)
    labels[rng.random(N_ROWS) < FLIPPED] *= -1
    return rows, labels, target


def _ratios(
    phase: str, rows: FloatArray, labels: FloatArray, region: dict[str, Any]
) -> list[Ratio]:
    answer = minimize_hinge(rows, labels, tolerance=TOLERANCE, **region)
    note = f"{answer.status}, gap {answer.gap:.1e}"

    def ours() -> None:
        minimize_hinge(rows, labels, tolerance=TOLERANCE, **region)

    svm = side_by_side(ours, lambda: _fit_svm(rows, labels), 5)
    cone = side_by_side(ours, lambda: _solve_cone(rows, labels, region), 1)
    return [
        Ratio("B3", f"hinge against Clarabel, {phase}", *cone, 10.0, 50.0, True, note),
        Ratio("B3", f"hinge against LinearSVC, {phase}", *svm, 1.0, 5.0, True, note),
    ]


def _fit_svm(rows: FloatArray, labels: FloatArray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        LinearSVC(loss="hinge").fit(rows, labels)


def _solve_cone(rows: FloatArray, labels: FloatArray, region: dict[str, Any]) -> float:
    offset = cp.Variable(rows.shape[1])
    margins = cp.multiply(labels, rows @ (region["center"] + offset)) / region["hinge_scale"]
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.pos(1 - margins)) / rows.shape[0]),
        [
            cp.norm(offset, 2) <= region["l2_radius"],
            cp.norm(offset, 1) <= region["l1_radius"],
        ],
    )
    return float(problem.solve(solver="CLARABEL"))
