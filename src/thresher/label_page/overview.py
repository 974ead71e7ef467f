"""The owner's page: progress, people, suspects and files."""

import math
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from thresher.label_page.error_curve import error_curve
from thresher.label_page.shown_row import ShownRow
from thresher.label_page.site import (
    PageError,
    RowId,
    Site,
    field,
    label_of,
    refusing,
    render,
    request_id_of,
    row_key,
    row_of,
    see,
)
from thresher.label_sessions import Progress, Suspect
from thresher.rendering.text import share
from thresher.wording import MISSING, count

N_ROWS = 50  # most suspects that are shown


@dataclass(frozen=True)
class Fact:
    """A number of the session, and what it counts."""

    name: str
    value: str


@dataclass(frozen=True)
class Link:
    """A personal link, which is shown once."""

    name: str
    address: str


@dataclass(frozen=True)
class Person:
    """Someone who labels or has labeled."""

    name: str
    n_votes: int
    role: str  # "" for someone without a link


@dataclass(frozen=True)
class Listed:
    """A row in a list, with the address where the owner can decide it."""

    name: str
    address: str
    suspect: Suspect | None = None

    @classmethod
    def of(cls, row_id: RowId, suspect: Suspect | None = None) -> Self:
        """The row of this id."""
        return cls(str(row_id), f"/row?{urlencode({'row': row_key(row_id)})}", suspect)


class Overview:
    """The pages for the owner."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._session = site.session

    def session(self, request: Request) -> Response:
        """Everything about the session."""
        return self._page(request)

    def add_annotator(self, request: Request) -> Response:
        """Make a personal link, and show it once."""
        name = field(request, "name")
        try:
            token = self._site.accounts.add(name)
        except ValueError as error:
            return self._page(request, status=409, notice=f"Not added: {error}.")
        return self._page(request, new_link=Link(name.strip(), self._site.link(token)))

    def revoke_annotator(self, request: Request) -> Response:
        """End a personal link."""
        try:
            self._site.accounts.revoke(field(request, "name"))
        except ValueError as error:
            return self._page(request, status=409, notice=f"Not revoked: {error}.")
        return see("/session")

    def suspects(self, request: Request) -> Response:
        """Rows to look at again; finding them takes a while, so they have a page of their own."""
        with refusing():
            found = self._session.suspects()
        listed = [Listed.of(suspect.row_id, suspect) for suspect in found[:N_ROWS]]
        return render(request, "suspects.html", suspects=listed, n_suspects=len(found))

    def row(self, request: Request) -> Response:
        """A row to decide."""
        row_id = row_of(request.query_params.get("row", ""))
        try:
            values = self._session.pool.row(row_id)
        except ValueError as error:
            raise PageError(404, "No such row", f"{error}.") from error
        texts, root = self._session.pool.text_columns, self._site.images_root
        return render(
            request,
            "decide.html",
            row=ShownRow.of(row_id, values, texts=texts, images_root=root),
            classes=self._session.classes,
            request_id=secrets.token_urlsafe(16),
        )

    def resolve(self, request: Request) -> Response:
        """Save the owner's own decision about a row."""
        row_id, label = row_of(field(request, "row")), label_of(self._session.classes, request)
        request_id = request_id_of(request)
        with refusing():
            self._session.resolve(row_id, label, request_id=request_id)
        return see("/session")

    def export(self, request: Request) -> Response:
        """A file to keep."""
        exports: dict[str, tuple[Callable[[Path], Any], str]] = {
            "labels.csv": (self._session.export_labels, "text/csv"),
            "votes.csv": (self._session.export_votes, "text/csv"),
            "model.json": (self._session.save_model, "application/json"),
        }
        name = request.path_params["name"]
        if name not in exports:
            raise PageError(404, "No such file", "There are labels.csv, votes.csv and model.json.")
        write, kind = exports[name]
        with tempfile.TemporaryDirectory() as folder, refusing():
            write(path := Path(folder, name))
            content = path.read_bytes()
        disposition = f'attachment; filename="{name}"'
        return Response(content, media_type=kind, headers={"Content-Disposition": disposition})

    def _page(self, request: Request, *, status: int = 200, **news: Any) -> Response:
        progress = self._session.progress()
        return render(
            request,
            "session.html",
            status=status,
            here="session",
            session_name=Path(self._session.folder).resolve().name,
            progress=progress,
            facts=facts_of(progress),
            curve=error_curve(progress.history),
            people=self._people(progress),
            agreement=agreement_of(progress),
            disputed=[Listed.of(row) for row in progress.disputed[:N_ROWS]],
            **{"notice": None, "new_link": None, **news},
        )

    def _people(self, progress: Progress) -> list[Person]:
        """Everyone with a link, then everyone who voted and has none."""
        roles = {account.name: account.role for account in self._site.accounts}
        names = {**roles, **dict.fromkeys(progress.votes_by, "")}
        return [Person(name, progress.votes_by.get(name, 0), roles.get(name, "")) for name in names]


def facts_of(progress: Progress) -> list[Fact]:
    """The numbers at the top."""
    budget = "labels" if progress.label_budget is None else f"of {progress.label_budget:,} labels"
    error = progress.error_estimate
    return [
        Fact(budget, f"{progress.n_labels:,}"),
        Fact("votes", f"{progress.n_votes:,}"),
        Fact("skipped rows", f"{progress.n_skipped:,}"),
        Fact("estimated error", MISSING) if error is None else error_fact(*error),
    ]


def error_fact(estimate: float, low: float, high: float) -> Fact:
    """The error with its interval; the interval alone while there is too little for an estimate.

    Examples
    --------
    >>> error_fact(0.041, 0.02, 0.073)
    Fact(name='estimated error, 2.0% to 7.3%', value='4.1%')
    """
    value = MISSING if math.isnan(estimate) else share(estimate)
    return Fact(f"estimated error, {share(low)} to {share(high)}", value)


def agreement_of(progress: Progress) -> str:
    """How often people agree, as a sentence."""
    agreement = progress.agreement
    if agreement.share is None:
        return "No row has votes of two people yet."
    pairs = count(agreement.n_pairs, "pair")
    return f"Two people who labeled the same row agree in {share(agreement.share)} of {pairs}."
