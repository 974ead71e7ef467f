"""Runs in processes of their own, so that the clock can stop them and a crash is an outcome.

On this machine and on a Dask cluster the processes are the same, with one BLAS thread each, and
so are the records. Each process leads a group, so that what it starts itself ends with it.
"""

import multiprocessing
import os
import re
import signal
import threading
import warnings
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import wait as wait_for_jobs
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from thresher.errors import ThresherError, UncertifiedPhase
from thresher.experiments.arena.run import FlatRecord, Run, needing
from thresher.validation import check_count

Task: TypeAlias = dict[str, Any]  # a run as a record, its `memory_limit` and, maybe, `data_dir`
Records: TypeAlias = Generator[FlatRecord, None, None]  # as they are ready
Execute: TypeAlias = Callable[[Sequence[Task], float], Records]  # tasks and a time limit

_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_PATIENCE = 10  # seconds for a cluster to answer
_LOOK = 1.0  # seconds after which a silent pool is looked at
_HOST_AND_PORT = re.compile(  # [::1], or a name or number without colons
    r"(?:(?:tcp|tls|ucxx?|wss?)://)?(?:\[[0-9a-fA-F:.%]+\]|[^\s/:\[\]]+):(?P<port>[0-9]{1,5})"
)
_KEPT = "earlier records are kept, and the same command continues from there"


@contextmanager
def workers(n_jobs: int | None, scheduler: str | None) -> Iterator[Execute]:
    """A function that executes tasks: in `n_jobs` processes here, or on a Dask cluster.

    Raises
    ------
    ThresherError : the cluster cannot be reached, or has no worker
    """
    if scheduler is None:
        yield partial(run_here, n_jobs=n_jobs)
    else:
        with _connected(check_address(scheduler)) as client:
            yield partial(run_on_cluster, client=client)


# -- this machine ------------------------------------------------------------------------------


def run_here(tasks: Sequence[Task], time_limit: float, *, n_jobs: int | None = None) -> Records:
    """The record of each task; `n_jobs` processes (default: one per core) work at a time.

    A run that exceeds the limit, in seconds, is killed, and its record says "timed out". A run
    whose process died says so, with the exit code or signal.

    Raises
    ------
    ThresherError : no process can be started
    """
    if n_jobs is None:
        from joblib import cpu_count  # a process of ours does not need it

        n_jobs = cpu_count()
    waiting = dict(enumerate(tasks))
    while waiting:
        n_before = len(waiting)
        with _pool(min(check_count(n_jobs, "n_jobs"), n_before)) as pool:
            for n, job in _completed(pool, dict(waiting), time_limit):
                yield _outcome(job, waiting.pop(n), time_limit)
        # Pebble gives up where a process dies before it has a task: that may be an accident.
        if len(waiting) == n_before:
            advice = 'In a script, call run_sweep under if __name__ == "__main__":'
            raise ThresherError(f"cannot start a process for the runs; {_KEPT}. {advice}")


@dataclass(frozen=True)
class _Pool:
    """Pebble's pool, and the ids of its processes, which are also those of their groups."""

    workers: Any
    new_ids: Connection
    ids: set[int] = field(default_factory=set)

    def kill_strays(self) -> None:
        """Kill what the processes that have ended had started themselves."""
        while self.new_ids.poll():
            self.ids.add(int.from_bytes(self.new_ids.recv_bytes(), "little"))
        ended = self.ids - {process.pid for process in multiprocessing.active_children()}
        self.ids.difference_update(ended)
        for group in ended:
            with suppress(ProcessLookupError, PermissionError):  # usually there is nothing left
                os.killpg(group, signal.SIGKILL)


def _completed(pool: _Pool, tasks: dict[int, Task], time_limit: float) -> Iterator[tuple[int, Any]]:
    """The jobs of numbered tasks as they are done, without those that a broken pool lost."""
    jobs: dict[Any, int] = {}
    with suppress(RuntimeError):  # a pool that is broken already takes none
        for n, task in tasks.items():
            jobs[pool.workers.schedule(_execute, [task], timeout=time_limit)] = n
    pending = set(jobs)
    while pending:
        is_active = pool.workers.active  # first: whatever it still settled is then among the done
        done, pending = wait_for_jobs(pending, timeout=_LOOK, return_when=FIRST_COMPLETED)
        pool.kill_strays()
        for job in sorted(done, key=lambda job: jobs[job]):
            if not isinstance(job.exception(), BrokenProcessPool):
                yield jobs[job], job
        if not (done or is_active):  # what waits in its queue is never answered
            return


@contextmanager
def _pool(n_workers: int) -> Iterator[_Pool]:
    """Processes that are stopped at the end, also in the middle of a run."""
    pool = _start_pool(n_workers)
    try:
        yield pool
    finally:
        pool.workers.stop()
        pool.workers.join()
        pool.kill_strays()


