"""The owner's page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from label_page.pages import OpenPage, X, new_session, page_of
from thresher.estimators import load_model
from thresher.label_page.error_curve import error_curve
from thresher.label_sessions.state import Estimate


@pytest.fixture
def page(tmp_path: Path) -> Iterator[OpenPage]:
    session = new_session(tmp_path, votes_per_row=2, decision="majority")
    with session, page_of(session) as page:
        yield page


def label_some(page: OpenPage, n_rows: int, *senders: str) -> list[int]:
    """Votes of each sender on the same rows; the rows. They disagree on the first one alone."""
    rows: list[int] = []
    for _ in range(n_rows):
        for sender in senders:
            question = page.session.next_question(sender)
            assert question is not None
            rows.append(question.row_id)
            is_positive = (X[question.row_id, 0] > 0) ^ (len(rows) == 1)
            page.session.vote(sender, question.row_id, "yes" if is_positive else "no")
    page.session.wait()
    return rows


def test_the_owner_adds_a_person_whose_link_is_shown_once(page: OpenPage) -> None:
    made = page.post("/annotators", name=" ann ").text
    (link,) = re.findall(r'value="http://127.0.0.1:8700(/join\?token=[^"]+)"', made)
    assert page.get(link, "").status_code == 303
    assert link not in page.get("/session").text
    assert "ann" in page.get("/session").text


def test_a_revoked_person_is_signed_out_at_once(page: OpenPage) -> None:
    assert page.get("/", "annotator").status_code == 200
    assert page.post("/annotators/revoke", name="annotator").status_code == 303
    assert page.get("/", "annotator").status_code == 401
    assert page.post("/vote", "annotator", row="0", label="0", request="r").status_code == 401


def test_progress_agreement_and_the_curve_are_shown(page: OpenPage) -> None:
    label_some(page, 12, "owner", "annotator")
    html = page.get("/session").text
    assert "Two people who labeled the same row agree in" in html
    assert "of 12 pairs" in html
    assert re.search(r"<b>24</b><span>votes</span>", html)
    assert "<polyline" in html
    assert "style=" not in html


def test_before_the_first_vote_the_page_is_complete(page: OpenPage) -> None:
    html = page.get("/session").text
    assert "No row has votes of two people yet." in html
    assert "The first estimate needs more labels." in html


def test_a_disputed_row_is_decided_by_the_owner(page: OpenPage) -> None:
    rows = label_some(page, 12, "owner", "annotator")
    disputed = page.session.progress().disputed
    assert disputed
    address = f"/row?row={disputed[0]}"
    assert f'href="{address}"' in page.get("/session").text
    shown = page.get(address).text
    (request,) = re.findall(r'name="request" value="([^"]+)"', shown)
    decided = {"row": str(disputed[0]), "request": request, "label": "0"}
    assert page.post("/resolve", **decided).status_code == 303
    assert disputed[0] not in page.session.progress().disputed
    assert disputed[0] in rows


def test_suspects_lead_to_a_row_to_decide(page: OpenPage) -> None:
    rows = label_some(page, 12, "owner", "annotator")
    html = page.get("/suspects").text
    assert f'href="/row?row={rows[0]}"' in html
    assert "the votes give no label" in html
    assert "owner: " in html


def test_without_labels_nobody_is_a_suspect(page: OpenPage) -> None:
    assert "None: people agree" in page.get("/suspects").text


def test_people_who_voted_stay_listed_without_a_link(page: OpenPage) -> None:
    label_some(page, 2, "owner", "annotator")
    page.post("/annotators/revoke", name="annotator")
    html = page.get("/session").text
    assert re.search(r'<td class="name">annotator</td><td>2</td><td class="word">none', html)


def test_the_files_can_be_downloaded(page: OpenPage, tmp_path: Path) -> None:
    label_some(page, 15, "owner", "annotator")
    for name in ("labels.csv", "votes.csv"):
        response = page.get(f"/export/{name}")
        assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert response.headers["content-type"].startswith("text/csv")
        assert len(response.text.splitlines()) > 1
    path = tmp_path / "model.json"
    path.write_bytes(page.get("/export/model.json").content)
    assert list(load_model(path).classes) == ["no", "yes"]


def test_a_model_without_labels_is_refused_with_a_reason(page: OpenPage) -> None:
    response = page.get("/export/model.json")
    assert response.status_code == 409
    assert "label" in response.text


def test_an_annotator_sees_nothing_of_the_others(page: OpenPage) -> None:
    label_some(page, 3, "owner")
    html = page.get("/", "annotator").text
    assert "owner" not in html
    assert "/session" not in html


# -- the curve ----------------------------------------------------------------------------------


def test_the_curve_lies_inside_its_frame() -> None:
    history = [Estimate(n, 1 / n, 0.5 / n, min(1.0, 3 / n)) for n in range(1, 300, 7)]
    curve = error_curve(history)
    assert curve is not None
    pairs = [tuple(map(float, p.split(","))) for p in f"{curve.line} {curve.interval}".split()]
    assert all(curve.left <= x <= curve.right for x, _ in pairs)
    assert all(curve.top - 0.1 <= y <= curve.bottom + 0.1 for _, y in pairs)


@pytest.mark.parametrize("highest", [0.0, 1e-6, 0.01, 0.049, 0.5, 1.0])
@pytest.mark.parametrize("n_labels", [0, 1, 2, 9, 10, 99, 12_345])
def test_the_axes_have_few_round_marks(highest: float, n_labels: int) -> None:
    curve = error_curve([Estimate(n_labels, highest, 0.0, highest)])
    assert curve is not None
    for ticks in (curve.across, curve.up):
        assert 2 <= len(ticks) <= 7
        assert len({tick.text for tick in ticks}) == len(ticks)


def test_without_an_estimate_there_is_no_curve() -> None:
    assert error_curve([]) is None
    assert error_curve([Estimate(5, None, 0.0, 1.0)]) is None
