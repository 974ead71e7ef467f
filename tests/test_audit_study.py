"""The audit study: what is measured, and the cells that its page is made of."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks import audit_study
from benchmarks.audit_study import KINDS, Ranking, measure
from thresher.experiments.arena.run import RecordFile
from thresher.experiments.sources import AUDITS, source_digest


def ranked(kind: str, method: str = "robust z", seed: int = 0) -> dict[str, object]:
    return measure(Ranking("breast_cancer", seed, kind, method), "")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_bad_rows_and_a_precision(kind: str) -> None:
    record = ranked(kind)
    assert record["status"] == "finished", record["message"]
    assert record["n_bad"] > 10 and 0 <= record["precision"] <= 1


def test_a_method_that_cannot_run_is_an_outcome() -> None:
    assert ranked("flips", "no such method")["status"] == "failed"


def test_cells_are_means_over_seeds_and_name_their_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [ranked("stuck-sensor", seed=seed) for seed in (0, 1)]
    with RecordFile(tmp_path / "audit.jsonl") as file:
        for record in found:
            file.append(record)
    options = ["--out", str(tmp_path / "audit.jsonl"), "--show", "--studies", str(tmp_path)]
    assert audit_study.main(options) == 0
    with (tmp_path / "audit.csv").open(newline="") as file:
        (cell,) = csv.DictReader(file)
    mean = sum(record["precision"] for record in found) / 2
    assert float(cell["precision"]) == pytest.approx(mean, abs=1e-4)
    assert cell["n_seeds"] == "2" and cell["source"] == source_digest(AUDITS)
    assert f"{mean:.2f}" in capsys.readouterr().out
