"""`thresher label --web` as a user starts it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from thresher import label_page
from thresher.label_page import server

COMMAND = "label pool.csv --session s --classes no,yes --annotator ann"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{i % 7},{i % 5}.5" for i in range(40)]
    (tmp_path / "pool.csv").write_text("\n".join(["a,b", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "key.pem").touch()
    return tmp_path


@pytest.fixture
def unserved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Servers end at once; the applications that they would serve."""
    apps = []

    class Ended:
        def run(self, sockets: list[Any]) -> None:
            for listening in sockets:
                listening.close()
            raise KeyboardInterrupt

    def make_server(app: Any, place: label_page.Place) -> Ended:
        apps.append((app, place))
        return Ended()

    monkeypatch.setattr(server, "make_server", make_server)
    return apps


def test_the_server_prints_the_owners_link_and_how_to_stop(folder, call_cli, unserved):
    done = call_cli(f"{COMMAND} --web --port 0", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"http://127\.0\.0\.1:\d+/join\?token=[\w-]{43}", done.stdout)
    assert "Ctrl-C" in done.stdout
    assert "0 labels saved in s; the same command continues" in done.stdout
    assert unserved[0][1].images_root is None


def test_each_start_has_a_new_link_and_the_folder_none_of_them(folder, call_cli, unserved):
    said = [call_cli(f"{COMMAND} --web --port 0", folder).stdout for _ in range(2)]
    tokens = [re.findall(r"token=(\S+)", text)[0] for text in said]
    assert len(set(tokens)) == len(unserved) == 2
    written = b"".join(path.read_bytes() for path in (folder / "s").iterdir() if path.is_file())
    assert not [token for token in tokens if token.encode() in written]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("unserved")
def test_a_host_for_others_is_warned_about(folder, call_cli):
    done = call_cli(f"{COMMAND} --web --port 0 --host 0.0.0.0", folder)
    assert done.returncode == 0
    assert "thresher: warning: --host 0.0.0.0 lets other machines reach this page" in done.stderr
    assert "without --tls-cert, links and answers travel unencrypted" in done.stderr
    assert "http://0.0.0.0" not in done.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--host 127.0.0.1", "--host needs --web"),
        ("--images-root .", "--images-root needs --web"),
        ("--web --port 65536", "--port must be at most 65535"),
        ("--web --port x", "must be an integer"),
        ("--web --tls-key key.pem", "--tls-key needs --tls-cert"),
        ("--web --tls-cert missing.pem", "missing.pem: no such file"),
        ("--web --images-root missing", "missing: no such folder"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder, call_cli, options, problem):
    done = call_cli(f"{COMMAND} {options}", folder)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not (folder / "s").exists()


def test_a_host_that_is_not_this_machine_is_refused(folder, call_cli):
    done = call_cli(f"{COMMAND} --web --host 192.0.2.7", folder)
    assert done.returncode == 1
    assert "cannot listen on 192.0.2.7" in done.stderr


def test_a_bad_certificate_is_refused(folder, call_cli):
    done = call_cli(f"{COMMAND} --web --port 0 --tls-cert key.pem", folder)
    assert done.returncode == 1
    assert "cannot use the certificate key.pem" in done.stderr


def test_without_its_packages_the_page_says_what_to_install(folder, call_cli, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("thresher.label_page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = call_cli(f"{COMMAND} --web", folder)
    assert done.returncode == 1
    assert (
        'needs the package uvicorn; install it with: pip install "thresher[label]"' in done.stderr
    )
