"""The application: which address leads to which page."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from thresher import rendering
from thresher.label_page.answering import Answering
from thresher.label_page.guard import Guard, Limits
from thresher.label_page.overview import Overview
from thresher.label_page.site import PageError, Site, for_owner, render, render_error, see

STATIC = Path(__file__).with_name("static")
FILES = {
    "label.css": (STATIC / "label.css", "text/css"),
    "label.js": (STATIC / "label.js", "text/javascript"),
    "icon.svg": (STATIC / "icon.svg", "image/svg+xml"),
    "page.css": (Path(str(rendering.__file__)).with_name("page.css"), "text/css"),
}
COOKIE_SECONDS = 30 * 24 * 3600


def create_app(site: Site, origins: frozenset[str], limits: Limits | None = None) -> ASGIApp:
    """The page as an ASGI application.

    Parameters
    ----------
    site : session and accounts
    origins : addresses under which the page may be used, such as http://127.0.0.1:8700
    limits : sizes, rates and deadlines
    """
    handlers = {PageError: render_error, HTTPException: _render_http_error, Exception: _render_bug}
    app = Starlette(routes=_routes(site), exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(
        app,
        origins=origins,
        accounts=site.accounts,
        cookie_name=site.cookie_name,
        limits=limits or Limits(),
    )


def _routes(site: Site) -> list[Route]:
    """Every address, and who may use it: everyone who is signed in, or the owner."""
    answering, overview, entrance = Answering(site), Overview(site), Entrance(site)
    return [
        Route("/", answering.label),
        Route("/vote", answering.vote, methods=["POST"]),
        Route("/skip", answering.skip, methods=["POST"]),
        Route("/undo", answering.undo, methods=["POST"]),
        Route("/image", answering.image),
        Route("/session", for_owner(overview.session)),
        Route("/annotators", for_owner(overview.add_annotator), methods=["POST"]),
        Route("/annotators/revoke", for_owner(overview.revoke_annotator), methods=["POST"]),
        Route("/suspects", for_owner(overview.suspects)),
        Route("/row", for_owner(overview.row)),
        Route("/resolve", for_owner(overview.resolve), methods=["POST"]),
        Route("/export/{name}", for_owner(overview.export)),
        Route("/join", entrance.join),
        Route("/welcome", entrance.welcome),
        Route("/static/{name}", static),
    ]


class Entrance:
    """Where a personal link leads: its token becomes a cookie and leaves the address."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def join(self, request: Request) -> Response:
        """Exchange the token for a cookie."""
        found = self._site.accounts.exchange(request.query_params.get("token", ""))
        if found is None:
            text = "It may have been revoked or cut off. Ask for a new one."
            raise PageError(401, "This link does not work", text)
        response = see("/welcome")
        response.set_cookie(
            self._site.cookie_name,
            found[1],
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._site.address.startswith("https:"),
        )
        return response

    def welcome(self, request: Request) -> Response:
        """A page of our own between a foreign one and the first row.

        A strict cookie does not travel with a request that another site began, redirected or not.
        """
        return render(request, "welcome.html")


def static(request: Request) -> Response:
    """A style sheet, a script or the icon."""
    try:
        path, kind = FILES[request.path_params["name"]]
    except KeyError:
        raise PageError(404, "No such page", "Nothing is at this address.") from None
    return Response(path.read_bytes(), media_type=kind)


def _render_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = "No such page" if error.status_code == 404 else str(error.detail)
    response = render_error(request, PageError(error.status_code, title, "Nothing is here."))
    response.headers.update(error.headers or {})
    return response


def _render_bug(request: Request, _: Exception) -> Response:
    """Nothing about the fault: it is printed where the server runs."""
    text = "The server failed. What it confirmed before is saved."
    return render_error(request, PageError(500, "Error", text))
