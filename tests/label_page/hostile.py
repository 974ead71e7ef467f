"""Requests that no page of ours sends, each with the exact answer that it must get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

ADDRESS = "http://127.0.0.1:8700"
HOST = "127.0.0.1:8700"
FORM = "application/x-www-form-urlencoded"
WRITING = ("/vote", "/skip", "/undo", "/annotators", "/annotators/revoke", "/resolve")
EXPORTS = ("/export/labels.csv", "/export/votes.csv", "/export/model.json")
READING = ("/", "/session", "/suspects", "/row?row=0", *EXPORTS)
FOR_OWNER = READING[1:]
VOTE = {"row": "0", "label": "0", "request": "hostile"}


@dataclass(frozen=True)
class Case:
    """A request, who sends it ("owner", "annotator" or nobody), and the status of the answer."""

    name: str
    status: int
    method: str = "GET"
    path: str = "/"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterator[bytes] | None = None
    sender: str = ""


def post(name: str, status: int, path: str = "/vote", body: object = None, **more: object) -> Case:
    """A form, by default a complete vote of the owner from our own page."""
    content = urlencode(VOTE).encode() if body is None else body
    headers = {"origin": ADDRESS, "content-type": FORM, **more.pop("headers", {})}  # type: ignore[dict-item]
    known = {"sender": "owner", **more}
    return Case(name, status, "POST", path, headers, content, **known)  # type: ignore[arg-type]


FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:8700",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:87000",
    "127.0.0.1:8700.evil.example",
    "127.0.0.1.evil.example:8700",
    "localhost.evil.example:8700",
    "evil.example#127.0.0.1:8700",
    "user@127.0.0.1:8700",
    "127.0.0.1:8700@evil.example",
    "0.0.0.0:8700",
    "[::1]:8700",
    "127.1:8700",
    "2130706433:8700",
    "127.0.0.1:8700, evil.example",
    "%31%32%37.0.0.1:8700",
    "localhost.:8700",
    "*",
    "null",
)
FOREIGN_ORIGINS = (
    "http://evil.example",
    "https://127.0.0.1:8700",
    "http://127.0.0.1",
    "http://127.0.0.1:8701",
    "http://localhost:8701",
    "http://127.0.0.1:8700.evil.example",
    "http://127.0.0.1:8700/",
    "http://evil.example/http://127.0.0.1:8700",
    "HTTP://127.0.0.1:8700",
    "file://",
    "null",
    "",
    "*",
    "http://127.0.0.1:8700 http://evil.example",
)
WRONG_SECRETS = (
    "",
    "x",
    "0",
    "null",
    "undefined",
    "true",
    "' OR '1'='1",
    "../access.json",
    "%00",
    "A" * 43,
    "a" * 1500,
    "é",
    "token token",
    "[]",
    '{"$ne": null}',
)


def cases() -> list[Case]:
    """All of them; none may change the session."""
    return [*_strangers(), *_foreign_pages(), *_annotators(), *_bad_forms(), *_bad_addresses()]


def _strangers() -> Iterator[Case]:
    for host in FOREIGN_HOSTS:
        yield Case("foreign host", 421, headers={"host": host}, sender="owner")
        yield post("foreign host", 421, headers={"host": host})
    for secret in WRONG_SECRETS:
        yield Case("wrong token", 401, path="/join?" + urlencode({"token": secret}))
        cookie = {"cookie": "thresher-test=" + secret.encode("ascii", "ignore").decode()}
        yield Case("wrong cookie", 401, headers=cookie)
    for path in (*READING, "/image"):
        yield Case("no cookie", 401, path=path)
    for path in WRITING:
        yield post("no cookie", 401, path, sender="")
    yield Case("no token", 401, path="/join")
    yield Case("malformed cookie", 401, headers={"cookie": "thresher-test"})
    yield Case("malformed cookie", 401, headers={"cookie": "=;=;\x01"})


def _foreign_pages() -> Iterator[Case]:
    for origin in FOREIGN_ORIGINS:
        yield post("foreign origin", 403, headers={"origin": origin})
    for path in WRITING:
        yield post("foreign origin", 403, path, headers={"origin": "http://evil.example"})
    for site in ("cross-site", "same-site", "none", ""):
        yield post("foreign page", 403, headers={"sec-fetch-site": site})
        null = {"sec-fetch-site": site, "origin": "null"}
        yield post("foreign page without an origin", 403, headers=null)


def _annotators() -> Iterator[Case]:
    for path in FOR_OWNER:
        yield Case("page of the owner", 403, path=path, sender="annotator")
    for path in ("/annotators", "/annotators/revoke", "/resolve"):
        body = urlencode({**VOTE, "name": "owner"}).encode()
        yield post("power of the owner", 403, path, body, sender="annotator")
    yield Case("picture of another row", 404, path="/image?row=39&column=x0", sender="annotator")


def _bad_forms() -> Iterator[Case]:
    for kind in (
        "text/plain",
        "application/json",
        "multipart/form-data; boundary=x",
        "",
        "text/xml",
    ):
        yield post("wrong kind", 415, headers={"content-type": kind})
    yield post("compressed", 415, headers={"content-encoding": "gzip"})
    yield post("huge", 413, body=b"row=" + b"0" * 40_000)
    yield post("huge by its own word", 413, headers={"content-length": "99999999999"})
    yield post("huge and in pieces", 413, body=iter([b"row=" + b"0" * 9_000] * 9))
    for body in (b"row", b"row=0&row=1", b"row=%ff&label=0", b"\xff\xfe", b"&".join([b"a=1"] * 99)):
        yield post("malformed form", 400, body=body)
    for missing in VOTE:
        rest = {name: value for name, value in VOTE.items() if name != missing}
        yield post(f"no {missing}", 400, body=urlencode(rest).encode())
    for row in ("", "x", "null", "true", "[0]", "{}", "1.5", "NaN", "[" * 3000, "0 0", "'0'"):
        yield post("no row", 400, body=urlencode({**VOTE, "row": row}).encode())
    for label in ("", "-1", "2", "99999999999", "yes", "0x0", "٠", " 0", "1e0", "0\n"):
        yield post("no label", 400, body=urlencode({**VOTE, "label": label}).encode())
    for request in ("", "a" * 101, "a\nb", "\x00", "\u202e"):
        yield post("no request id", 400, body=urlencode({**VOTE, "request": request}).encode())
    for row in ("-1", "40", "999999999999999999999999", '"0"', '"<script>"'):
        yield post(
            "row that was not asked about", 409, body=urlencode({**VOTE, "row": row}).encode()
        )
    yield post("long comment", 400, body=urlencode({**VOTE, "comment": "a" * 1001}).encode())
    for name in ("", " ", "a" * 61, "a\nb", "\u202e", "owner", "OWNER", "annotator"):
        yield post("no name", 409, "/annotators", urlencode({"name": name}).encode())
    for name in ("owner", "nobody", ""):
        yield post("nobody", 409, "/annotators/revoke", urlencode({"name": name}).encode())


def _bad_addresses() -> Iterator[Case]:
    for path in (
        "/static/../accounts.py",
        "/static/..%2faccounts.py",
        "/static/%2e%2e/access.json",
        "/static//etc/passwd",
        "/static/label.html",
        "/export/access.json",
        "/export/journal.txt",
        "/export/..%2f..%2fetc%2fpasswd",
        "/access.json",
        "/.git/config",
        "/admin",
        "/vote/",
        "/%00",
        "/image?row=0&column=missing",
        "/image?row=0&column=x0",
        "/image?row=99&column=x0",
    ):
        yield Case("no such page", 404, path=path, sender="owner")
    yield Case("no such row", 400, path="/image?row=x&column=x0", sender="owner")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "x"):
        yield Case("wrong method", 405, method, sender="owner")
    for path in WRITING:
        yield Case("reading where one writes", 405, path=path, sender="owner")
    for path in READING:
        yield post("writing where one reads", 405, path)
    yield Case("long address", 414, path="/?" + "a" * 5_000, sender="owner")
    yield Case("long address", 414, path="/" + "a" * 5_000, sender="owner")
    yield Case("long headers", 431, headers={"x-long": "a" * 20_000}, sender="owner")
    yield Case("many headers", 431, headers={f"x-{i}": "a" * 10 for i in range(2_000)})
