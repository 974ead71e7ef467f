"""What memory is available, on every system, and what happens when it does not suffice."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from thresher import memory
from thresher.errors import NotEnoughMemory
from thresher.memory import available_memory, require_memory

MEMINFO = "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    3000 kB\n"


def test_proc_says_what_is_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    assert available_memory() == 3000 * 1024


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_without_proc_it_is_asked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    if platform == "linux" != sys.platform:
        pytest.skip("asks Linux itself")
    physical = psutil.virtual_memory().total
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", platform)
    assert 0 < available_memory() <= physical


def test_psutil_is_asked_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Memory:
        available = 12_345

    monkeypatch.setattr(psutil, "virtual_memory", Memory)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", "win32")
    assert available_memory() == 12_345


def test_an_estimate_above_what_is_available_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 16 * 10**9)
    require_memory(16 * 10**9, "a table that just fits")
    with pytest.raises(NotEnoughMemory, match=r"a huge table needs about 64 GB .* 16 GB is free"):
        require_memory(64 * 10**9, "a huge table")
