"""A labeling page on a real socket: in a thread of ours, or as the command that a user starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from thresher.label_page.accounts import Accounts
from thresher.label_page.app import create_app
from thresher.label_page.guard import Limits
from thresher.label_page.server import Place, listen, make_server, origin
from thresher.label_page.site import Site


@dataclass(frozen=True)
class Served:
    """A page in a thread."""

    port: int
    site: Site
    server: uvicorn.Server

    @property
    def n_connections(self) -> int:
        return len(self.server.server_state.connections)


@contextmanager
def served(session: Any, limits: Limits | None = None) -> Iterator[Served]:
    """The page of a session on a free port, in a thread."""
    listening = listen(Place(port=0))
    port = listening.getsockname()[1]
    address = origin("http", "127.0.0.1", port)
    site = Site(session, Accounts(session.folder), address, "thresher-test")
    server = make_server(create_app(site, origins=frozenset({address}), limits=limits), Place())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield Served(port, site, server)
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
        assert not thread.is_alive()


@dataclass(frozen=True)
class Command:
    """`thresher label --web` as a process."""

    process: subprocess.Popen[str]
    link: str

    @property
    def address(self) -> str:
        return self.link.partition("/join")[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def end(self, how: signal.Signals = signal.SIGKILL) -> str:
        """End it; what it said after the link."""
        self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=60)
        return said


def start(pool: Path, session: Path, *options: str) -> Command:
    """Start the command, and wait for the owner's link."""
    command = [sys.executable, "-m", "thresher", "label", str(pool), "--session", str(session)]
    given = options if "--port" in options else (*options, "--port", "0")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--web", *given], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http\S+", line):
            return Command(process, found[0])
    raise AssertionError(f"the server ended with {process.wait()}")


@contextmanager
def started(pool: Path, session: Path, *options: str) -> Iterator[Command]:
    """The command while the block runs."""
    command = start(pool, session, *options)
    try:
        yield command
    finally:
        command.end()
