"""What `thresher demo` shows: outliers are planted, found, and the answer is proven."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.certificates import accepts_removal
from thresher.outliers import OutlierRemoval, RemovalProgress, remove_outliers
from thresher.progress import progress
from thresher.solvers import worst_direction_of_rows
from thresher.validation import FloatArray

N_ROWS, N_FEATURES, SPARSITY = 4000, 400, 10
TOLERANCE = 0.05
SETTING: dict[str, Any] = {
    "l2_radius": 1.0,
    "l1_radius": float(np.sqrt(2 * SPARSITY)),
    "outlier_fraction": 0.06,
    "tolerance": TOLERANCE,
}


@dataclass(frozen=True)
class Group:
    """Planted rows that share a sparse direction."""

    name: str
    n_rows: int
    length: float
    noise: float


GROUPS = (
    Group("direction A", 80, 8.0, 0.3),
    Group("direction B", 80, 9.0, 0.3),
    Group("copies of one row", 40, 12.0, 0.0),
)


@dataclass(frozen=True)
class Planted:
    """Rows of which some are planted, and what the attacker knows about them.

    Attributes
    ----------
    rows : (n, d) the data
    group : (n,) index of the row's group, -1 for a clean row
    directions : (3, d) unit direction of each group
    """

    rows: FloatArray
    group: NDArray[np.int64]
    directions: FloatArray

    @property
    def is_clean(self) -> NDArray[np.bool_]:
        return self.group < 0


def run_demo(*, seed: int = 0, out: Path = Path("thresher-demo.png")) -> None:
    """Plant, remove, print what was found, and draw it if matplotlib is there."""
    planted = plant(np.random.default_rng(seed))
    print(describe_data(planted), end="\n\n")
    start = time.perf_counter()
    with _progress() as callback:
        removal = remove_outliers(planted.rows, callback=callback, **SETTING)
    seconds = time.perf_counter() - start
    print(describe_weights(planted, removal, seconds), end="\n\n")
    print(describe_certificate(planted, removal), end="\n\n")
    print(describe_features(planted, removal), end="\n\n")
    try:
        from thresher.demo_figure import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        print('No picture: matplotlib is missing. Install it with: pip install "thresher[plot]"')
        return
    draw(planted, removal, out)
    print(f"Picture: {out}")


def plant(rng: np.random.Generator) -> Planted:
    """Clean Gaussian rows with three planted groups in random places.

    Examples
    --------
    >>> planted = plant(np.random.default_rng(0))
    >>> planted.rows.shape, int((~planted.is_clean).sum())
    ((4000, 400), 200)
    """
    rows = rng.standard_normal((N_ROWS, N_FEATURES))
    group = np.full(N_ROWS, -1)
    places = rng.permutation(N_ROWS)
    directions = np.zeros((len(GROUPS), N_FEATURES))
    for index, planted in enumerate(GROUPS):
        mine, places = places[: planted.n_rows], places[planted.n_rows :]
        features = rng.choice(N_FEATURES, SPARSITY, replace=False)
        directions[index, features] = rng.choice([-1.0, 1.0], SPARSITY) / np.sqrt(SPARSITY)
        rows[mine] = planted.length * directions[index] + planted.noise * rows[mine]
        group[mine] = index
    return Planted(rows, group, directions)


def variances(planted: Planted, weights: FloatArray) -> FloatArray:
    """The weighted variance (1/n) Σ weights·(x·v)² along each planted direction v."""
    projections = planted.rows @ planted.directions.T
    return np.asarray(weights @ projections**2 / len(weights))


def suspicious_features(planted: Planted, removal: OutlierRemoval) -> NDArray[np.intp]:
    """The features of the sparse direction in which the weight taken away varies most."""
    radii = {name: SETTING[name] for name in ("l2_radius", "l1_radius")}
    taken = 1 - removal.weights
    answer = worst_direction_of_rows(planted.rows, taken, tolerance=0.3, **radii)
    return np.argsort(-np.diag(answer.lifted), kind="stable")[:SPARSITY]


def describe_data(planted: Planted) -> str:
    """What was planted, and why a simpler check does not see it."""
    lengths = np.linalg.norm(planted.rows, axis=1)
    clean, dirty = lengths[planted.is_clean], lengths[~planted.is_clean]
    return f"""The data: {N_ROWS:,} rows of {N_FEATURES} features. {dirty.size} rows \
