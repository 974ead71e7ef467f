"""A labeling page without a network: the application itself, with people who are signed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from thresher.label_page.accounts import Accounts
from thresher.label_page.app import create_app
from thresher.label_page.guard import Limits
from thresher.label_page.rates import Rate
from thresher.label_page.site import Site
from thresher.label_sessions import LabelSession

ADDRESS = "http://127.0.0.1:8700"
COOKIE = "thresher-test"
PATIENT = Limits(known_rate=Rate(1e6, 10**6), unknown_rate=Rate(1e6, 10**6))
FROM_OUR_PAGE = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
X = np.random.default_rng(0).standard_normal((40, 3))


class Client:
    """A browser without a network, which follows no redirect."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        transport = httpx.ASGITransport(app)
        self._client = httpx.AsyncClient(transport=transport, base_url=ADDRESS)
        self._runner = runner

    def request(self, method: str, path: str, *, content: Any = None, **how: Any) -> httpx.Response:
        """The answer to a request; its content may be an iterable of pieces."""
        self._client.cookies.clear()  # tests say who asks
        if content is not None and not isinstance(content, bytes):
            content = _pieces(content)
        return self._runner.run(self._client.request(method, path, content=content, **how))


async def _pieces(content: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


@dataclass(frozen=True)
class OpenPage:
    """The page of a session, and a browser that is not signed in yet."""

    site: Site
    client: Client
    cookies: dict[str, str]

    @property
    def session(self) -> LabelSession:
        return self.site.session

    @property
    def journal(self) -> bytes:
        return Path(self.session.folder, "journal.txt").read_bytes()

    def cookie(self, sender: str) -> dict[str, str]:
        """The header that signs someone in."""
        return {"cookie": f"{COOKIE}={self.cookies[sender]}"} if sender else {}

    def get(self, path: str, sender: str = "owner", **headers: str) -> Any:
        """A page as this person sees it."""
        return self.client.request("GET", path, headers={**self.cookie(sender), **headers})

    def post(self, path: str, sender: str = "owner", **form: str) -> Any:
        """The answer to a form that this person sends."""
        headers = {**self.cookie(sender), **FROM_OUR_PAGE}
        return self.client.request("POST", path, data=form, headers=headers)


def new_session(folder: Path, pool: Any = X, **options: Any) -> LabelSession:
    """A session of a small pool whose first rows are chosen."""
    session = LabelSession.create(
        folder / "session", pool, **{"classes": ["no", "yes"], "random_state": 0, **options}
    )
    session.next_question("owner")
    return session


@contextmanager
def page_of(
    session: Any, *, limits: Limits = PATIENT, images_root: Path | None = None
) -> Iterator[OpenPage]:
    """The page of a session, with an owner and an annotator who have cookies."""
    accounts = Accounts(session.folder)
    tokens = {"owner": accounts.new_owner_link("owner"), "annotator": accounts.add("annotator")}
    cookies = {
        name: exchanged[1]
        for name, token in tokens.items()
        if (exchanged := accounts.exchange(token))
    }
    site = Site(session, accounts, ADDRESS, COOKIE, images_root)
    origins = frozenset({ADDRESS, "http://localhost:8700"})
    app = create_app(site, origins=origins, limits=limits)
    with asyncio.Runner() as runner:
        yield OpenPage(site, Client(app, runner), cookies)
