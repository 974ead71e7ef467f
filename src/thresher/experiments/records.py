"""The record of a simulated run, and the JSON file that holds such records."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from thresher.errors import DamagedFile
from thresher.experiments.spec import SimulationSpec
from thresher.files import other_than_file, write_text

FORMAT, VERSION = "thresher-simulation", 2


@dataclass(frozen=True, kw_only=True)
class SimulatedPhase:
    """One phase of a run: the numbers of the learner's `PhaseOutcome`, and what only we know.

    Fields that are not listed here have the name and meaning they have in `PhaseOutcome`.

    Parameters
    ----------
    index : number of the phase, ≥ 1
    band_width : rows were drawn up to this far from the boundary; None for everywhere
    l2_radius, outlier_fraction : parameters of the phase
    fresh_error : as in `PhaseOutcome`; None in the first phase
    dirty_rows, dirty_weight, dirty_labels : dirty share of the rows drawn, of their weight after
        outlier removal, and of the labels bought
    error, error_standard_error : how often the phase's halfspace is wrong on clean rows; the
        standard error is 0 where the rate is exact
    weight_allowance, weight_left_out, variance_allowance : None in older files
    """

    index: int
    band_width: float | None
    l2_radius: float
    outlier_fraction: float
    n_draws: int
    n_kept: int
    n_pruned: int
    weight_removed: float
    removal_status: str
    variance_lower: float
    variance_upper: float
    optimum_lower: float
    n_queries: int
    n_labels: int
    n_labels_used: int
    loss: float
    loss_gap: float
    loss_status: str
    fresh_error: float | None
    dirty_rows: float | None
    dirty_weight: float | None
    dirty_labels: float | None
    error: float
    error_standard_error: float
    weight_allowance: float | None = None
    weight_left_out: float | None = None
    variance_allowance: float | None = None


@dataclass(frozen=True, kw_only=True)
class SimulatedRun:
    """One seed of an experiment: how it ended, what it cost, and its phases.

    Parameters
    ----------
    spec, seed : what was run
    versions : of the software that ran it
    status : "finished", or "failed" when something was raised; `message` then says what, and
        everything else is how far the run got
    error, error_standard_error : of the last halfspace; None without one
    n_labels, n_queries, n_draws : distinct labels, rows drawn by weight (for a rival: labels
        requested, counting repetitions), instances drawn
    label_floor : labels that any active learner needs for the target error, or, without a target,
        for the error reached
    seconds : the learner's own time, without the oracle's
    n_uncertified : phases without a certificate, each with an `UncertifiedPhase` warning
    phases : one record for each finished phase; empty for a rival
    dirty_labels : dirty share of all labels requested; None without labels, and in records from
        before this field existed

    Examples
    --------
    >>> from thresher.experiments import run_simulation
    >>> run = run_simulation(SimulationSpec(n_features=20, sparsity=2, label_budget=60), seed=0)
    >>> SimulatedRun.from_record(json.loads(json.dumps(run.as_record()))) == run
    True
    """

    spec: SimulationSpec
    seed: int
    versions: dict[str, str]
    status: Literal["finished", "failed"]
    message: str
    error: float | None
    error_standard_error: float | None
    n_labels: int
    label_floor: float | None
    n_queries: int
    n_draws: int
    seconds: float
    n_uncertified: int
    phases: tuple[SimulatedPhase, ...]
    dirty_labels: float | None = None

    @property
    def error_floor(self) -> float:
        """The error that no method can guarantee to beat at the run's noise rate."""
        return self.spec.error_floor

    def as_record(self) -> dict[str, Any]:
        """The run as plain numbers, strings, sequences and dictionaries."""
        own = {"spec": self.spec.as_record(), "error_floor": self.error_floor}
        return {**asdict(self), **own}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """The run that a record describes."""
        own = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        phases = tuple(SimulatedPhase(**phase) for phase in record["phases"])
        return cls(**{**own, "spec": SimulationSpec(**record["spec"]), "phases": phases})


def save_runs(path: str | Path, runs: Iterable[SimulatedRun]) -> None:
    """Write the runs to a JSON file; an interrupt leaves either the old file or the new one."""
    content = {"format": FORMAT, "version": VERSION, "runs": [run.as_record() for run in runs]}
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load_runs(path: str | Path) -> list[SimulatedRun]:
    """The runs that `save_runs` wrote.

    Raises
    ------
    DamagedFile : the file was not written by `save_runs`, or by another version of it

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_runs(f"{folder}/runs.json", [])
    ...     load_runs(f"{folder}/runs.json")
    []
    """
    if other := other_than_file(path):
        raise DamagedFile(str(path), f"it is {other}")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(f"expected {FORMAT} of version {VERSION}")
        return [SimulatedRun.from_record(record) for record in content["runs"]]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedFile(str(path), f"{type(error).__name__}: {error}") from error
