"""The page of one row: what an annotator sees, and where the answers go."""

import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from thresher.label_page.images import NotAPicture, picture
from thresher.label_page.shown_row import ShownRow
from thresher.label_page.site import (
    PageError,
    Site,
    account_of,
    comment_of,
    field,
    label_of,
    refusing,
    render,
    request_id_of,
    row_of,
    see,
)
from thresher.label_sessions import Progress, Question
from thresher.label_sessions.terminal import describe

REFIT_SECONDS, IDLE_SECONDS = 1, 5  # until a page without a row looks again


@dataclass(frozen=True)
class Rest:
    """Why there is no row now, and after how many seconds to look again, if at all."""

    title: str
    text: str
    seconds: int | None = None


class Answering:
    """The pages for everyone who labels."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._session = site.session

    def label(self, request: Request) -> Response:
        """The next row, or why there is none."""
        name = account_of(request).name
        with refusing():
            question = self._session.next_question(name, wait=False)
        progress = self._session.progress(name)
        return render(
            request,
            "label.html",
            here="label",
            request_id=secrets.token_urlsafe(16),
            progress=progress,
            progress_line=describe(progress),
            rest=rest_of(progress) if question is None else None,
            row=None if question is None else self._shown(question),
            classes=self._session.classes,
        )

    def _shown(self, question: Question) -> ShownRow:
        return ShownRow.of(
            question.row_id,
            question.values,
            columns=question.columns,
            texts=self._session.pool.text_columns,
            reason=question.reason,
            images_root=self._site.images_root,
        )

    def vote(self, request: Request) -> Response:
        """Save an answer, then show the next row."""
        name, row_id = account_of(request).name, row_of(field(request, "row"))
        label, comment = label_of(self._session.classes, request), comment_of(request)
        request_id = request_id_of(request)
        with refusing():
            self._session.vote(name, row_id, label, request_id=request_id, comment=comment)
        return see("/")

    def skip(self, request: Request) -> Response:
        """Save that a person could not decide."""
        name, row_id = account_of(request).name, row_of(field(request, "row"))
        request_id, comment = request_id_of(request), comment_of(request)
        with refusing():
            if comment:
                self._session.note(name, comment, row_id, request_id=f"{request_id}-note")
            self._session.skip(name, row_id, request_id=request_id)
        return see("/")

    def undo(self, request: Request) -> Response:
        """Take back the last answer of this person."""
        name, request_id = account_of(request).name, request_id_of(request)
        with refusing():
            self._session.retract(name, request_id=request_id)
        return see("/")

    def image(self, request: Request) -> Response:
        """A picture of the row that this person is asked about; the owner may see any."""
        account, row_id = account_of(request), row_of(request.query_params.get("row", ""))
        if not account.is_owner:
            question = self._session.next_question(account.name, wait=False)
            if question is None or question.row_id != row_id:
                raise PageError(404, "No such picture", "This row is not yours to label now.")
        try:
            value = self._session.pool.row(row_id)[request.query_params.get("column", "")]
            content = picture(value, self._site.images_root)
        except (KeyError, ValueError) as error:
            reason = str(error) if isinstance(error, NotAPicture) else "no such row or column"
            raise PageError(404, "No such picture", f"{reason}.") from error
        return Response(content, media_type="image/png")


def rest_of(progress: Progress) -> Rest:
    """What a person reads who has no row."""
    if progress.stop_reason is not None:
        return Rest("All done", f"No more questions: {progress.stop_reason}.")
    if progress.refitting:
        return Rest("One moment", "The next rows are being chosen.", REFIT_SECONDS)
    text = "The rows that are left are with other people, or you have skipped them."
    return Rest("Nothing for you now", text, IDLE_SECONDS)