({dirty.size / N_ROWS:.0%}) were planted:
  {GROUPS[0].n_rows} rows along one combination of {SPARSITY} features (direction A),
  {GROUPS[1].n_rows} rows along another (direction B),
  {GROUPS[2].n_rows} copies of a single row.
Planted rows are shorter than clean ones (length {dirty.min():.0f} to {dirty.max():.0f}, clean \
{clean.min():.0f} to {clean.max():.0f}): looking for
large rows does not find them. Thresher is not told which rows are planted."""


def describe_weights(planted: Planted, removal: OutlierRemoval, seconds: float) -> str:
    """How much clean and planted rows are still trusted."""
    lines = [
        f"Trust: each row now has a weight from 0 (removed) to 1 (kept). {seconds:.1f} seconds.",
        _kept("clean rows", removal.weights[planted.is_clean]),
        _kept("planted rows", removal.weights[~planted.is_clean]),
    ]
    for index, group in enumerate(GROUPS):
        lines.append(_kept(f"  {group.name}", removal.weights[planted.group == index]))
    return "\n".join(lines)


def _kept(name: str, weights: FloatArray) -> str:
    return f"  {name:<22}{weights.size:>6,} rows kept {weights.mean():>4.0%} of their weight"


def describe_certificate(planted: Planted, removal: OutlierRemoval) -> str:
    """What is proven about the weights, and whether the independent checker agrees."""
    accepted = accepts_removal(planted.rows, removal, **SETTING)
    before = variances(planted, np.ones(N_ROWS)).max()
    low, high, least = removal.variance_lower, removal.variance_upper, removal.optimum_lower
    meaning = {
        "tightest": f"{low:.2f} is within {TOLERANCE:.0%} of {least:.2f}, which no weights beat",
        "undecided": "better weights may exist",
    }.get(removal.status, "")
    verdict = "accepted every claim" if accepted else "REFUSED a claim: do not trust this answer"
    return f"""Proof: the variance that the weighted rows show in a sparse direction (1 is \
ordinary here)
  before               {before:.2f} in a planted direction
  now, worst direction {low:.2f} to {high:.2f}: one direction shows {low:.2f}, and none shows more \
than {high:.2f}
  best possible        {least:.2f} at least, for any weights that take away at most \
{SETTING["outlier_fraction"]:.0%}
  status               {removal.status}: {meaning}
  independent checker  certificates.accepts_removal {verdict}"""


def describe_features(planted: Planted, removal: OutlierRemoval) -> str:
    """Which features the most suspicious direction uses, and how many of them were planted."""
    found = suspicious_features(planted, removal)
    right = [np.intersect1d(found, np.flatnonzero(v)).size for v in planted.directions]
    group = GROUPS[int(np.argmax(right))].name
    names = ", ".join(str(feature) for feature in np.sort(found))
    return f"""Most suspicious direction: the weight taken away lies mostly in features
  {names}
  {max(right)} of these {found.size} are the attacker's (group: {group})"""


@contextmanager
def _progress() -> Iterator[Callable[[RemovalProgress], object]]:
    """A callback that moves a bar: how near the weights are to what is proven to be the best."""
    with progress("removing outliers, %", total=100) as move:

        def show(now: RemovalProgress) -> None:
            closed = (1 + TOLERANCE) * now.optimum / max(now.variance, 1e-300)
            move(int(100 * min(closed, 1.0)))

        yield show
