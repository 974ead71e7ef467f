"""The process in which an arena's runs happen: trials come in and records go out, a line each.

Started by `isolation` as `python -m thresher.experiments.arena.worker`. It ends when its input
does, also in the middle of a run: then whoever waited for the record is gone.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from typing import IO

from thresher.errors import UncertifiedPhase
from thresher.experiments.arena.trials import Trial

READY = "ready"


def serve(trials: Iterable[str], records: IO[str]) -> None:
    """Run each trial that comes in, and write its record.

    Examples
    --------
    >>> import io
    >>> from thresher.experiments import SimulationSpec
    >>> trial = Trial("thresher", SimulationSpec(n_features=9, sparsity=1, label_budget=20), 0)
    >>> out = io.StringIO()
    >>> serve([json.dumps(trial.as_record())], out)
    >>> ready, line = out.getvalue().splitlines()
    >>> ready, json.loads(line)["status"]
    ('ready', 'finished')
    """
    _tell(records, READY)
    for line in trials:
        asked = json.loads(line)
        record = Trial.from_record(asked).run(asked.get("data_dir"))
        _tell(records, json.dumps(record, allow_nan=False))


def _tell(stream: IO[str], line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


def _lines_for_life(stream: IO[str]) -> Iterator[str]:
    """The lines of the stream, which another thread watches: the process ends where they do."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_pass_on, args=(stream, lines), daemon=True).start()
    while True:
        yield lines.get()


def _pass_on(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
    os._exit(0)  # sys.exit would end this thread only


def _take_standard_output() -> IO[str]:
    """A stream to whoever reads our output; what anybody prints goes to the errors instead."""
    own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # The descriptor, not only sys.stdout: compiled code prints too, and is not a record either.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


if __name__ == "__main__":
    warnings.simplefilter("ignore", UncertifiedPhase)  # they are counted in the record
    serve(_lines_for_life(sys.stdin), _take_standard_output())