def _start_pool(n_workers: int) -> _Pool:
    with needing("pebble", "lab"):
        from pebble import ProcessPool
    context = multiprocessing.get_context("spawn")
    new_ids, end = context.Pipe(duplex=False)
    pool = ProcessPool(max_workers=n_workers, initializer=_prepare, initargs=[end], context=context)
    with without_interrupts():
        _ = pool.active  # starts it
    return _Pool(pool, new_ids)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Threads and processes that begin here never see Ctrl-C: it is for the main thread alone."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(announce: Connection) -> None:
    """Called once in every new process."""
    from threadpoolctl import threadpool_limits

    if hasattr(os, "setpgid"):  # not on Windows, where what a run starts is left alone
        os.setpgid(0, 0)
        announce.send_bytes(os.getpid().to_bytes(8, "little"))  # so few are written at once
    os.environ.update(_ONE_THREAD)  # for libraries that are loaded later
    threadpool_limits(1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Python's own waits for compiled code to end
    warnings.simplefilter("ignore", UncertifiedPhase)  # they are counted in the record
    threading.Thread(target=_end_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # descriptors, as compiled code prints as well
        os.dup2(nowhere, stream)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)  # its own group, hence itself
        os._exit(1)  # sys.exit would end this thread only


def _execute(task: Task) -> FlatRecord:
    _limit_memory(task.get("memory_limit"))
    return Run.from_record(task).execute(task.get("data_dir"))


def _limit_memory(gigabytes: float | None) -> None:
    """Let allocations of this process beyond the limit fail (on Linux; elsewhere less, or none)."""
    if gigabytes is None:
        return
    with suppress(ImportError):  # Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = int(gigabytes * 1e9)
        allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))


def _outcome(job: Any, task: Task, time_limit: float) -> FlatRecord:
    """The record that came back, or one that says why none did, with the limit that was met."""
    record, limit = _record_of(job, task, time_limit), task.get("memory_limit")
    if limit is not None and "MemoryError" in record["message"]:
        record["message"] += f"; the memory limit is {limit:g} GB"
    return record


def _record_of(job: Any, task: Task, time_limit: float) -> FlatRecord:
    from pebble import ProcessExpired

    error = job.exception()
    if error is None:
        return dict(job.result())
    run = Run.from_record(task)
    if isinstance(error, TimeoutError):
        message = f"stopped after the time limit of {time_limit:g} s"
        return run.unfinished("timed out", message, time_limit)
    if not isinstance(error, ProcessExpired):
        return run.unfinished("failed", f"{type(error).__name__}: {error}", None)
    code, message = error.exitcode, f"the process ended with exit code {error.exitcode}"
    if code < 0:
        message = f"the process was killed by signal {-code} ({signal.strsignal(-code)})"
    return run.unfinished("died", message, None)


# -- a Dask cluster ----------------------------------------------------------------------------


def check_address(address: str) -> str:
    """The address of a Dask scheduler, if it looks like one.

    Checked here because a Dask client neither reports a malformed address clearly nor ends with
    the program.

    Examples
    --------
    >>> check_address("tcp://127.0.0.1:8786")
    'tcp://127.0.0.1:8786'
    >>> check_address("foo")
    Traceback (most recent call last):
    ValueError: scheduler must be an address like tcp://127.0.0.1:8786, got 'foo'
    """
    if not isinstance(address, str):
        raise TypeError(f"scheduler must be a string, got {address!r}")
    found = _HOST_AND_PORT.fullmatch(address)
    is_port = found is not None and 0 < int(found["port"]) < 2**16
    if not is_port and not address.startswith("inproc://"):  # a cluster in threads of our own
        raise ValueError(f"scheduler must be an address like tcp://127.0.0.1:8786, got {address!r}")
    return address


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the Dask cluster, once it has at least one worker."""
    with needing("distributed", "cluster", "a Dask cluster"):
        from distributed import Client
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # of many kinds, when what answers is not a scheduler
        raise ThresherError(f"no Dask scheduler answers at {address!r} ({_line(error)})") from error
    with closing(client):
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            lack = f"has no worker after {_PATIENCE} s; start one"
            raise ThresherError(f"the Dask scheduler at {address!r} {lack}") from error
        yield client


def run_on_cluster(tasks: Sequence[Task], time_limit: float, *, client: Any) -> Records:
    """The record of each task, from the workers of a Dask cluster.

    Raises
    ------
    ThresherError : the cluster lost a run
    """
    from distributed import as_completed as completed

    # The futures are kept nowhere else: what was taken need not survive the loss of a worker.
    futures = client.map(run_on_worker, tasks, time_limit=time_limit, pure=False)
    waiting = completed(futures, loop=client.loop)
    del futures
    for future in waiting:
        try:
            record = future.result()
        except ThresherError:
            raise
        except (Exception, CancelledError) as error:
            raise ThresherError(f"the Dask cluster lost a run ({_line(error)}); {_KEPT}") from error
        yield record


_thread = threading.local()


def run_on_worker(task: Task, time_limit: float) -> FlatRecord:
    """The record of one task from a process that this thread of a Dask worker keeps."""
    if not hasattr(_thread, "pool") or not _thread.pool.workers.active:
        # Dask's workers are daemons, which may not start processes. Ours end with them anyway.
        multiprocessing.current_process().daemon = False
        _thread.pool = _start_pool(1)
    for _, job in _completed(_thread.pool, {0: task}, time_limit):
        return _outcome(job, task, time_limit)
    raise ThresherError(f"cannot start a process on a Dask worker; {_KEPT}")


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
