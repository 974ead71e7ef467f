"""A process that is killed at any moment loses nothing that it acknowledged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killed.py")


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing_and_leave_the_same_model(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path / "s"), "300"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kills"], found["lost"], found["asked twice"]) == (300, 0, 0)
    assert found["acknowledged"] >= 600
    assert found["same bits"]
