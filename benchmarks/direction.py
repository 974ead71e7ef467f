"""The certified worst direction against SCS on the same semidefinite program."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.cone import EPS, ConeProgram, as_dual, as_stated
from benchmarks.ratio import Ratio, side_by_side
from thresher.solvers import WorstDirection, worst_direction
from thresher.validation import FloatArray

TOLERANCE = 1e-3
SIZES, FULL_SIZES = (100, 200), (100, 200, 400)
CHEAP_SIZE, CHEAP_TOLERANCE = 2000, 0.3
DIRTY_FRACTION, LENGTH = 0.05, 6.0
SPEEDUPS = {"planted": (10.0, 100.0), "noise": (3.0, 10.0)}  # bound and aim
PROGRAMS: dict[str, Callable[[FloatArray, float, float], ConeProgram]] = {
    "SCS": as_stated,
    "SCS on the dual": as_dual,
}


def measure(full: bool = False) -> list[Ratio]:
    """The ratios of bar B2: speed and agreement against SCS, and the cost of the cheap bounds.

    SCS needs minutes at d = 400, so that size is measured in the full run only.
    """
    against_scs = [
        ratio
        for n_features in (FULL_SIZES if full else SIZES)
        for kind in SPEEDUPS
        for ratio in _against_scs(kind, n_features)
    ]
    return against_scs + [_cheap_bounds(kind) for kind in SPEEDUPS]


def gram_matrix(kind: str, n_features: int) -> tuple[FloatArray, float]:
    """The second moment of 4d Gaussian rows, planted or not, and the l1 radius √(2s), s = d/20."""
    rng = np.random.default_rng(n_features)
    n_rows, sparsity = 4 * n_features, n_features // 20
    rows = rng.standard_normal((n_rows, n_features))
    if kind == "planted":
        support = rng.choice(n_features, sparsity, replace=False)
        n_dirty = int(DIRTY_FRACTION * n_rows)
        rows[:n_dirty] *= 0.1
        rows[:n_dirty, support] += LENGTH / np.sqrt(sparsity) * rng.choice([-1, 1], sparsity)
    return rows.T @ rows / n_rows, float(np.sqrt(2 * sparsity))


def _against_scs(kind: str, n_features: int) -> list[Ratio]:
    """Speed at one thread and at all of them, then what the two solvers found."""
    gram, l1_radius = gram_matrix(kind, n_features)
    rivals = {name: program(gram, 1.0, l1_radius) for name, program in PROGRAMS.items()}
    case = f"{kind}, d = {n_features}"
    speeds = []
    for n_threads in sorted({1, os.cpu_count() or 1}):
        with threadpool_limits(limits=n_threads):  # of both solvers, however they were built
            for name, rival in rivals.items():
                what = f"worst direction against {name}, {case}, threads: {n_threads}"
                speeds.append(_speed(what, gram, l1_radius, rival, *SPEEDUPS[kind]))
    answer = _solve(gram, l1_radius, TOLERANCE)
    apart = [_agreement(f"{name}, {case}", answer, rival.value) for name, rival in rivals.items()]
    what = f"worst direction, {case}: gap in tolerances"
    gap = Ratio("B2", what, answer.gap, TOLERANCE, 1.0, note=answer.status)
    return [*speeds, *apart, gap]


def _solve(gram: FloatArray, l1_radius: float, tolerance: float) -> WorstDirection:
    return worst_direction(gram, l2_radius=1.0, l1_radius=l1_radius, tolerance=tolerance)


def _speed(
    what: str, gram: FloatArray, l1_radius: float, rival: ConeProgram, bound: float, aim: float
) -> Ratio:
    repeats = 3 if gram.shape[0] <= 100 else 1
    rival.prepare(1 + repeats)
    seconds = side_by_side(lambda: _solve(gram, l1_radius, TOLERANCE), rival.solve, repeats)
    note = f"{seconds[0]:.3g} s against {seconds[1]:.3g} s ({rival.status})"
    return Ratio("B2", what, *seconds, bound, aim, True, note)


def _agreement(case: str, answer: WorstDirection, value: float) -> Ratio:
    """How far SCS's value lies outside our interval, in units of the accuracy it was asked for."""
    outside = max(answer.lower - value, value - answer.upper, 0.0)
    if np.isnan(value):
        outside = float("nan")
    what = f"values apart, worst direction and {case}"
    note = f"{value:.5g} in [{answer.lower:.5g}, {answer.upper:.5g}]"
    return Ratio("B2", what, outside, EPS * (1 + abs(value)), 1.0, note=note)


def _cheap_bounds(kind: str) -> Ratio:
    gram, l1_radius = gram_matrix(kind, CHEAP_SIZE)
    seconds = side_by_side(
        lambda: _solve(gram, l1_radius, CHEAP_TOLERANCE), lambda: np.linalg.eigvalsh(gram), 3
    )
    gap = _solve(gram, l1_radius, CHEAP_TOLERANCE).gap
    what = f"bounds to 30 % against eigvalsh, {kind}, d = {CHEAP_SIZE}"
    note = f"{seconds[0]:.3g} s against {seconds[1]:.3g} s, gap {gap:.2f}"
    return Ratio("B2", what, *seconds, 1.0, note=note)
