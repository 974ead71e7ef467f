"""Runs in a process of their own, so that the clock can stop them and a crash is an outcome.

Threads of joblib or of a Dask worker stand beside these processes and wait. Both get the same
processes with one BLAS thread each, and hence the same records.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

from thresher.errors import ThresherError
from thresher.experiments.arena.trials import FlatRecord, Trial
from thresher.experiments.arena.worker import READY

_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
# -P: a file that happens to be called numpy.py in the current folder is not imported.
_COMMAND = (sys.executable, "-P", "-m", "thresher.experiments.arena.worker")
_START_LIMIT = 120.0  # seconds; a process is ready after one or two, on a busy machine after ten
_END_LIMIT = 5.0  # seconds that a process may take to end once it has closed its output
_LAST_WORDS = 4096  # bytes


class Crew:
    """Worker processes, started when needed, kept from one run to the next, stopped at the end.

    Any number of threads may run trials at once; each has a process to itself meanwhile.

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec
    >>> trial = Trial("thresher", SimulationSpec(n_features=9, sparsity=1, label_budget=20), 0)
    >>> with Crew() as crew:
    ...     crew.run(trial.as_record(), time_limit=60)["status"]
    'finished'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._is_closed = False

    def run(self, record: dict[str, Any], time_limit: float) -> FlatRecord:
        """The record of a trial, which is given as its own record.

        A run that takes longer than the limit, in seconds, is killed, and its record says "timed
        out"; one whose process died says so, with the last line that the process wrote.

        Raises
        ------
        ThresherError : no process can be started, which is no outcome of this trial
        """
        process = self._take()
        try:
            return process.run(record, time_limit)
        finally:
            self._put_back(process)

    def close(self) -> None:
        """Stop every process, also in the middle of a run; there will be no other."""
        with self._lock:
            self._is_closed = True
            idle, busy = self._idle, list(self._busy)
            self._idle = []
        for process in busy:
            process.kill()  # the thread that waits for it does the rest
        for process in idle:
            process.stop()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self) -> _Process:
        with self._lock:
            if self._is_closed:
                raise ThresherError("the processes of these runs were stopped")
            process = self._idle.pop() if self._idle else _Process()
            self._busy.add(process)
            return process

    def _put_back(self, process: _Process) -> None:
        with self._lock:
            self._busy.discard(process)
            if process.is_idle and not self._is_closed:
                self._idle.append(process)
                return
        process.stop()


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
        self._is_ready = False
        self.is_idle = False  # between a whole answer and the next question

    def run(self, record: dict[str, Any], time_limit: float) -> FlatRecord:
        """The worker's own answer, or the record of a run that gave none."""
        self._await_start()
        self.is_idle = False
        start, n_said = time.monotonic(), self._n_said()
        answer, is_late = self._ask(json.dumps(record), time_limit)
        if answer:
            self.is_idle = not is_late  # the clock may have struck just after the answer
            return dict(json.loads(answer))
        seconds, trial = time.monotonic() - start, Trial.from_record(record)
        if is_late:
            message = f"stopped after the time limit of {time_limit:g} s"
            return trial.unfinished("timed out", message, seconds)
        return trial.unfinished("died", self._last_words(n_said), seconds)

    def kill(self) -> None:
        """End the process, and wait until it has."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the process and give back what it held."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):  # what could not be written to the dead is lost anyway
                    stream.close()

    def _await_start(self) -> None:
        if self._is_ready:
            return
        line, is_late = self._read(_START_LIMIT)
        if line != READY:
            reason = f"not ready after {_START_LIMIT:g} s" if is_late else self._last_words(0)
            raise ThresherError(
                f"a process for the runs could not be started ({reason}); what was recorded "
                "before is kept, and the same call goes on from there"
            )
        self._is_ready = True

    def _ask(self, line: str, time_limit: float) -> tuple[str, bool]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return "", False
        return self._read(time_limit)

    def _read(self, time_limit: float) -> tuple[str, bool]:
        """The next whole line, or nothing if the process died; and whether the clock killed it."""
        assert self._process.stdout is not None
        is_late = threading.Event()
        clock = threading.Timer(min(time_limit, threading.TIMEOUT_MAX), self._strike, [is_late])
        clock.daemon = True  # an interrupt may come before it can be cancelled
        clock.start()
        try:
            line = self._process.stdout.readline()
        finally:
            clock.cancel()
            clock.join()  # it may be striking right now, and then the process is lost
        return line[:-1] if line.endswith("\n") else "", is_late.is_set()

    def _strike(self, is_late: threading.Event) -> None:
        is_late.set()
        self._process.kill()

    def _n_said(self) -> int:
        return os.fstat(self._errors.fileno()).st_size

    def _last_words(self, n_said: int) -> str:
        """How the process ended, and the last line that it wrote since it had said so much."""
        try:
            code = self._process.wait(_END_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            return "the process closed its output and did not end"
        name = f" ({signal.strsignal(-code)})" if code < 0 else ""
        self._errors.seek(max(n_said, self._n_said() - _LAST_WORDS))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process ended with code {code}{name}: {lines[-1] if lines else 'no message'}"


# A Dask worker has nobody else to keep its processes from one call to the next.
_crew = Crew()
atexit.register(_crew.close)


def run_isolated(record: dict[str, Any], time_limit: float) -> FlatRecord:
    """The record of a trial from a crew that lasts as long as this Python process; see `Crew.run`.

    Examples
    --------
    >>> from thresher.experiments import SimulationSpec
    >>> trial = Trial("thresher", SimulationSpec(n_features=9, sparsity=1, label_budget=20), 0)
    >>> run_isolated(trial.as_record(), time_limit=60)["status"]
    'finished'
    """
    return _crew.run(record, time_limit)
