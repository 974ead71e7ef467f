"""The process in which an arena's runs happen: trials come in and records go out, a line each.

Started by `isolation` as `python -m thresher.experiments.arena.worker`; it ends when its input does.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import IO

from thresher.errors import UncertifiedPhase
from thresher.experiments.arena.trials import Trial
from thresher.experiments.simulation import run_simulation

READY = "ready"


def serve(trials: IO[str], records: IO[str]) -> None:
    """Run each trial that comes in, and write its record.

    Examples
    --------
    >>> import io
    >>> from thresher.experiments import SimulationSpec
    >>> trial = Trial("thresher", SimulationSpec(n_features=9, sparsity=1, label_budget=20), 0)
    >>> out = io.StringIO()
    >>> serve(io.StringIO(json.dumps(trial.as_record())), out)
    >>> ready, line = out.getvalue().splitlines()
    >>> ready, json.loads(line)["status"]
    ('ready', 'finished')
    """
    _tell(records, READY)
    for line in trials:
        trial = Trial.from_record(json.loads(line))
        run = run_simulation(trial.spec, trial.seed)
        _tell(records, json.dumps(trial.finished(run), allow_nan=False))


def _tell(stream: IO[str], line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore", UncertifiedPhase)  # they are counted in the record
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr  # whatever anybody prints is not taken for a record
    serve(sys.stdin, answers)
