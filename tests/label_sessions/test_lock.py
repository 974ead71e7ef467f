"""One writer at a time, and the refusal names the first."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from label_sessions.pools import X, make
from thresher import LabelSession
from thresher.errors import SessionInUse
from thresher.label_sessions.lock import SessionLock

HOLDER = """
import fcntl, json, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.pwrite(descriptor, sys.argv[2].encode() or json.dumps(
    {"process": os.getpid(), "host": "far\\x1b[2Jaway"}).encode(), 0)
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_second_session_of_a_process_is_refused(tmp_path: Path) -> None:
    with make(tmp_path / "s"):
        me = f"process {os.getpid()} on {socket.gethostname()}"
        with pytest.raises(SessionInUse, match=re.escape(f"is open in {me}; close it there")):
            LabelSession.open(tmp_path / "s", X)
    LabelSession.open(tmp_path / "s", X).close()


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"process": "x"}'])
def test_another_process_is_named_and_its_death_frees_the_session(tmp_path, content) -> None:
    folder = tmp_path / "s"
    make(folder).close()
    before = (folder / "journal.txt").read_bytes()
    command = [sys.executable, "-c", HOLDER, str(folder / "lock"), content]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(SessionInUse) as caught:
            LabelSession.open(folder, X)
        named = f"process {holder.pid} on far\\x1b[2Jaway" if not content else "process"
        assert named in str(caught.value)
        assert "\x1b" not in str(caught.value)
        assert (folder / "journal.txt").read_bytes() == before
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    LabelSession.open(folder, X).close()


def test_a_session_that_cannot_be_opened_is_not_locked(tmp_path: Path) -> None:
    make(tmp_path / "s").close()
    for _ in range(2):
        with pytest.raises(ValueError, match="pool must be given"):
            LabelSession.open(tmp_path / "s")
    SessionLock(tmp_path / "s").release()
