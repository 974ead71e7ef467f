"""Hostile requests get exact answers and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from label_page.hostile import ADDRESS, FORM, VOTE, Case, cases
from label_page.pages import FROM_OUR_PAGE, OpenPage, new_session, page_of
from thresher.label_page.guard import HEADERS, Limits
from thresher.label_page.rates import Rate

CASES = cases()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPage]:
    session = new_session(tmp_path_factory.mktemp("hostile"))
    session.wait()
    with session, page_of(session) as page:
        yield page


def send(page: OpenPage, case: Case) -> int:
    headers = {**page.cookie(case.sender), **case.headers}
    response = page.client.request(case.method, case.path, headers=headers, content=case.body)
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    return int(response.status_code)


def test_there_are_two_hundred_of_them() -> None:
    assert len(CASES) >= 200


def test_each_hostile_request_gets_its_code_and_changes_nothing(page: OpenPage) -> None:
    journal, access = page.journal, page.site.accounts.path.read_bytes()
    wrong = [
        (case.name, case.method, case.path[:60], case.headers, status, case.status)
        for case in CASES
        if (status := send(page, case)) != case.status
    ]
    assert wrong == []
    assert page.journal == journal
    assert page.site.accounts.path.read_bytes() == access


def test_the_same_requests_from_our_own_page_pass(page: OpenPage) -> None:
    # Without this, a page that refuses everything would pass the test above.
    question = page.session.next_question("owner")
    assert question is not None
    form = {**VOTE, "row": str(question.row_id), "request": "honest"}
    before = page.journal
    assert page.post("/vote", **form).status_code == 303
    assert page.journal.startswith(before)
    assert b'"vote"' in page.journal[len(before) :]


def test_a_replayed_vote_is_recorded_once(page: OpenPage) -> None:
    question = page.session.next_question("owner")
    assert question is not None
    form = {**VOTE, "row": str(question.row_id), "request": "replayed"}
    page.post("/vote", **form)
    page.session.wait()
    journal = page.journal
    assert [page.post("/vote", **form).status_code for _ in range(5)] == [303] * 5
    changed = {**form, "label": "1"}
    assert page.post("/vote", **changed).status_code == 409
    assert page.post("/vote", "annotator", **form).status_code == 409
    assert page.journal == journal


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "same-origin"}, {**FROM_OUR_PAGE}])
def test_a_form_without_the_script_is_accepted_from_our_own_page(
    page: OpenPage, headers: dict[str, str]
) -> None:
    kind = {"content-type": FORM, "origin": headers.get("origin", "null")}
    sent = {**page.cookie("owner"), **kind, **headers}
    response = page.client.request("POST", "/undo", headers=sent, content=b"request=no-script")
    assert response.status_code == 303


def test_too_many_requests_are_refused_for_each_person_alone(tmp_path: Path) -> None:
    slow = Limits(known_rate=Rate(0.001, 3), unknown_rate=Rate(0.001, 2))
    with new_session(tmp_path) as session, page_of(session, limits=slow) as page:
        session.wait()
        codes = [page.get("/static/label.css").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        assert page.get("/static/label.css", "annotator").status_code == 200
        unknown = [page.get("/static/label.css", "") for _ in range(3)]
        assert [answer.status_code for answer in unknown] == [200, 200, 429]
        assert int(unknown[-1].headers["retry-after"]) >= 1


def test_a_second_host_header_is_refused(page: OpenPage) -> None:
    pairs = [("host", "127.0.0.1:8700"), ("host", "evil.example")]
    assert page.client.request("GET", "/", headers=pairs).status_code == 400


def test_foreign_cookies_do_not_hide_ours(page: OpenPage) -> None:
    ours = page.cookie("owner")["cookie"]
    for others in ('x={"a": [1, 2]}; ', "=; ;; ", 'y="; ', "a b=c; "):
        assert page.get("/session", "", cookie=others + ours).status_code == 200


def test_our_own_name_is_accepted_in_capitals(page: OpenPage) -> None:
    assert page.get("/static/label.css", host="LOCALHOST:8700").status_code == 200
    assert ADDRESS.endswith("8700")
