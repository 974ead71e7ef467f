"""Runs in a process of their own, so that the clock can stop them and a crash is an outcome.

Threads of joblib or of a Dask worker stand beside these processes and wait. Both get the same
processes with one BLAS thread each, and hence the same records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from typing import IO, Any

from thresher.experiments.arena.trials import FlatRecord, Trial
from thresher.experiments.arena.worker import READY

_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_COMMAND = (sys.executable, "-m", "thresher.experiments.arena.worker")
_own = threading.local()  # each waiting thread keeps its process from one run to the next


def run_isolated(record: dict[str, Any], time_limit: float) -> FlatRecord:
    """The record of a trial, which is given as its own record, run in this thread's process.

    A run that takes longer than the limit, in seconds, is killed, and its record says "timed out";
    one whose process died says so, with the last line that the process wrote.

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec
    >>> trial = Trial("thresher", SimulationSpec(n_features=9, sparsity=1, label_budget=20), 0)
    >>> run_isolated(trial.as_record(), time_limit=60)["status"]
    'finished'
    """
    if getattr(_own, "process", None) is None:
        _own.process = _Process()
    answer = _own.process.run(record, time_limit)
    if isinstance(answer, str):
        return dict(json.loads(answer))
    _own.process = None  # dead, whoever killed it
    return answer


class _Process:
    """A worker process that is asked one thing at a time."""

    def __init__(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **_ONE_THREAD},
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for whoever waits; it stops this one
        )
        self._stop = weakref.finalize(self, _stop, self._process, self._errors)
        self._is_ready = self._read() == READY

    def run(self, record: dict[str, Any], time_limit: float) -> str | FlatRecord:
        """The worker's own answer, or the record of a run that gave none."""
        start, is_late = time.monotonic(), threading.Event()
        clock = threading.Timer(time_limit, self._kill, [is_late])
        clock.start()
        try:
            answer = self._ask(json.dumps(record)) if self._is_ready else ""
        finally:
            clock.cancel()
        if answer:
            return answer
        seconds = time.monotonic() - start
        if is_late.is_set():
            message = f"stopped after the time limit of {time_limit:g} s"
            return self._end(Trial.from_record(record).unfinished("timed out", message, seconds))
        return self._end(Trial.from_record(record).unfinished("died", self._last_words(), seconds))

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self._read()

    def _read(self) -> str:
        """The next whole line, or nothing if the process died."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return line[:-1] if line.endswith("\n") else ""

    def _kill(self, is_late: threading.Event) -> None:
        is_late.set()
        self._process.kill()

    def _end(self, record: FlatRecord) -> FlatRecord:
        self._stop()
        return record

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process ended with code {code}: {lines[-1] if lines else 'no message'}"


def _stop(process: subprocess.Popen[str], errors: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        if stream is not None:
            with suppress(OSError):  # what could not be written to the dead is lost anyway
                stream.close()
