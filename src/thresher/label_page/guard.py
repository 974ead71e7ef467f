"""What every request passes before a page sees it: names, origins, sizes, rates and deadlines."""

import asyncio
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher.label_page.accounts import Account, Accounts
from thresher.label_page.rates import Rate, Rates

FORM = "application/x-www-form-urlencoded"
READING, WRITING = ("GET", "HEAD"), ("POST",)
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Limits:
    """How much, how often and how slowly a client may send.

    Parameters
    ----------
    body_bytes : of a form
    head_bytes : of the headers together
    query_bytes : of what follows the ? in an address
    n_fields : of a form
    body_seconds : until a form has arrived
    known_rate : requests of a person who is signed in
    unknown_rate : requests of an address that nobody is signed in from

    Examples
    --------
    >>> Limits().body_bytes
    32768
    """

    body_bytes: int = 32_768
    head_bytes: int = 16_384
    query_bytes: int = 2_048
    n_fields: int = 12
    body_seconds: float = 10.0
    known_rate: Rate = field(default_factory=lambda: Rate(per_second=50, burst=300))
    unknown_rate: Rate = field(default_factory=lambda: Rate(per_second=5, burst=60))


class Refused(Exception):
    """A request that goes no further: status, reason and headers of the answer."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Guard:
    """Refuses what no browser of ours sends, and adds security headers to every answer.

    An allowed request carries in its `state` who sent it (`account`, or None) and, if it writes,
    its `form`: a dictionary of texts.

    Parameters
    ----------
    app : what answers
    origins : addresses of this server, such as http://127.0.0.1:8700; others are refused
    accounts : who has which cookie
    cookie_name : of this session
    limits : sizes, rates and deadlines
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        origins: frozenset[str],
        accounts: Accounts,
        cookie_name: str,
        limits: Limits,
    ) -> None:
        self._app = app
        self._origins = origins
        self._hosts = frozenset(urlsplit(origin).netloc for origin in origins)
        self._accounts = accounts
        self._cookie_name = cookie_name
        self._limits = limits
        self._known = Rates(limits.known_rate)
        self._unknown = Rates(limits.unknown_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._app
        try:
            await self._admit(scope, receive)
        except Refused as refused:
            headers = {"connection": "close", **refused.headers}
            answer = PlainTextResponse(f"{refused.reason}\n", refused.status, headers)
        await answer(scope, receive, send_guarded)

    async def _admit(self, scope: Scope, receive: Receive) -> None:
        """Check a request, and put into its state what is known about it."""
        self._check_sizes(scope)
        headers, state = Headers(scope=scope), scope.setdefault("state", {})
        self._check_host(headers)
        state["account"] = account = self._account(headers)
        self._check_rate(scope, account)
        if scope["method"] in WRITING:
            self._check_origin(headers)
            if account is None:  # before anything is read
                raise Refused(401, "not signed in: use your personal link")
            state["form"] = await self._read_form(headers, receive)
        elif scope["method"] not in READING:
            raise Refused(405, "this page knows GET and POST only", allow="GET, HEAD, POST")

    def _check_sizes(self, scope: Scope) -> None:
        if len(scope["query_string"]) + len(scope["path"]) > self._limits.query_bytes:
            raise Refused(414, "the address is too long")
        n_bytes = sum(len(name) + len(value) for name, value in scope["headers"])
        if n_bytes > self._limits.head_bytes:
            raise Refused(431, "the headers are too long")

    def _check_host(self, headers: Headers) -> None:
        """A foreign name that leads to this server belongs to someone else's page."""
        hosts = headers.getlist("host")
        if len(hosts) != 1:
            raise Refused(400, "exactly one Host header is needed")
        if hosts[0].lower() not in self._hosts:
            raise Refused(421, "this server is not known by that name; see --host")

    def _check_origin(self, headers: Headers) -> None:
        """Only our own pages may write.

        A form that is sent without the script has the origin "null", because of our referrer
        policy; then the browser itself must say that it comes from our page.
        """
        origins = headers.getlist("origin")
        site = headers.get("sec-fetch-site", "same-origin")
        if origins in ([], ["null"]):
            allowed = headers.get("sec-fetch-site") == "same-origin"
        else:
            allowed = len(origins) == 1 and origins[0] in self._origins and site == "same-origin"
        if not allowed:
            raise Refused(403, "only this server's own pages may send answers")

    def _account(self, headers: Headers) -> Account | None:
        cookies = cookie_parser(headers.get("cookie", ""))
        return self._accounts.of_cookie(cookies.get(self._cookie_name))

    def _check_rate(self, scope: Scope, account: Account | None) -> None:
        client = scope.get("client")
        if account is not None:
            wait = self._known.wait(account.name)
        else:
            wait = self._unknown.wait(client[0] if client else "")
        if wait > 0:
            raise Refused(429, "too many requests", retry_after=str(int(wait) + 1))

    async def _read_form(self, headers: Headers, receive: Receive) -> dict[str, str]:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != FORM or "content-encoding" in headers:
            raise Refused(415, f"a form must be {FORM}")
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._read_body(headers, receive)
        except TimeoutError:
            raise Refused(408, "the form took too long to arrive") from None
        return self._parsed(body)

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        declared = headers.get("content-length", "0")
        if not declared.isdecimal():
            raise Refused(400, "the length of the form is malformed")
        most, body, more = self._limits.body_bytes, bytearray(), True
        while more and max(len(body), int(declared)) <= most:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "the form is incomplete")
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if max(len(body), int(declared)) > most:
            raise Refused(413, f"a form may have up to {most:,} bytes")
        return bytes(body)

    def _parsed(self, body: bytes) -> dict[str, str]:
        try:
            pairs = parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(body),
                errors="strict",
                max_num_fields=self._limits.n_fields,
            )
        except ValueError:
            raise Refused(400, "the form is malformed") from None
        if len(dict(pairs)) < len(pairs):
            raise Refused(400, "the form has a field twice")
        return dict(pairs)
