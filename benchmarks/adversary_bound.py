"""The bound on the adversary on fits whose clean rows are known: is it ever false, is it tight?

    python -m benchmarks.adversary_bound [--data-dir DIR] [--fits 500] [--out FILE]

Gaussian tables, and real ones if --data-dir is given, under the attacks of `poison`. A bound is
attacked in two ways: the clean rows' hinge loss is minimized over the halfspaces it speaks of; and
the planted rows themselves are chosen anew, in turn with the halfspace, as the bound allows. The
exit status is 1 if a bound was violated, or its own checker refuses it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import HalfspaceClassifier
from thresher.adversary import AdversaryBound, bound_adversary
from thresher.adversary_checker import accepts_adversary_bound
from thresher.estimators.adversary import DISTANCE, bound_on_adversary, halfspace_of
from thresher.estimators.columns import HomogeneousRows
from thresher.experiments.table_run import load_table
from thresher.simulate import POISON_STRENGTHS, poison, random_target
from thresher.solvers import minimize_hinge, worst_direction_of_rows
from thresher.validation import FloatArray

SHAPES = {"gauss20": (1000, 20, 3), "gauss60": (700, 60, 5)}  # rows, features, sparsity
REAL = ("spambase", "cina", "mdrr")
N_REAL_ROWS = 1000
RATES = (0.02, 0.05, 0.1)
SETTINGS: dict[str, dict[str, Any]] = {"reach 2": {}, "reach 30": {"reach": 30.0}}
OTHER = ((0.1, 1.0), (0.25, 0.2), (0.6, 1.0), (0.1, 0.4))  # distance, and share of the hinge scale
N_ROUNDS = 3  # of choosing the planted rows and the halfspace in turn


@dataclass(frozen=True)
class Case:
    """One fit: a table, what is planted in it, and how it is fitted."""

    table: str
    attack: str
    rate: float
    setting: str
    seed: int


def cases(n_fits: int, real: Sequence[str] = ()) -> list[Case]:
    """That many cases, every combination once before any is repeated with another seed."""
    kinds = list(product((*SHAPES, *real), POISON_STRENGTHS, RATES, SETTINGS))
    chosen = enumerate(islice(cycle(kinds), n_fits))
    return [
        Case(table, attack, rate, setting, i // len(kinds))
        for i, (table, attack, rate, setting) in chosen
    ]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted case: rows and labels as the halfspace sees them, and which rows are clean."""

    model: Any
    X: Any
    y: Any
    rows: FloatArray
    labels: FloatArray
    is_clean: NDArray[np.bool_]

    @property
    def rate(self) -> float:
        """The share of planted rows, not a row less."""
        return float(1 - self.is_clean.mean()) * (1 + 1e-9)


def fit(case: Case, data_dir: str | None = None) -> Fit:
    """The case's table, poisoned and fitted."""
    X, y, sparsity = _clean_table(case, data_dir)
    table = poison(X, y, attack=case.attack, fraction=case.rate, random_state=case.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"final_fit": "hinge", "random_state": 0, **SETTINGS[case.setting]}
        model = HalfspaceClassifier(sparsity, case.rate, **settings).fit(table.X, table.y)
    rows = HomogeneousRows(np.asarray(table.X, dtype=float), model.scaling_, True)[:]
    labels = np.where(table.y == model.classes_[1], 1.0, -1.0)
    return Fit(model, table.X, table.y, rows, labels, ~table.is_planted)


def _clean_table(case: Case, data_dir: str | None) -> tuple[Any, Any, int]:
    rng = np.random.default_rng(case.seed)
    if case.table in SHAPES:
        n, d, sparsity = SHAPES[case.table]
        X = rng.standard_normal((n, d))
        return X, np.where(X @ random_target(d, sparsity, rng) > 0, 1, -1), sparsity
    assert data_dir is not None
    table = load_table(data_dir, case.table)
    assert table.y is not None
    chosen = rng.permutation(table.n_rows)[:N_REAL_ROWS]
    return np.asarray(table.X[chosen], dtype=float), table.y[chosen], 10


# -- attacks on a bound ------------------------------------------------------------------------


def losses(found: Fit, point: FloatArray, hinge_scale: float) -> FloatArray:
    """The hinge loss of each row."""
    return np.maximum(1 - found.labels * (found.rows @ point) / hinge_scale, 0)


