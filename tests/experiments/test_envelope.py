"""The operating envelope: promises are counted rightly, documented, and kept."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binom

from thresher.errors import UncertifiedPhase
from thresher.experiments import SimulatedRun, SimulationSpec, run_simulation
from thresher.experiments.envelope import (
    ALARM,
    CONFIRMING_SEEDS,
    FIRST_SEEDS,
    PROMISED_SHARE,
    PROMISES,
    REFUTED,
    Promise,
)
from thresher.simulate import ADVERSARIES

DOCUMENT = Path(__file__).parents[2] / "docs" / "envelope.md"
SMALL = Promise(SimulationSpec(n_features=20, sparsity=2, label_budget=60), error=0.1)


@pytest.fixture(scope="module")
def finished() -> SimulatedRun:
    return run_simulation(SMALL.spec, seed=0)


def failing(n_failures: dict[range, int], run: SimulatedRun) -> Callable[..., SimulatedRun]:
    """A stand-in for `run_simulation` that breaks the promise for the first seeds of each range."""

    def answer(_: SimulationSpec, seed: int) -> SimulatedRun:
        is_bad = any(seed in seeds[:n] for seeds, n in n_failures.items())
        return replace(run, error=0.5 if is_bad else 0.01, n_labels=60)

    return answer


def test_a_run_keeps_a_promise_only_with_its_error_and_its_labels(finished: SimulatedRun) -> None:
    kept = replace(finished, error=0.1, n_labels=60)
    assert SMALL.is_kept_by(kept)
    assert not SMALL.is_kept_by(replace(kept, error=0.1001))
    assert not SMALL.is_kept_by(replace(kept, n_labels=61))
    assert not SMALL.is_kept_by(replace(kept, status="failed"))
    assert not SMALL.is_kept_by(replace(kept, error=None))


def test_few_failures_raise_no_alarm(finished: SimulatedRun) -> None:
    run = failing({FIRST_SEEDS: ALARM - 1, CONFIRMING_SEEDS: len(CONFIRMING_SEEDS)}, finished)
    assert not SMALL.is_refuted(run)


def test_an_alarm_that_is_not_confirmed_is_forgiven(finished: SimulatedRun) -> None:
    run = failing({FIRST_SEEDS: ALARM, CONFIRMING_SEEDS: REFUTED - 1}, finished)
    assert not SMALL.is_refuted(run)


def test_a_confirmed_alarm_refutes(finished: SimulatedRun) -> None:
    run = failing({FIRST_SEEDS: ALARM, CONFIRMING_SEEDS: REFUTED}, finished)
    assert SMALL.is_refuted(run)


def test_a_kept_promise_is_almost_never_refuted() -> None:
    alarm = binom.sf(ALARM - 1, len(FIRST_SEEDS), 1 - PROMISED_SHARE)
    confirmed = binom.sf(REFUTED - 1, len(CONFIRMING_SEEDS), 1 - PROMISED_SHARE)
    assert alarm * confirmed < 1e-4


def test_promises_are_within_reach_of_the_attacks_there_are() -> None:
    assert {promise.spec.adversary for promise in PROMISES} <= {"none", *ADVERSARIES}


def test_the_document_shows_the_promises() -> None:
    rows = re.findall(r"^\|(.+)\|$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    shown = [tuple(cell.strip() for cell in row.split("|")) for row in rows[2:]]
    assert shown == [
        (
            p.spec.distribution,
            p.spec.adversary + ("" if p.spec.strength is None else f", {p.spec.strength:g}"),
            f"{p.spec.n_features}",
            f"{p.spec.sparsity}",
            f"{p.spec.noise_rate:.0%}",
            f"{p.spec.label_budget:,}",
            f"{p.error:g}",
        )
        for p in PROMISES
    ]


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: f"{p.spec.adversary}-{p.error:g}")
def test_a_promise_is_kept(promise: Promise) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedPhase)
        assert not promise.is_refuted()
