"""Whatever stands in a table, a name, a label or a comment stays text on every page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from label_page.injections import HARMLESS, PAYLOADS, StubSession, skeleton, texts
from label_page.pages import OpenPage, new_session, page_of
from thresher.label_page.accounts import Account
from thresher.label_page.site import row_key
from thresher.wording import visible


@dataclass(frozen=True)
class Stub:
    page: OpenPage
    session: StubSession

    def named(self, name: str, role: str) -> str:
        """The page as someone with this name sees it."""
        accounts = self.page.site.accounts
        known = next(account for account in accounts if account.role == role)
        accounts._accounts = {**accounts._accounts, known.name: Account(name, *_rest(known))}
        try:
            return str(self.page.get("/", role).text)
        finally:
            accounts._accounts = {**accounts._accounts, known.name: known}


def _rest(account: Account) -> tuple[str, str, tuple[str, ...]]:
    return account.role, account.token_hash, account.cookie_hashes


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stub]:
    session = StubSession(tmp_path_factory.mktemp("injections"))
    with page_of(session) as page:
        yield Stub(page, session)


def label_page(stub: Stub) -> str:
    return str(stub.page.get("/").text)


def end_page(stub: Stub) -> str:
    stub.session.is_over = True
    try:
        return str(stub.page.get("/", "annotator").text)
    finally:
        stub.session.is_over = False


def refusal_page(stub: Stub) -> str:
    stub.session.is_refusing = True
    try:
        return str(stub.page.get("/").text)
    finally:
        stub.session.is_refusing = False


def session_page(stub: Stub) -> str:
    return str(stub.page.get("/session").text)


def decision_page(stub: Stub) -> str:
    row = row_key(stub.session.payload)
    return str(stub.page.get(f"/row?{urlencode({'row': row})}").text)


def suspects_page(stub: Stub) -> str:
    return str(stub.page.get("/suspects").text)


def name_page(stub: Stub) -> str:
    return stub.named(stub.session.payload, "annotator")


def name_refusal_page(stub: Stub) -> str:
    return str(stub.page.post("/annotators/revoke", name=stub.session.payload).text)


def reflected_address(stub: Stub) -> str:
    query = urlencode({"row": row_key(f"{stub.session.payload}x"), "column": stub.session.payload})
    return str(stub.page.get(f"/image?{query}").text)


PLACES: tuple[Callable[[Stub], str], ...] = (
    label_page,
    end_page,
    refusal_page,
    session_page,
    decision_page,
    suspects_page,
    name_page,
    name_refusal_page,
    reflected_address,
)
A_FEW = (PAYLOADS[0], PAYLOADS[43], PAYLOADS[48], PAYLOADS[60], PAYLOADS[69])


def check(stub: Stub, place: Callable[[Stub], str], payload: str) -> None:
    stub.session.payload = HARMLESS
    expected = skeleton(place(stub))
    stub.session.payload = payload
    html = place(stub)
    assert skeleton(html) == expected, (place.__name__, payload)
    if place is not reflected_address:
        shown = visible(payload)
        assert any(shown in text for text in texts(html)), (place.__name__, payload)


@pytest.mark.parametrize("place", PLACES)
def test_a_few_payloads_stay_text(stub: Stub, place: Callable[[Stub], str]) -> None:
    for payload in A_FEW:
        check(stub, place, payload)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_every_payload_stays_text(stub: Stub, place: Callable[[Stub], str]) -> None:
    for payload in PAYLOADS:
        check(stub, place, payload)


def test_there_are_six_hundred_cases() -> None:
    assert len(set(PAYLOADS)) * len(PLACES) >= 600


@pytest.mark.parametrize("payload", A_FEW[:3])
def test_the_comparison_notices_what_is_not_escaped(stub: Stub, payload: str) -> None:
    stub.session.payload = payload
    html = label_page(stub)
    from html import unescape

    assert skeleton(unescape(html)) != skeleton(html)


def test_comments_are_kept_and_shown_nowhere_as_html(tmp_path: Path) -> None:
    kept = [payload for payload in PAYLOADS if 0 < len(payload.strip()) <= 1000][:10]
    with new_session(tmp_path) as session, page_of(session) as page:
        for number, comment in enumerate(kept):
            question = session.next_question("owner")
            assert question is not None
            row, request = str(question.row_id), str(number)
            form = {"row": row, "label": str(number % 2), "request": request, "comment": comment}
            assert page.post("/vote", **form).status_code == 303
        session.wait()
        recorded = [vote.comment for by in session._state.votes.values() for vote in by.values()]
        assert recorded == [comment.strip() for comment in kept]
        assert "pwned" not in page.get("/session").text
        assert "pwned" not in page.get("/").text