def drop(found: Fit, point: FloatArray, bound: AdversaryBound, is_clean: Any = None) -> float:
    """By how much the clean rows' loss is lower at a point than at the fitted halfspace.

    Without a set of clean rows, the planted ones are those that make it largest.
    """
    center = halfspace_of(found.model)
    changes = losses(found, center, bound.hinge_scale) - losses(found, point, bound.hinge_scale)
    if is_clean is not None:
        return float(changes[is_clean].sum()) / changes.size
    hidden = np.minimum(np.sort(changes)[: bound.n_planted], 0)
    return float(changes.sum() - hidden.sum()) / changes.size


def challengers(found: Fit, bound: AdversaryBound, is_clean: Any) -> Iterator[FloatArray]:
    """Halfspaces that the bound speaks of, with a small hinge loss on these rows."""
    center = halfspace_of(found.model)
    rows = np.concatenate([found.rows, -bound.hinge_scale * center[None]])
    for growth in {0.0, bound.growth}:
        weights = np.append(is_clean.astype(float), growth * is_clean.size)
        lowest = minimize_hinge(
            rows,
            np.append(found.labels, 1.0),
            center=center,
            l2_radius=bound.distance,
            l1_radius=bound.distance * bound.l1_ratio,
            hinge_scale=bound.hinge_scale,
            sample_weight=weights,
            tolerance=1e-4,
        )
        yield inside(lowest.point, center, bound)


def inside(point: FloatArray, center: FloatArray, bound: AdversaryBound) -> FloatArray:
    """The point moved to where the bound holds: not longer than the halfspace, and close to it."""
    point = point * min(1.0, float(np.linalg.norm(center) / np.linalg.norm(point)))
    step = point - center
    l1_excess = float(np.abs(step).sum()) / (bound.l1_ratio * bound.distance)
    excess = max(float(np.linalg.norm(step)) / bound.distance, l1_excess, 1.0)
    return center + step / (excess * (1 + 1e-12))


def worst_drop(found: Fit, bound: AdversaryBound, *, any_rows: bool) -> float:
    """The largest drop found: of the truly clean rows, or of any that may be clean."""
    center, worst, is_clean = halfspace_of(found.model), 0.0, found.is_clean
    for _ in range(N_ROUNDS if any_rows else 1):
        best, best_drop = center, 0.0
        for point in challengers(found, bound, is_clean):
            value = drop(found, point, bound, None if any_rows else is_clean)
            half = drop(found, (center + point) / 2, bound, None if any_rows else is_clean)
            worst = max(worst, value, half * bound.value / bound.at(bound.distance / 2))
            best, best_drop = (point, value) if value > best_drop else (best, best_drop)
        changes = losses(found, best, bound.hinge_scale)
        changes -= losses(found, center, bound.hinge_scale)
        is_clean = np.ones_like(is_clean)
        is_clean[np.argsort(-changes, kind="stable")[: bound.n_planted]] = False
    return worst


# -- measuring ---------------------------------------------------------------------------------


def measure(case: Case, data_dir: str | None = None) -> dict[str, Any]:
    """What the bound says about a case, in both forms, and how close the attacks came to it."""
    found = fit(case, data_dir)
    start = time.process_time()
    bound = bound_on_adversary(found.model, found.X, found.y, noise_rate=found.rate)
    seconds = time.process_time() - start
    distance, share = OTHER[hash_of(case) % len(OTHER)]
    other = bound_on_adversary(
        found.model,
        found.X,
        found.y,
        noise_rate=found.rate,
        distance=distance,
        hinge_scale=share * bound.hinge_scale,
    )
    second = second_form(found, bound)
    ratios = [worst_drop(found, one, any_rows=True) / one.value for one in (bound, other)]
    assumed = worst_drop(found, second, any_rows=False) / second.value
    point = halfspace_of(found.model)
    proven = [
        accepts_adversary_bound(found.rows, found.labels, point, one)
        for one in (bound, other, second)
    ]
    return {
        **vars(case),
        "value": bound.value,
        "per_unit": bound.value * bound.hinge_scale / bound.distance,
        "trivial": bound.trivial,
        "loss": bound.loss,
        "is_useful": bool(bound.is_useful),
        "other_is_useful": bool(other.is_useful),
        "n_features": int(found.model.support_.size),
        "other_distance": other.distance,
        "other_scale": other.hinge_scale,
        "plain": plain_formula(found, bound),
        "second": second.value,
        "first_of_trust": trusted(found, bound, None).value,
        "reached": ratios[0],
        "is_violated": bool(max(*ratios, assumed) > 1 + 1e-12 or not all(proven)),
        "cpu_seconds": seconds,
    }


