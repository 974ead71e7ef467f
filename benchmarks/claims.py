"""What the paper's lemmas and its open question on rows look like from inside the simulator.

    python -m benchmarks.claims lemmas --out docs/studies/claims-lemmas.csv
    python -m benchmarks.claims filters --out docs/studies/claims-filters.csv
    python -m benchmarks.claims concentration --out docs/studies/claims-concentration.csv

A file that exists is continued: what it has is not measured again. The other claims are sweeps of
the arena: `thresher arena run claims`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import UncertifiedPhase
from thresher.experiments.lemmas import measure_lemmas
from thresher.experiments.sources import LEMMAS, source_digest
from thresher.experiments.spec import SimulationSpec
from thresher.learning import Task
from thresher.outliers import find_weights
from thresher.rivals.methods.pool_filters import weigh_by_sparse_moments
from thresher.simulate import Gaussian, random_target
from thresher.simulate.distributions import DISTRIBUTIONS
from thresher.solvers import worst_direction_of_rows
from thresher.solvers.eigen import top_eigenpairs
from thresher.validation import FloatArray

N_FEATURES = 200
SPARSITIES = (3, 6, 12, 24)
N_ROWS = tuple(100 * 2**k for k in range(6))

# -- lemmas ------------------------------------------------------------------------------------

ATTACKS = (
    ("label-flip", None),
    ("kearns-li", None),
    ("in-band-mass", 2.0),
    ("in-band-mass", 3.0),
    ("on-support-tilt-in-band", 4.0),
    ("linf-hijack-in-band", 0.25),
)
WORLD: dict[str, Any] = {
    "n_features": N_FEATURES,
    "sparsity": 5,
    "noise_rate": 0.05,
    "label_budget": 800,
}

Key = dict[str, Any]
Measured = Iterator[dict[str, Any]]


def lemma_keys() -> Iterator[Key]:
    """The runs whose phases are measured."""
    for (adversary, strength), seed in itertools.product(ATTACKS, range(3)):
        yield {"adversary": adversary, "strength": strength, "seed": seed}


def lemma_rows(key: Key) -> Measured:
    """The phases of one run."""
    spec = SimulationSpec(**WORLD, adversary=key["adversary"], strength=key["strength"])
    for measures in measure_lemmas(spec, key["seed"]):
        yield asdict(measures)


# -- filters -----------------------------------------------------------------------------------

PLANTED_SHARE = 0.1
PLANTED_VARIANCE = 2.0  # along the planted direction, on top of the clean rows' variance of 1
ALLOWANCE = 1.5 * PLANTED_SHARE  # of the weight that a filter may take, where it has one


def by_removal(X: FloatArray, sparsity: int) -> FloatArray:
    """Algorithm 2 in its least-variance form."""
    l1_radius = float(np.sqrt(sparsity))
    return find_weights(X, l2_radius=1.0, l1_radius=l1_radius, outlier_fraction=ALLOWANCE)


def by_diagonal_thresholding(X: FloatArray, sparsity: int) -> FloatArray:
    """No weight for the rows farthest out along the top direction of the s largest columns."""
    features = np.argsort(-np.mean(X**2, axis=0), kind="stable")[:sparsity]
    _, vectors = top_eigenpairs(X[:, features].T @ X[:, features] / len(X), 1)
    distances = np.abs(X[:, features] @ vectors[:, -1])
    weights = np.ones(len(X))
    weights[np.argsort(-distances, kind="stable")[: round(ALLOWANCE * len(X))]] = 0.0
    return weights


def filters_for(sparsity: int) -> Mapping[str, Callable[[FloatArray], FloatArray]]:
    """The filters by name."""
    task = Task(n_features=N_FEATURES, sparsity=sparsity, noise_rate=PLANTED_SHARE)
    return {
        "Algorithm 2": partial(by_removal, sparsity=sparsity),
        "diagonal thresholding": partial(by_diagonal_thresholding, sparsity=sparsity),
        "sparse filter": partial(weigh_by_sparse_moments, task=task, share=PLANTED_SHARE),
    }


def filter_keys() -> Iterator[Key]:
    """The pools that are filtered."""
    for s, n, seed in itertools.product(SPARSITIES, N_ROWS, range(3)):
        yield {"sparsity": s, "n_rows": n, "seed": seed}


def filter_rows(key: Key) -> Measured:
    """For each filter, the share of the planted rows' weight that is left, over the clean rows'."""
    rng = np.random.default_rng([key["seed"], key["sparsity"], key["n_rows"]])
    n, n_planted = key["n_rows"], round(PLANTED_SHARE * key["n_rows"])
    X = Gaussian(N_FEATURES).sample(n, rng)
    direction = random_target(N_FEATURES, key["sparsity"], rng)
    length = np.sqrt(PLANTED_VARIANCE / PLANTED_SHARE)
    X[:n_planted] += length * np.outer(rng.choice([-1.0, 1.0], size=n_planted), direction)
    for name, weigh in filters_for(key["sparsity"]).items():
        weights = weigh(X)
        share = float(weights[:n_planted].sum() / weights.sum())
        yield {"filter": name, "planted_share": share}


# -- concentration -----------------------------------------------------------------------------

CLEAN = ("gaussian", "laplace")


def concentration_keys() -> Iterator[Key]:
    """The samples of clean rows."""
    for name, s, n, seed in itertools.product(CLEAN, SPARSITIES, N_ROWS, range(3)):
        yield {"distribution": name, "sparsity": s, "n_rows": n, "seed": seed}


def concentration_rows(key: Key) -> Measured:
    """Proven bounds on the largest mean of xᵀHx over clean rows, whose expectation is 1 for all H.

    H is as in the first phase: its trace is at most 1, and its l1 norm at most s.
    """
    rng = np.random.default_rng([key["seed"], key["sparsity"], key["n_rows"]])
    X = DISTRIBUTIONS[key["distribution"]](N_FEATURES).sample(key["n_rows"], rng)
    found = worst_direction_of_rows(
        X, l2_radius=1.0, l1_radius=float(np.sqrt(key["sparsity"])), tolerance=0.05
    )
    yield {"n_features": N_FEATURES, "variance_lower": found.lower, "variance_upper": found.upper}


# -- files -------------------------------------------------------------------------------------

STUDIES: dict[str, tuple[Callable[[], Iterator[Key]], Callable[[Key], Measured]]] = {
    "lemmas": (lemma_keys, lemma_rows),
    "filters": (filter_keys, filter_rows),
    "concentration": (concentration_keys, concentration_rows),
}


def written(value: Any) -> str:
    """A value as the file has it; five digits are more than the seeds decide."""
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def measure(name: str, out: Path) -> None:
    """Append to the file what it lacks."""
    keys, rows_of = STUDIES[name]
    known = known_keys(out, list(next(keys())))
    for key in keys():
        texts = {column: written(value) for column, value in key.items()}
        if tuple(texts.values()) in known:
            continue
        start, rows = time.perf_counter(), list(rows_of(key))
        seconds, source = time.perf_counter() - start, source_digest(LEMMAS)
        own = {"seconds": written(seconds / len(rows)), "source": source}
        append(out, [texts | {c: written(v) for c, v in row.items()} | own for row in rows])


def known_keys(out: Path, columns: list[str]) -> set[tuple[str, ...]]:
    """What the file has already."""
    if not out.exists():
        return set()
    with out.open(encoding="utf-8", newline="") as file:
        return {tuple(row[column] for column in columns) for row in csv.DictReader(file)}


def append(out: Path, rows: list[dict[str, str]]) -> None:
    """Write rows at the end of the file, after a header if it is new."""
    is_new = not out.exists()
    with out.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    """Measure one of the studies."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims")
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--out", type=Path, required=True, help="CSV file, continued if it exists")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UncertifiedPhase)
    measure(arguments.study, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
