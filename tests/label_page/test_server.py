"""The server on a real socket: malformed requests, slow clients, and what it prints."""

from __future__ import annotations

import logging
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from label_page.pages import PATIENT, new_session
from label_page.served import Served, served, started
from thresher.errors import ThresherError
from thresher.label_page.guard import Limits
from thresher.label_page.rates import Rate
from thresher.label_page.server import Place, allowed_names, listen
from thresher.label_page.slow_clients import ImpatientProtocol

SHORT = 0.2  # seconds
HASTY = Limits(body_seconds=SHORT, known_rate=Rate(1e6, 10**6), unknown_rate=PATIENT.unknown_rate)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    patch = pytest.MonkeyPatch()
    patch.setattr(ImpatientProtocol, "header_seconds", SHORT)
    patch.setattr(ImpatientProtocol, "reading_seconds", SHORT)
    with new_session(tmp_path_factory.mktemp("server")) as session, served(session, HASTY) as page:
        session.wait()
        yield page
    patch.undo()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def everything(client: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def head(port: int, *lines: str, method: str = "POST", path: str = "/vote") -> bytes:
    start = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    return "\r\n".join([*start, *lines, "", ""]).encode()


FORM = "Content-Type: application/x-www-form-urlencoded"
MALFORMED = [
    (b"nonsense\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: evil.example\r\n\r\n", 400),
    (b"GET / HTTQ/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost : 127.0.0.1:PORT\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: a\x00b\r\n\r\n", 400),
    (b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n", 400),
    (b"POST /vote HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST /vote HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 1, 2\r\n\r\n", 400),
    (b"POST /vote HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
    (b"GET / HTTP/1.0\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 421),
    (b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 421),
    (
        b"GET /static/../a.json HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n",
        404,
    ),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + b"a" * 300_000, 400),
    (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: Upgrade, close\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n",
        401,
    ),
]


@pytest.mark.parametrize(("request_", "code"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_request_gets_its_code(page: Served, request_: bytes, code: int) -> None:
    port = page.port
    with closing(connect(port)) as client:
        client.sendall(request_.replace(b"PORT", str(port).encode()))
        assert status(everything(client)) == code


def test_a_head_that_drips_in_is_cut_off(page: Served) -> None:
    port = page.port
    with closing(connect(port)) as client:
        started = time.monotonic()
        with pytest.raises(OSError):
            for byte in head(port, "X: " + "a" * 200, method="GET", path="/"):
                client.sendall(bytes([byte]))
                time.sleep(0.02)
        assert time.monotonic() - started < SHORT + 1


@pytest.mark.parametrize("first", [b"", b"GET / HT", b"\r\n"])
def test_a_silent_connection_is_closed(page: Served, first: bytes) -> None:
    with closing(connect(page.port)) as client:
        client.sendall(first)
        started = time.monotonic()
        everything(client)
        assert time.monotonic() - started < SHORT + 1


def form_head(page: Served, length: str) -> bytes:
    """The head of a form that someone sends who is signed in."""
    _, cookie = page.site.accounts.exchange(page.site.accounts.new_owner_link("owner")) or ("", "")
    signed_in = f"Cookie: thresher-test={cookie}"
    return head(page.port, FORM, f"Origin: {page.site.address}", signed_in, length)


@pytest.mark.parametrize("length", ["Content-Length: 40", "Transfer-Encoding: chunked"])
def test_a_form_that_does_not_arrive_is_given_up(page: Served, length: str) -> None:
    with closing(connect(page.port)) as client:
        client.sendall(form_head(page, length))
        assert status(everything(client)) == 408


def test_a_form_of_a_stranger_is_refused_before_it_arrives(page: Served) -> None:
    port = page.port
    with closing(connect(port)) as client:
        ours = f"Origin: http://127.0.0.1:{port}"
        client.sendall(head(port, FORM, ours, "Content-Length: 40"))
        assert status(everything(client)) == 401


def test_an_endless_form_is_cut_off(page: Served) -> None:
    port = page.port
    with closing(connect(port)) as client:
        client.sendall(form_head(page, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError):
            for _ in range(10_000):
                client.sendall(b"400\r\n" + b"a" * 1024 + b"\r\n")


@pytest.mark.slow
def test_a_client_that_never_reads_is_cut_off(page: Served) -> None:
    port = page.port
    with closing(connect(port)) as client:
        client.settimeout(2 * SHORT)
        request = head(port, method="GET", path="/static/page.css")
        with pytest.raises(OSError):
            for _ in range(1_000):
                client.sendall(100 * request)
        deadline = time.monotonic() + 5
        while page.n_connections and time.monotonic() < deadline:
            time.sleep(0.02)
        assert page.n_connections == 0


@pytest.mark.slow
def test_many_requests_at_once_are_answered_in_turn(page: Served) -> None:
    port, n_requests = page.port, 200
    with closing(connect(port)) as client:
        one = head(port, method="GET", path="/static/icon.svg")
        client.sendall(one * n_requests)
        received = b""
        while received.count(b"HTTP/1.1 200") < n_requests or not received.endswith(b"</svg>\n"):
            received += client.recv(65536)
        time.sleep(2 * SHORT)  # longer than the wait for a head
        client.sendall(one)
        assert client.recv(100)


def test_slow_clients_do_not_keep_others_waiting(page: Served) -> None:
    port = page.port
    slow = [connect(port) for _ in range(60)]
    for client in slow:
        client.sendall(b"GET / HTTP/1.1\r\nX: ")
    started = time.monotonic()
    with closing(connect(port)) as client:
        client.sendall(head(port, "Connection: close", method="GET", path="/static/label.css"))
        assert status(everything(client)) == 200
    assert time.monotonic() - started < 1
    for client in slow:
        everything(client)
        client.close()


def test_nothing_hostile_reaches_the_journal(page: Served) -> None:
    session = page.site.session
    journal = Path(session.folder, "journal.txt").read_bytes()
    assert b'"vote"' not in journal
    assert session.progress().n_votes == 0


def test_a_token_is_in_no_log(page: Served, caplog: pytest.LogCaptureFixture) -> None:
    port, site = page.port, page.site
    token = site.accounts.add("ann")
    with caplog.at_level(logging.DEBUG), closing(connect(port)) as client:
        request = head(port, "Connection: close", method="GET", path=f"/join?token={token}")
        client.sendall(request)
        assert status(everything(client)) == 303
    assert token not in caplog.text


# -- where it listens ---------------------------------------------------------------------------


def test_a_name_that_is_given_joins_the_local_ones() -> None:
    assert allowed_names(Place()) == ["127.0.0.1", "localhost"]
    assert allowed_names(Place("Lab.Example")) == ["lab.example", "127.0.0.1", "localhost"]


def test_listening_everywhere_answers_to_the_names_of_this_machine() -> None:
    names = allowed_names(Place("0.0.0.0"))
    assert {socket.gethostname().lower(), "localhost", "127.0.0.1"} <= set(names)
    assert "0.0.0.0" not in names


def test_a_port_that_is_taken_is_reported() -> None:
    with closing(listen(Place(port=0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ThresherError, match=re.escape(f"port {port}")):
            listen(Place(port=port))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a certificate")
def test_with_a_certificate_it_speaks_https(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext"
    command = [*made.split(), "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    (tmp_path / "pool.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20, encoding="utf-8")
    options = ("--classes", "no,yes", "--tls-cert", str(certificate), "--tls-key", str(key))
    with started(tmp_path / "pool.csv", tmp_path / "s", *options) as command_:
        assert command_.link.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(certificate))
        joined = httpx.get(command_.link, verify=context)
        assert joined.status_code == 303
        assert "; secure" in joined.headers["set-cookie"].lower()
