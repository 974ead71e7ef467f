"""What memory is available, on every system, and what happens when it does not suffice."""

import resource
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


# Limits of containers and processes

GB = 10**9


def group(folder: Path, version: int, limit: str, usage: int, cache: int) -> None:
    """Write what a control group says about memory."""
    folder.mkdir(parents=True, exist_ok=True)
    if version == 1:
        names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
    else:
        names = "memory.max", "memory.current", "inactive_file"
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cache}\nshmem 7\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 16 GB of free memory, and a folder for its control groups."""
    (tmp_path / "meminfo").write_text(f"MemAvailable: {16 * GB // 1024} kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    return tmp_path


@pytest.mark.parametrize(
    ("version", "own", "folder"),
    [
        (2, "0::/user/run", "user/run"),
        (2, "0::/user/run", "user"),  # the limit of a group holds for those inside it
        (2, "0::/", ""),  # a container that sees its own group as the root
        (1, "5:cpu,memory:/user/run", "memory/user/run"),
        (1, "9:pids:/x\n5:memory:/docker/0123", "memory"),  # the path is that of the host
    ],
)
def test_the_limit_of_a_container_counts(
    machine: Path, version: int, own: str, folder: str
) -> None:
    (machine / "own").write_text(f"{own}\n")
    group(machine / "cgroup" / folder, version, str(4 * GB), usage=3 * GB, cache=GB // 2)
    assert available_memory() == 3 * GB // 2


def test_the_tightest_of_several_groups_counts(machine: Path) -> None:
    (machine / "own").write_text("0::/a/b\n")
    group(machine / "cgroup/a", 2, str(2 * GB), usage=0, cache=0)
    group(machine / "cgroup/a/b", 2, str(8 * GB), usage=0, cache=0)
    assert available_memory() == 2 * GB


@pytest.mark.parametrize("limit", ["max", "9223372036854771712", "", "many"])
def test_without_a_limit_of_a_container_the_machine_counts(machine: Path, limit: str) -> None:
    (machine / "own").write_text("0::/a\n1:name=systemd:/a\n")
    group(machine / "cgroup/a", 2, limit, usage=GB, cache=0)
    assert available_memory() == 16 * GB // 1024 * 1024


def test_a_container_that_is_full_leaves_nothing(machine: Path) -> None:
    (machine / "own").write_text("0::/a\n")
    group(machine / "cgroup/a", 2, str(GB), usage=2 * GB, cache=0)
    assert available_memory() == 0


def test_the_limit_of_the_address_space_counts(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "statm").write_text("1000 1 1 1 0 1 0\n")
    monkeypatch.setattr(memory, "OWN_SIZE", machine / "statm")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2 * GB, resource.RLIM_INFINITY))
    assert available_memory() == 2 * GB - 1000 * resource.getpagesize()


def test_an_estimate_above_what_is_available_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 16 * 10**9)
    require_memory(16 * 10**9, "a table that just fits")
    with pytest.raises(NotEnoughMemory, match=r"a huge table needs about 64 GB .* 16 GB is free"):
        require_memory(64 * 10**9, "a huge table")
