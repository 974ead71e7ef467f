"""What all pages share: the session, the accounts, and how a template becomes an answer."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from thresher.errors import NotSaved, SessionStopped, ThresherError
from thresher.label_page.accounts import Account, Accounts
from thresher.label_sessions import LabelSession
from thresher.rendering.text import share
from thresher.wording import count, visible

TEMPLATES = Path(__file__).with_name("templates")
SEE_OTHER = 303
LONGEST_COMMENT = 1_000  # characters
LONGEST_REQUEST_ID = 100
RowId = int | str
Page = Callable[[Request], Response]


class PageError(Exception):
    """A request that a page refuses: the status, a title, and what to do."""

    def __init__(self, status: int, title: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.title = title
        self.text = text


def _environment() -> jinja2.Environment:
    """Every value is escaped, whatever the name of the template, and none may be missing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["shown"] = visible
    environment.filters["shown_lines"] = lambda text: visible(text, keep="\n\t")
    environment.filters["count"] = count
    environment.filters["share"] = share
    return environment


@dataclass(frozen=True)
class Site:
    """The session and who may use it.

    Parameters
    ----------
    session : that is labeled
    accounts : owner and annotators
    address : that links begin with
    cookie_name : of this session
    images_root : folder below which pictures may lie
    """

    session: LabelSession
    accounts: Accounts
    address: str
    cookie_name: str
    images_root: Path | None = None

    def link(self, token: str) -> str:
        """The personal link that a token belongs to."""
        return f"{self.address}/join?token={token}"


_ENVIRONMENT = _environment()


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The page of a template, with these values and the account that asked for it."""
    account = request.scope["state"]["account"]
    values = {"account": account, "here": "", **values}
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(values), status_code=status)


def render_error(request: Request, error: Exception) -> Response:
    """The page about a `PageError`."""
    assert isinstance(error, PageError)
    status, title, text = error.status, error.title, error.text
    return render(request, "message.html", status=status, title=title, text=text)


def see(path: str) -> RedirectResponse:
    """Go on to another page."""
    return RedirectResponse(path, status_code=SEE_OTHER)


def account_of(request: Request) -> Account:
    """Who asks.

    Raises
    ------
    PageError : 401 for a stranger
    """
    account: Account | None = request.scope["state"]["account"]
    if account is None:
        text = "Open this page with your personal link. If it does not work, ask for a new one."
        raise PageError(401, "Not signed in", text)
    return account


def for_owner(page: Page) -> Page:
    """The page for the owner; others get 403.

    Examples
    --------
    >>> for_owner(lambda request: Response()).__name__
    '<lambda>'
    """

    @wraps(page)
    def guarded(request: Request) -> Response:
        if not account_of(request).is_owner:
            raise PageError(403, "For the owner", "Only the owner can see this page.")
        return page(request)

    return guarded


def field(request: Request, name: str) -> str:
    """A field of the form that was sent.

    Raises
    ------
    PageError : 400 if it is missing
    """
    try:
        text: str = request.scope["state"]["form"][name]
    except KeyError:
        raise PageError(400, "Incomplete form", f"The field {name!r} is missing.") from None
    return text


def row_key(row_id: RowId) -> str:
    """A row's id as a text that `row_of` reads; 1 and "1" stay apart.

    Examples
    --------
    >>> row_key(1), row_key("1")
    ('1', '"1"')
    """
    return json.dumps(row_id)


def row_of(key: str) -> RowId:
    """The row's id behind a key.

    Raises
    ------
    PageError : 400 if it is none

    Examples
    --------
    >>> row_of('"1"')
    '1'
    """
    try:
        row_id = json.loads(key)
    except (ValueError, RecursionError):
        row_id = None
    if isinstance(row_id, bool) or not isinstance(row_id, int | str):
        raise PageError(400, "Malformed form", "The field 'row' is not the id of a row.")
    return row_id


def label_of(classes: Sequence[Any], request: Request) -> Any:
    """The class at the position that the form names; positions have no spelling to get wrong.

    Raises
    ------
    PageError : 400 if there is none
    """
    position = field(request, "label")
    if position not in map(str, range(len(classes))):
        raise PageError(400, "No such label", "The field 'label' is not one of the classes.")
    return classes[int(position)]


def comment_of(request: Request) -> str | None:
    """The comment of an answer, or None.

    Raises
    ------
    PageError : 400 if it is too long
    """
    comment = request.scope["state"]["form"].get("comment", "").strip()
    if len(comment) > LONGEST_COMMENT:
        raise PageError(400, "Comment too long", f"Up to {LONGEST_COMMENT:,} characters are kept.")
    return comment or None


def request_id_of(request: Request) -> str:
    """What makes sending an answer twice the same as sending it once.

    Raises
    ------
    PageError : 400 if it is malformed
    """
    request_id = field(request, "request")
    if not 0 < len(request_id) <= LONGEST_REQUEST_ID or not request_id.isprintable():
        raise PageError(400, "Malformed form", "The field 'request' is not an id.")
    return request_id


@contextmanager
def refusing() -> Iterator[None]:
    """Inside the block, what the session refuses becomes a page that says so.

    Raises
    ------
    PageError : 409 for an answer that does not fit, 503 if the disk or the model failed
    """
    try:
        yield
    except (NotSaved, SessionStopped) as error:
        raise PageError(503, "Not saved", f"{error}.") from error
    except (ThresherError, ValueError, TypeError) as error:
        raise PageError(409, "Refused", f"{error}.") from error
