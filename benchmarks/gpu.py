"""On a GPU: seconds of removals and fits, agreement with NumPy, and forgeries refused.

Measured with CuPy and with Torch, whichever finds a GPU; without one there is nothing to measure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.ratio import Ratio, seconds_of
from benchmarks.removal import SETTING, clean_rows, planted_rows
from thresher import HalfspaceClassifier, certificates
from thresher.arrays import on_host, to_host
from thresher.outliers import OutlierRemoval, remove_outliers
from thresher.streaming import StreamedRows
from thresher.validation import FloatArray

LARGE, SMALL = (50_000, 10_000), (8_000, 1_000)
SECONDS, SECONDS_AIM, SECONDS_FROM_HOST = 0.4, 0.3, 3.5
SAME = 1e-6  # largest difference of weights from those of NumPy in double precision
N_INSTANCES = 50
FITS = ((200_000, 5_000, 15.0), (102, 12_600, 5.0))  # rows, features, seconds
REPEATS = 5


@dataclass(frozen=True)
class Library:
    """A library of arrays that finds a GPU."""

    name: str

    @cached_property
    def xp(self) -> Any:
        return import_module(self.name)

    def finds_gpu(self) -> bool:
        try:
            return bool(self.put(np.ones(1))[0] == 1)
        except Exception:  # not installed, no driver, no device: each has its own error
            return False

    def put(self, values: FloatArray) -> Any:
        """The values on the GPU."""
        return self.xp.asarray(values, **({"device": "cuda"} if self.name == "torch" else {}))

    def normal(self, n_rows: int, n_features: int) -> Any:
        """Gaussian rows that were made on the GPU."""
        if self.name == "cupy":
            return self.xp.random.default_rng(0).standard_normal((n_rows, n_features))
        generator = self.xp.Generator("cuda").manual_seed(0)
        options = {"dtype": self.xp.float64, "device": "cuda", "generator": generator}
        return self.xp.randn((n_rows, n_features), **options)

    def wait(self) -> None:
        """Until everything that was asked of the GPU is done."""
        cuda = self.xp.cuda
        (cuda.synchronize if self.name == "torch" else cuda.Device().synchronize)()

    def seconds(self, call: Callable[[], object], repeats: int = REPEATS) -> float:
        """Median seconds of a call after one to warm up."""

        def finished() -> None:
            call()
            self.wait()

        finished()
        return median(seconds_of(finished) for _ in range(repeats))


def measure() -> list[Ratio]:
    """The ratios of bars G1 (removals), G2 (agreement) and G3 (fits)."""
    libraries = [lib for lib in map(Library, ("cupy", "torch")) if lib.finds_gpu()]
    if not libraries:
        print("gpu: neither CuPy nor Torch finds a GPU, nothing measured", file=sys.stderr)
        return []
    rows, _ = planted_rows(*LARGE)
    removals = [r for lib in libraries for r in (*_times(lib, rows), *_agreement(lib))]
    return removals + [_fit(lib, *case) for lib in libraries for case in FITS]


def _fit(lib: Library, n_rows: int, n_features: int, bound: float) -> Ratio:
    """Seconds of a fit to rows on the GPU, a twentieth of them with the wrong label."""
    X = lib.normal(n_rows, n_features)
    y = np.where(to_host(X[:, 3] - X[:, 5]) > 0, 1, -1)
    y[: n_rows // 20] *= -1
    models: list[HalfspaceClassifier] = []

    def fit() -> None:
        models[:] = [HalfspaceClassifier(random_state=0).fit(X, y)]

    seconds = lib.seconds(fit, repeats=2)
    note = f"{len(models[0].phases_)} phases, training accuracy {models[0].score(X, y):.3f}"
    what = f"HalfspaceClassifier with {lib.name}, {n_rows} × {n_features}: seconds"
    return Ratio("G3", what, seconds, 1.0, bound, note=note)


def _times(lib: Library, rows: FloatArray) -> list[Ratio]:
    given = lib.put(rows)
    what = f"removal with {lib.name}, n = {rows.shape[0]}, d = {rows.shape[1]}"
    answers: list[OutlierRemoval] = []

    def remove() -> None:
        answers.clear()  # a matrix that is kept would have to be made anew
        answers.append(remove_outliers(given, **SETTING))

    seconds = lib.seconds(remove)
    gram = lib.seconds(lambda: given.T @ given)
    note = f"{seconds:.3g} s, {answers[-1].status}, {answers[-1].n_rounds} rounds"
    answers.clear()
    return [
        Ratio("G1", f"{what}: seconds", seconds, 1.0, SECONDS, SECONDS_AIM, note=note),
        Ratio("G1", f"{what}: Gram products", seconds, gram, 2.0, note=f"one takes {gram:.3g} s"),
        _from_host(lib, rows),
    ]


def _from_host(lib: Library, rows: FloatArray) -> Ratio:
    """Copied once by the library; the note says what it takes to stream them block by block."""
    what = f"removal with {lib.name}, n = {rows.shape[0]}, d = {rows.shape[1]}: seconds from host"
    seconds = lib.seconds(lambda: remove_outliers(lib.put(rows), **SETTING), repeats=2)
    streamed = StreamedRows(rows, lib.put(np.zeros(1)))
    note = f"streamed {seconds_of(lambda: remove_outliers(streamed, **SETTING)):.3g} s"
    return Ratio("G1", what, seconds, 1.0, SECONDS_FROM_HOST, note=note)


def _agreement(lib: Library) -> list[Ratio]:
    """The weights and statuses beside those of NumPy, and answers that were tampered with."""
    n, d = SMALL
    ratios = []
    for kind, rows in (("planted", planted_rows(n, d)[0]), ("clean", clean_rows(n, d))):
        answer = remove_outliers(lib.put(rows), **SETTING)
        difference = _difference(answer, remove_outliers(_in_double_precision(rows), **SETTING))
        default = remove_outliers(rows, **SETTING)
        with threadpool_limits(1):
            again = remove_outliers(rows, **SETTING)
        note = (
            f"{_difference(answer, default):.1e} from NumPy in single precision, "
            f"which is {_difference(again, default):.1e} from itself with one thread"
        )
        what = f"removal with {lib.name}, {kind}, n = {n}, d = {d}: weights differ"
        ratios.append(Ratio("G2", what, difference, SAME, 1.0, note=note))
    what = f"removal with {lib.name}"
    n_equal = sum(_statuses_agree(lib, seed) for seed in range(N_INSTANCES))
    n_refused, n_forged = _refusals(lib)
    return [
        *ratios,
        Ratio("G2", f"{what}: statuses as NumPy's", N_INSTANCES, n_equal, 1.0),
        Ratio("G2", f"{what}: forged answers refused", n_forged, n_refused, 1.0),
    ]


def _in_double_precision(rows: FloatArray) -> Any:
    """Rows with which NumPy computes in double precision throughout."""
    return import_module("array_api_strict").asarray(rows)


def _difference(one: OutlierRemoval, other: OutlierRemoval) -> float:
    return float(np.abs(to_host(one.weights) - to_host(other.weights)).max())


def _statuses_agree(lib: Library, seed: int) -> bool:
    size = 1_000, 100
    rows = planted_rows(*size, seed)[0] if seed % 2 else clean_rows(*size, seed)
    limit = (None, 1.2, 2.0, 4.0)[seed // 2 % 4]
    asked = {**SETTING, "max_variance": limit}
    return remove_outliers(lib.put(rows), **asked).status == remove_outliers(rows, **asked).status


def _refusals(lib: Library) -> tuple[int, int]:
    """How many forged answers the checker on the host refuses, and of how many."""
    rows, _ = planted_rows(1_000, 100)
    answer = on_host(remove_outliers(lib.put(rows), **SETTING))
    assert certificates.accepts_removal(rows, answer, **SETTING)
    forged = [
        replace(answer, weights=np.ones(len(rows))),
        replace(answer, multiplier=answer.multiplier + 1.0),
        replace(answer, direction=0 * answer.direction),
        replace(answer, factor=0 * answer.factor),
        replace(answer, variance_upper=0.9 * answer.variance_lower),
        replace(answer, optimum_lower=1.1 * answer.optimum_lower),
        replace(answer, status="feasible"),
    ]
    refused = [not certificates.accepts_removal(rows, one, **SETTING) for one in forged]
    return sum(refused), len(forged)
