"""Runs: an identity that outlives the process, and records that are flat."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from experiments.arena.arenas import SMALL
from thresher.experiments import SimulationSpec
from thresher.experiments.arena.run import Run, fingerprint

RUN = Run("quick", SMALL, seed=4)
ATTACKED = SimulationSpec(
    n_features=60, sparsity=3, noise_rate=0.05, adversary="in-band-mass", strength=2.0
)
OUTCOME = {"status", "message", "error", "n_labels", "n_draws", "seconds", "n_phases"}


@pytest.mark.parametrize(
    ("run", "identity"),
    [
        (RUN, "2b1388f060456ec1"),
        (Run("thresher", ATTACKED, seed=0), "36bf86969a957a03"),
    ],
)
def test_the_identity_is_that_of_earlier_record_folders(run: Run, identity: str) -> None:
    assert run.id == identity


def test_another_process_finds_the_same_identity() -> None:
    source = (
        "import json, sys; from thresher.experiments.arena import Run;"
        "print(Run.from_record(json.loads(sys.argv[1])).id)"
    )
    command = [sys.executable, "-c", source, json.dumps(RUN.as_record())]
    assert subprocess.check_output(command, text=True).strip() == RUN.id


@pytest.mark.parametrize(
    "other",
    [
        replace(RUN, seed=5),
        replace(RUN, learner="other"),
        replace(RUN, spec=replace(SMALL, sparsity=3)),
        replace(RUN, spec=replace(SMALL, schedule={})),
    ],
)
def test_whatever_differs_changes_the_identity(other: Run) -> None:
    assert other.id != RUN.id


def test_the_order_of_schedule_parameters_does_not_matter() -> None:
    turned = dict(reversed(SMALL.schedule.items()))
    assert replace(RUN, spec=replace(SMALL, schedule=turned)).id == RUN.id


def test_a_seed_of_numpy_is_the_same_run() -> None:
    assert replace(RUN, seed=np.int64(4)).id == RUN.id


def test_a_run_from_before_there_were_methods_keeps_its_identity() -> None:
    old = Run("thresher", SimulationSpec(n_features=20, sparsity=2), 4)
    assert old.id == "9f37c8a617b794d3"
    assert replace(old, spec=replace(old.spec, method="zhang-2018")).id != old.id


def test_a_run_survives_its_own_record() -> None:
    assert Run.from_record(json.loads(json.dumps(RUN.as_record()))) == RUN


@pytest.fixture(scope="module")
def finished() -> dict:
    return RUN.execute()


@pytest.fixture(scope="module", params=["timed out", "died"])
def unfinished(request) -> dict:
    return RUN.unfinished(request.param, "why", 1.5)


def is_flat(record: dict) -> bool:
    return all(
        value is None or isinstance(value, (bool, int, float, str)) for value in record.values()
    )


def test_a_nested_record_is_noticed() -> None:
    assert not is_flat(RUN.as_record())


def test_a_finished_record_is_flat_and_json_gives_it_back(finished: dict) -> None:
    assert is_flat(finished)
    assert json.loads(json.dumps(finished, allow_nan=False)) == finished


def test_an_unfinished_record_is_flat_and_json_gives_it_back(unfinished: dict) -> None:
    assert is_flat(unfinished)
    assert json.loads(json.dumps(unfinished, allow_nan=False)) == unfinished


def test_every_record_has_the_same_fields(finished: dict, unfinished: dict) -> None:
    assert finished.keys() == unfinished.keys() >= OUTCOME


def test_the_schedule_is_told_by_its_own_names(finished: dict) -> None:
    assert finished["schedule.min_unlabeled"] == 200
    assert finished["n_features"] == 20


def test_a_record_names_the_versions_that_made_it(finished: dict) -> None:
    assert finished["version.numpy"] == np.__version__


def test_a_fingerprint_refuses_what_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        fingerprint({"a": float("nan")})