def hash_of(case: Case) -> int:
    """A number that spreads the cases evenly, the same in every run."""
    return sum(map(ord, case.table + case.attack + case.setting)) + case.seed


def trusted(found: Fit, like: AdversaryBound, clean_variance: float | None) -> AdversaryBound:
    """The bound that the trust alone proves, with the same distance and scale as another."""
    return bound_adversary(
        found.rows,
        found.labels,
        halfspace_of(found.model),
        weights=found.model.row_weights_,
        n_planted=like.n_planted,
        hinge_scale=like.hinge_scale,
        distance=like.distance,
        l1_ratio=like.l1_ratio,
        clean_variance=clean_variance,
    )


def second_form(found: Fit, like: AdversaryBound) -> AdversaryBound:
    """The second form, with the least variance that is proven for the clean rows."""
    weights = found.is_clean.astype(float)
    radii: dict[str, Any] = {"l2_radius": 1.0, "l1_radius": like.l1_ratio}
    variance = worst_direction_of_rows(found.rows, weights, **radii, tolerance=0.05).upper
    return trusted(found, like, variance)


def plain_formula(found: Fit, bound: AdversaryBound) -> float:
    """gap + (√(η·V_q) + √(ξ'·V_{1−q}))/τ with the trust as q: where the derivation started."""
    trust, point = found.model.row_weights_, halfspace_of(found.model)
    radii: dict[str, Any] = {
        "l2_radius": bound.distance,
        "l1_radius": bound.distance * bound.l1_ratio,
    }
    total, share = 0.0, bound.n_planted / bound.n_rows
    for weights, mass in ((trust, share), (1 - trust, float(1 - trust.mean()))):
        if weights.any():
            upper = worst_direction_of_rows(found.rows, weights, **radii, tolerance=0.05).upper
            total += float(np.sqrt(mass * upper)) / bound.hinge_scale
    lowest = minimize_hinge(
        found.rows,
        found.labels,
        center=point,
        hinge_scale=bound.hinge_scale,
        sample_weight=trust,
        **radii,
    )
    loss = float(np.average(losses(found, point, bound.hinge_scale), weights=trust))
    return loss - lowest.lower_bound + total


# -- the program -------------------------------------------------------------------------------


def describe(records: Sequence[dict[str, Any]]) -> str:
    """Medians by attack and by table, as text."""
    head = ("", "fits", "X", "X·τ/r", "trivial", "useful", "reached", "plain", "form 1", "form 2")
    lines = ["  ".join(f"{title:>9}" for title in head)]
    for key in ("attack", "rate", "table", "setting", None):
        groups = dict.fromkeys(record[key] if key else "all" for record in records)
        for group in groups:
            own = [r for r in records if key is None or r[key] == group]
            cells = [f"{group!s:>15}"[-16:], f"{len(own)}"]
            for name in ("value", "per_unit", "trivial"):
                cells.append(f"{np.median([r[name] for r in own]):.3f}")
            cells.append(f"{np.mean([r['is_useful'] for r in own]):.0%}")
            for name in ("reached", "plain", "first_of_trust", "second"):
                cells.append(f"{np.median([r[name] for r in own]):.3f}")
            lines.append("  ".join(f"{text:>9}" for text in cells))
    return "\n".join(lines)


def run(planned: Sequence[Case], data_dir: str | None, path: Path | None) -> list[dict[str, Any]]:
    """The records of these cases; those that the file has already are not measured again."""
    records = _read(path) if path is not None and path.exists() else []
    done = {tuple(record[item.name] for item in fields(Case)) for record in records}
    for case in planned:
        if astuple(case) in done:
            continue
        records.append(measure(case, data_dir))
        print(f"{len(records)} fits", file=sys.stderr, flush=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
    return records


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every case, print medians, and say how many bounds were violated."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adversary_bound")
    parser.add_argument("--data-dir", help="folder with the real tables")
    parser.add_argument("--fits", type=int, default=500, help="number of fits (default: 500)")
    parser.add_argument("--out", type=Path, help="records; a stopped run continues")
    options = parser.parse_args(argv)
    real = REAL if options.data_dir else ()
    records = run(cases(options.fits, real), options.data_dir, options.out)
    n_violated = sum(record["is_violated"] for record in records)
    print(f"distance {DISTANCE}, both forms, {len(records)} fits: {n_violated} violated")
    print(describe(records))
    return 1 if n_violated else 0


if __name__ == "__main__":
    sys.exit(main())
