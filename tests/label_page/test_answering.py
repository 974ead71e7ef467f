"""The page of one row."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from label_page.pages import ADDRESS, COOKIE, OpenPage, new_session, page_of
from thresher.errors import NotSaved, SessionStopped
from thresher.label_page.app import COOKIE_SECONDS
from thresher.label_page.shown_row import N_FIRST, N_MORE


@pytest.fixture
def page(tmp_path: Path) -> Iterator[OpenPage]:
    with new_session(tmp_path) as session, page_of(session) as page:
        yield page


def form_of(html: str) -> dict[str, str]:
    """The hidden fields of the page: what the next answer is about."""
    return dict(re.findall(r'<input type="hidden" name="(row|request)" value="([^"]*)">', html))


def answer(page: OpenPage, path: str = "/vote", sender: str = "owner", **form: str) -> str:
    """Answer the row that is shown, and the page after it."""
    shown = form_of(page.get("/", sender).text)
    assert page.post(path, sender, **{"label": "1", **shown, **form}).status_code == 303
    return str(page.get("/", sender).text)


def votes(page: OpenPage) -> list[tuple[Any, ...]]:
    by = page.session._state.votes
    return [(row, name, vote.label) for row, all_ in by.items() for name, vote in all_.items()]


def test_a_personal_link_becomes_a_cookie_and_leaves_the_address(page: OpenPage) -> None:
    token = page.site.accounts.add("ann")
    response = page.get(f"/join?token={token}", "")
    assert (response.status_code, response.headers["location"]) == (303, "/welcome")
    cookie = response.headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}=")
    for part in ("httponly", "samesite=strict", f"max-age={COOKIE_SECONDS}", "path=/"):
        assert part in cookie
    assert "secure" not in cookie
    assert token.lower() not in cookie
    assert 'content="0; url=/"' in page.get("/welcome", "").text


def test_with_tls_the_cookie_travels_encrypted_only(tmp_path: Path) -> None:
    with new_session(tmp_path) as session, page_of(session) as page:
        object.__setattr__(page.site, "address", ADDRESS.replace("http:", "https:"))
        token = page.site.accounts.add("ann")
        response = page.get(f"/join?token={token}", "")
        assert "; secure" in response.headers["set-cookie"].lower()


def test_the_page_shows_the_row_the_reason_the_keys_and_the_progress(page: OpenPage) -> None:
    question = page.session.next_question("owner")
    assert question is not None
    html = page.get("/").text
    assert f"Row {question.row_id}" in html
    assert question.reason in html
    assert all(f"<dt>{name}</dt>" in html for name in ("x0", "x1", "x2"))
    assert re.findall(r"<kbd>(.)</kbd>", html) == ["1", "2", "c", "s", "u"]
    assert "0 labels" in html


def test_an_answer_is_in_the_journal_and_the_next_row_comes(page: OpenPage) -> None:
    first = form_of(page.get("/").text)["row"]
    after = answer(page, comment=" looks odd ")
    assert votes(page) == [(int(first), "owner", "yes")]
    assert b"looks odd" in page.journal
    assert form_of(after)["row"] != first
    assert "1 label" in after


def test_a_reload_shows_the_same_row(page: OpenPage) -> None:
    rows = {form_of(page.get("/").text)["row"] for _ in range(3)}
    assert len(rows) == 1


def test_two_people_get_different_rows(page: OpenPage) -> None:
    rows = {form_of(page.get("/", sender).text)["row"] for sender in ("owner", "annotator")}
    assert len(rows) == 2


def test_a_row_is_skipped(page: OpenPage) -> None:
    first = form_of(page.get("/").text)["row"]
    assert form_of(answer(page, "/skip"))["row"] != first
    assert votes(page) == []
    assert page.session.progress().n_skipped == 1


def test_undo_brings_the_last_row_back(page: OpenPage) -> None:
    first = form_of(page.get("/").text)["row"]
    answer(page)
    assert form_of(answer(page, "/undo"))["row"] == first
    assert votes(page) == []


def test_undo_without_an_answer_changes_nothing(page: OpenPage) -> None:
    page.session.wait()
    before = page.journal
    answer(page, "/undo")
    assert page.journal == before


def test_the_same_form_twice_is_one_vote(page: OpenPage) -> None:
    form = {**form_of(page.get("/").text), "label": "0"}
    assert {page.post("/vote", **form).status_code for _ in range(3)} == {303}
    assert len(votes(page)) == 1


def test_the_end_says_why_and_offers_undo(tmp_path: Path) -> None:
    with new_session(tmp_path, label_budget=2) as session, page_of(session) as page:
        answer(page)
        end = answer(page)
        assert "All done" in end
        assert "budget spent" in end
        assert 'data-key="u"' in end
        assert "data-refresh" not in end
        session.wait()


def test_who_finds_no_row_looks_again_by_itself(tmp_path: Path) -> None:
    with new_session(tmp_path, label_budget=1) as session, page_of(session) as page:
        page.get("/")
        html = page.get("/", "annotator").text
        assert "with other people" in html
        assert "data-refresh" in html
        assert '<noscript><meta http-equiv="refresh"' in html


def test_a_row_whose_lease_has_ended_goes_to_someone_else_and_both_votes_are_kept(
    tmp_path: Path,
) -> None:
    with new_session(tmp_path, label_budget=1) as session, page_of(session) as page:
        leases = session._dispatcher.leases
        leases.clock = lambda: time.time() + 601  # after that of the owner, made with the session
        late = form_of(page.get("/", "annotator").text)
        assert "with other people" in page.get("/").text
        leases.clock = lambda: time.time() + 1202
        assert form_of(page.get("/").text)["row"] == late["row"]
        answer(page)
        assert page.post("/vote", "annotator", **late, label="0").status_code == 303
        assert [name for _, name, _ in votes(page)] == ["owner", "annotator"]
        session.wait()


def test_a_budget_has_a_bar(tmp_path: Path) -> None:
    with new_session(tmp_path, label_budget=20) as session, page_of(session) as page:
        assert '<progress value="1" max="20"' in answer(page)
        session.wait()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NotSaved("No space left on device", 12), "12 journal lines, is safe"),
        (SessionStopped("journal.txt", "Input/output error", 9), "first 9 lines of journal.txt"),
    ],
)
def test_a_disk_that_fails_is_reported_with_what_is_safe(
    page: OpenPage, monkeypatch: pytest.MonkeyPatch, error: Exception, text: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    form = {**form_of(page.get("/").text), "label": "0"}
    monkeypatch.setattr(page.session, "vote", fail)
    response = page.post("/vote", **form)
    assert response.status_code == 503
    assert "Not saved" in response.text
    assert text in response.text


def test_a_fault_of_ours_tells_a_visitor_nothing(
    page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(page.session, "progress", fail)
    page.client._client._transport.raise_app_exceptions = False  # type: ignore[attr-defined]
    response = page.get("/")
    assert response.status_code == 500
    assert "secret detail" not in response.text


# -- what a row looks like ----------------------------------------------------------------------


def frame(**columns: Any) -> pd.DataFrame:
    n_rows = 30
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"number": rng.standard_normal(n_rows), "other": rng.random(n_rows)})
    return table.assign(**{name: [value] * n_rows for name, value in columns.items()})


def test_texts_are_shown_in_full_with_their_lines_and_escapes_visible(tmp_path: Path) -> None:
    text = "line one\nline two\x1b[2J " + "word " * 500
    with new_session(tmp_path, frame(body=text)) as session, page_of(session) as page:
        html = page.get("/").text
        assert "line one\nline two\\x1b[2J word" in html
        assert html.count("word ") == 500


def test_many_columns_are_folded_with_their_count(tmp_path: Path) -> None:
    pool = np.random.default_rng(0).standard_normal((30, 300))
    with new_session(tmp_path, pool) as session, page_of(session) as page:
        html = page.get("/").text
        assert html.count("<dt>") == N_FIRST + N_MORE
        before, _, after = html.partition("<details>")
        assert (before.count("<dt>"), after.count("<dt>")) == (N_FIRST, N_MORE)
        assert "200 more columns" in html
        assert "76 columns not shown" in html


def test_a_picture_of_pixels_is_shown_to_whoever_labels_the_row(tmp_path: Path) -> None:
    pixels = " ".join(str(i % 256) for i in range(784))
    with new_session(tmp_path, frame(pixels=pixels)) as session, page_of(session) as page:
        html = page.get("/", "annotator").text
        (address,) = re.findall(r'<img src="([^"]+)"', html)
        response = page.get(address.replace("&amp;", "&"), "annotator")
        assert response.headers["content-type"] == "image/png"
        assert response.content.startswith(b"\x89PNG")
        assert "<dd>0 1 2" not in html


def test_a_picture_is_read_below_the_root_alone(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    Image.new("L", (20, 20)).save(tmp_path / "root" / "cat.png")
    Image.new("L", (20, 20)).save(tmp_path / "secret.png")
    pool = frame(good="cat.png", bad="../secret.png")
    root = tmp_path / "root"
    with new_session(tmp_path, pool) as session, page_of(session, images_root=root) as page:
        row = form_of(page.get("/").text)["row"]
        assert page.get(f"/image?row={row}&column=good").status_code == 200
        bad = page.get(f"/image?row={row}&column=bad")
        assert bad.status_code == 404
        assert "outside the folder of pictures" in bad.text


def test_text_ids_and_numbers_are_told_apart(tmp_path: Path) -> None:
    pool = frame(row_name="").assign(row_name=[f"{i} <&\" ' é" for i in range(30)])
    with new_session(tmp_path, pool, id_column="row_name") as session, page_of(session) as page:
        html = page.get("/").text
        question = session.next_question("owner")
        assert question is not None
        import html as html_module

        key = html_module.unescape(form_of(html)["row"])
        form = {"row": key, "request": "r", "label": "0"}
        assert page.post("/vote", **form).status_code == 303
        assert votes(page) == [(question.row_id, "owner", "no")]
