"""What all tests share: one BLAS thread a process, interrupts, a time limit, one pytest worker for
the tests of a file, and the command line without a process and without learning twice."""

from __future__ import annotations

import gc
import os
import pickle
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

# Two pytest workers fill two cores, and BLAS threads that wait for each other on busy cores took
# most of the suite's time. Set before NumPy is imported, and hence also for the processes that
# tests start; tests that compare one thread with two ask for both.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Ten thousand tests are collected, and none of them is garbage: a quarter of that time was spent on
# looking for some.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# A shell that starts the tests in the background makes them ignore interrupts, and their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TIME_LIMIT, SLOW_TIME_LIMIT = 300, 2 * 3600  # seconds for one test, which may wait for a process


def pytest_configure(config: pytest.Config) -> None:
    """Twenty-five examples for each property, and many among the slow tests."""
    from hypothesis import settings

    n_examples = 25 if config.option.markexpr == "not slow" else 300
    settings.register_profile("thresher", max_examples=n_examples, deadline=None)
    settings.load_profile("thresher")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files to a worker: two would make what the tests of a file share twice.

    Files of the slow tests are too unequal, and are divided.
    """
    from xdist.scheduler import LoadFileScheduling, LoadScheduling

    is_fast = config.option.markexpr == "not slow"
    return LoadFileScheduling(config, log) if is_fast else LoadScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fail a test that does not end, where there are alarms (not on Windows)."""
    if not hasattr(signal, "SIGALRM"):
        return (yield)
    limit = SLOW_TIME_LIMIT if item.get_closest_marker("slow") else TIME_LIMIT
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"no end after {limit} s"))
    signal.alarm(limit)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


Command = Callable[[str, Path], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`thresher` with these arguments in this folder, in our own process: its start takes longest.

    Whatever needs an interrupt is run in a process instead.
    """
    from thresher import cli  # not before the threads are counted

    def call(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "80")
        try:
            code = cli.main(shlex.split(arguments))
        except SystemExit as stop:  # from the parser
            code = stop.code
        told = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, told.out, told.err)

    return call


@pytest.fixture
def call_cli_at_terminal(
    call_cli: Command, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Path], tuple[subprocess.CompletedProcess[str], bytes]]:
    """The same, and what a terminal shows if standard error, and nothing else, leads to one."""
    pty = pytest.importorskip("pty")
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")

    def call(arguments: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], bytes]:
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "w") as terminal, redirect_stderr(terminal):
            done = call_cli(arguments, folder)
            terminal.flush()
            shown = os.read(ours, 1_000_000)
        os.close(ours)
        return done, shown

    return call


@pytest.fixture
def _without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if neither Matplotlib nor Rich were installed."""
    for name in {*sys.modules, "matplotlib", "rich"}:
        if name.partition(".")[0] in ("matplotlib", "rich"):
            monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture(scope="session")
def _findings() -> dict[bytes, Any]:
    return {}


@pytest.fixture
def learned(
    _findings: dict[bytes, Any], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> dict[bytes, Any]:
    """What the command line in our own process has learned, by table and options.

    Many tests look at what is told or written about the same table, whatever its file is called; it
    is learned for the first of them, and in two phases and with few trees unless the test is slow.
    Who wants it learned again clears this.
    """
    from estimators.small import examine_quickly
    from thresher import auditing
    from thresher.auditing import forest

    is_slow = request.node.get_closest_marker("slow") is not None
    examine = auditing.examine if is_slow else examine_quickly
    if not is_slow:
        monkeypatch.setattr(forest, "N_TREES", 10)

    def examine_once(table: Any, *, name: str, **options: Any) -> Any:
        if not is_slow:  # one fit for `learn` and `audit`
            options["final_fit"] = "auto"
        key = pickle.dumps((is_slow, table, options))
        if key not in _findings:
            _findings[key] = examine(table, name=name, **options)
        named = key + name.encode()
        if named not in _findings:
            _findings[named] = replace(_findings[key], name=name)
        return _findings[named]

    monkeypatch.setattr(auditing, "examine", examine_once)
    return _findings
