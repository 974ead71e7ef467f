"""The server: where it listens, what it prints, and how it ends."""

import hashlib
import socket
import ssl
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from thresher.errors import ThresherError
from thresher.label_page.accounts import Accounts
from thresher.label_page.app import create_app
from thresher.label_page.site import Site
from thresher.label_page.slow_clients import ImpatientProtocol
from thresher.label_sessions import LabelSession
from thresher.rendering.text import say

LOCAL = ("127.0.0.1", "localhost")
EVERYWHERE = ("0.0.0.0", "::")
N_CONNECTIONS = 256
CLOSING_SECONDS = 3


@dataclass(frozen=True)
class Place:
    """Where the page is served.

    Parameters
    ----------
    host : name or address to listen on
    port : 0 for any that is free
    tls_certificate, tls_key : files in PEM format, for https
    images_root : folder below which pictures may lie

    Examples
    --------
    >>> Place().is_local, Place("192.168.1.5").is_local
    (True, False)
    """

    host: str = LOCAL[0]
    port: int = 8700
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    images_root: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether other machines cannot reach it."""
        return self.host in (*LOCAL, "::1")

    @property
    def scheme(self) -> str:
        """https with a certificate."""
        return "http" if self.tls_certificate is None else "https"


def serve(session: LabelSession, place: Place, *, owner: str) -> None:
    """Serve the page until Ctrl-C, and print the owner's link first.

    Parameters
    ----------
    session : to label
    place : where
    owner : name of the person who started the session, as it stands in the votes

    Raises
    ------
    ThresherError : the port is taken or the certificate cannot be used
    """
    _check_certificate(place)
    with listen(place) as listening, suppress(KeyboardInterrupt):
        port = listening.getsockname()[1]
        names = allowed_names(place)
        site = Site(
            session,
            Accounts(session.folder),
            address=origin(place.scheme, names[0], port),
            cookie_name=cookie_name(session.folder),
            images_root=place.images_root,
        )
        app = create_app(site, frozenset(origin(place.scheme, name, port) for name in names))
        _announce(site, place, site.accounts.new_owner_link(owner))
        make_server(app, place).run(sockets=[listening])


def allowed_names(place: Place) -> list[str]:
    """The names that the page answers to; the first is the one in links."""
    if place.host in EVERYWHERE:
        return [*_own_addresses(), socket.gethostname().lower(), *LOCAL]
    return list(dict.fromkeys([place.host.lower(), *LOCAL]))


def origin(scheme: str, name: str, port: int) -> str:
    """The address of the server as browsers write it.

    Examples
    --------
    >>> origin("http", "::1", 8700), origin("https", "lab", 443)
    ('http://[::1]:8700', 'https://lab')
    """
    host = f"[{name}]" if ":" in name else name
    is_usual = port == {"http": 80, "https": 443}[scheme]
    return f"{scheme}://{host}" + ("" if is_usual else f":{port}")


def cookie_name(folder: str | Path) -> str:
    """A name of its own for each session: ports do not keep cookies apart.

    Examples
    --------
    >>> len(cookie_name("votes"))
    21
    """
    return f"thresher-{hashlib.sha256(str(Path(folder).resolve()).encode()).hexdigest()[:12]}"


def _own_addresses() -> list[str]:
    """The addresses of this machine, the one that leads outside first; nothing is sent."""
    found = []
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))
                found.append(probe.getsockname()[0])
        except OSError:
            continue
    return found


def listen(place: Place) -> socket.socket:
    """A socket that listens at the place.

    Raises
    ------
    ThresherError : the port is taken, or the name is not one of this machine
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # Only with the protocol named, asyncio sends small packets at once.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((place.host, place.port))
        listening.listen()  # a browser that opens the link at once waits instead of failing
    except OSError as error:
        listening.close()
        raise ThresherError(
            f"cannot listen on {place.host}, port {place.port} ({error.strerror}); "
            "choose another with --host and --port"
        ) from error
    return listening


def _check_certificate(place: Place) -> None:
    """Refuse a certificate that cannot be used, before anything is printed."""
    if place.tls_certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            place.tls_certificate, place.tls_key
        )
    except (OSError, ValueError) as error:
        raise ThresherError(
            f"cannot use the certificate {place.tls_certificate} ({error}); it must be in PEM "
            "format, with its key in the same file or in --tls-key"
        ) from error


def _announce(site: Site, place: Place, token: str) -> None:
    if not place.is_local:
        unsafe = "; without --tls-cert, links and answers travel unencrypted"
        message = f"--host {place.host} lets other machines reach this page"
        message += "" if place.scheme == "https" else unsafe
        warnings.warn(message, UserWarning, stacklevel=1)
    say(f"Your personal link (it works until the server is started again):\n  {site.link(token)}")
    say("Add other people on the page Session. Press Ctrl-C to stop; every answer is saved.")


def make_server(app: ASGIApp, place: Place) -> uvicorn.Server:
    """A server with limits and without an access log, which would hold the tokens."""
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        access_log=False,
        log_config=None,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=N_CONNECTIONS,
        timeout_graceful_shutdown=CLOSING_SECONDS,
        ssl_certfile=place.tls_certificate,
        ssl_keyfile=place.tls_key,
    )
    return uvicorn.Server(config)
