"""Certified outlier removal against one Gram product, and the memory it takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ratio import Ratio, side_by_side
from thresher.outliers import OutlierRemoval, remove_outliers
from thresher.validation import FloatArray

SIZES = ((8_000, 1_000), (10_000, 2_000))
WIDE = (1_000, 1_000)  # as many rows as features: clipping alone proves too little
SPARSITY, DIRTY_FRACTION = 10, 0.05
SETTING: dict[str, Any] = {
    "l2_radius": 1.0,
    "l1_radius": float(np.sqrt(2 * SPARSITY)),
    "outlier_fraction": 0.06,
    "tolerance": 0.3,
}
TIME_BOUND, TIME_AIM = 2.5, 1.5  # Gram products, with planted rows
ALLOWANCE = 1.15  # of the paper's form, over what is proven for the clean rows alone


def measure() -> list[Ratio]:
    """The ratios of bars B1 (quality and time of both forms) and B4 (peak memory)."""
    ratios = [ratio for size in SIZES for ratio in (*_times(*size), _memory(*size))]
    proofs = [_proof(*size, planted=False) for size in (*SIZES, WIDE)]
    return [*ratios, *proofs, _proof(*WIDE, planted=True)]


def clean_rows(n_rows: int, n_features: int, seed: int = 0) -> FloatArray:
    """Gaussian rows."""
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def planted_rows(n_rows: int, n_features: int, seed: int = 0) -> tuple[FloatArray, int]:
    """Gaussian rows whose first few are planted, and how many: two directions and a point mass."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n_features))
    n_dirty = int(DIRTY_FRACTION * n_rows)
    ends = [0, 2 * n_dirty // 5, 4 * n_dirty // 5, n_dirty]
    for start, end, length, noise in zip(ends, ends[1:], (5.0, 6.0, 7.0), (0.1, 0.1, 0.0)):
        support = rng.choice(n_features, SPARSITY, replace=False)
        rows[start:end] *= noise
        rows[start:end, support] += length / np.sqrt(SPARSITY) * rng.choice([-1, 1], SPARSITY)
    return rows, n_dirty


def _times(n_rows: int, n_features: int) -> list[Ratio]:
    rows, n_dirty = planted_rows(n_rows, n_features)
    clean = remove_outliers(rows[n_dirty:], **{**SETTING, "outlier_fraction": 0.0})
    limit = ALLOWANCE * clean.variance_upper
    size = f"n = {n_rows}, d = {n_features}"
    return [
        *_least_variance(f"removal, least variance, {size}", rows),
        *_papers_form(f"removal, paper's form, {size}", rows, limit),
    ]


def _least_variance(what: str, rows: FloatArray) -> list[Ratio]:
    answer, seconds = _timed(rows, None)
    note = f"{seconds[0]:.3g} s against {seconds[1]:.3g} s, {answer.n_rounds} rounds"
    return [
        _tightness(what, answer, answer.status),
        Ratio("B1", f"{what}: Gram products", *seconds, TIME_BOUND, TIME_AIM, note=note),
    ]


def _proof(n_rows: int, n_features: int, *, planted: bool) -> Ratio:
    """The status on a shape whose time has no bar; the time is in the note."""
    rows = planted_rows(n_rows, n_features)[0] if planted else clean_rows(n_rows, n_features)
    answer, seconds = _timed(rows, None, repeats=1)
    kind = "planted" if planted else "clean"
    note = f"{answer.status}, {seconds[0] / seconds[1]:.1f} Gram products"
    return _tightness(f"removal, {kind}, n = {n_rows}, d = {n_features}", answer, note)


def _tightness(what: str, answer: OutlierRemoval, note: str) -> Ratio:
    """The proven variance over what "tightest" allows."""
    reachable = (1 + SETTING["tolerance"]) * answer.optimum_lower
    return Ratio("B1", f"{what}: status tightest", answer.variance_upper, reachable, 1.0, note=note)


def _papers_form(what: str, rows: FloatArray, limit: float) -> list[Ratio]:
    answer, seconds = _timed(rows, limit)
    note = f"{seconds[0]:.3g} s against {seconds[1]:.3g} s, {answer.n_rounds} rounds"
    upper = answer.variance_upper
    return [
        Ratio("B1", f"{what}: status feasible", upper, limit, 1.0, note=answer.status),
        Ratio("B1", f"{what}: Gram products", *seconds, TIME_BOUND, TIME_AIM, note=note),
    ]


def _timed(
    rows: FloatArray, limit: float | None, repeats: int = 5
) -> tuple[OutlierRemoval, tuple[float, float]]:
    answers: list[OutlierRemoval] = []

    def ours() -> None:
        answers[:] = [remove_outliers(rows, max_variance=limit, **SETTING)]

    seconds = side_by_side(ours, lambda: rows.T @ rows, repeats)
    return answers[0], seconds


def _memory(n_rows: int, n_features: int) -> Ratio:
    """Peak bytes beyond the input in a process of its own, over three d×d and one n×d matrix."""
    command = [sys.executable, "-m", "benchmarks.removal", str(n_rows), str(n_features)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    peaks: dict[str, int] = json.loads(done.stdout)
    allowed = 8 * (3 * n_features**2 + n_rows * n_features)
    note = ", ".join(f"{name} {peak / 1e6:.0f} MB" for name, peak in peaks.items())
    what = f"removal, n = {n_rows}, d = {n_features}: memory over 3 d×d + n×d"
    return Ratio("B4", what, float(max(peaks.values())), float(allowed), 1.0, note=note)


def _peaks(n_rows: int, n_features: int) -> dict[str, int]:
    """Peak bytes of one removal beyond its input: of NumPy's arrays, and of the whole process."""
    remove_outliers(planted_rows(500, 50)[0], **SETTING)
    rows, _ = planted_rows(n_rows, n_features)
    rows.T @ rows  # modules and the buffers of BLAS, taken once for good, are not counted
    before = _resident("VmRSS")
    _forget_peak()
    tracemalloc.start()
    remove_outliers(rows, **SETTING)
    peaks = {"arrays": tracemalloc.get_traced_memory()[1]}
    if before is not None:
        peaks["process"] = (_resident("VmHWM") or before) - before
    return peaks


def _resident(field: str) -> int | None:
    """The process's resident bytes (VmRSS) or their peak (VmHWM), where the system tells.

    Not `resource.getrusage`: its peak is inherited from the process that started this one.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(x.split()[1]) for x in lines if x.startswith(field)), None)


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # then the peak of making the input is counted too, at worst


if __name__ == "__main__":
    print(json.dumps(_peaks(int(sys.argv[1]), int(sys.argv[2]))))
