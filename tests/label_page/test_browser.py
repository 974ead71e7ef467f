"""The page in a real browser, as people use it."""

from __future__ import annotations

import http.server
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import CHROMIUM, needs_browser
from label_page.injections import PAYLOADS, StubSession
from label_page.pages import PATIENT, new_session
from label_page.served import Served, served, start, started
from thresher.label_sessions import learner

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
pytestmark = [pytest.mark.slow, needs_browser]

WIDTHS = (1200, 500, 360)
CHANGED = "before => document.querySelector('h1').innerText !== before"
PAUSE_MS = 170  # after a new row, keys count as double presses for 150 ms


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=root)
        yield browser
        browser.close()


@contextmanager
def tab(browser: Any, link: str, **options: Any) -> Iterator[Any]:
    """A new browser window that follows a personal link; nothing may go wrong in it."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("dialog", lambda dialog: page.problems.append(dialog.message))
    page.on("console", lambda message: page.problems.append(message.text))
    page.requests = []
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(link)
    page.wait_for_selector(".row")
    yield page
    context.close()


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """A table whose first column decides the label."""
    X = np.random.default_rng(0).standard_normal((300, 4)).round(3)
    path = tmp_path / "pool.csv"
    lines = [",".join(map(str, row)) for row in X.tolist()]
    path.write_text("\n".join(["decides,b,c,d", *lines]) + "\n", encoding="utf-8")
    return path


def is_positive(page: Any) -> bool:
    cells = page.eval_on_selector_all(
        ".values div", "parts => parts.map(p => [p.children[0].innerText, p.children[1].innerText])"
    )
    return float(dict(cells)["decides"]) > 0


def press(page: Any, key: str) -> float:
    """Press a key, and seconds until the next row is there."""
    page.wait_for_timeout(PAUSE_MS)
    before = page.inner_text("h1")
    began = time.perf_counter()
    page.keyboard.press(key)
    page.wait_for_function(CHANGED, arg=before)
    return time.perf_counter() - began


def label(page: Any, n_rows: int) -> list[str]:
    """Label rows by keyboard; their headings."""
    rows = []
    for _ in range(n_rows):
        page.wait_for_selector(".row")
        rows.append(page.inner_text("h1").split()[1])
        press(page, "2" if is_positive(page) else "1")
    return rows


def votes(session: Path) -> dict[str, tuple[str, str]]:
    """The journal's own word: row, who and what."""
    lines = (session / "journal.txt").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line[42:]) for line in lines]
    chosen = [event for event in events if event["event"] == "vote"]
    return {str(event["row"]): (event["annotator"], event["label"]) for event in chosen}


def expected(pool: Path, row: str) -> str:
    first = pool.read_text(encoding="utf-8").splitlines()[int(row) + 1].split(",")[0]
    return "yes" if float(first) > 0 else "no"


NEW = ("--classes", "no,yes", "--annotator", "ann")


def test_fifty_rows_are_labeled_by_keyboard(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with started(pool, session, *NEW) as command, tab(browser, command.link) as page:
        assert "token" not in page.url
        rows = label(page, 50)
        given = votes(session)
        assert len(set(rows)) == 50
        assert given == {row: ("ann", expected(pool, row)) for row in rows}
        assert "50 labels" in page.inner_text(".progress")
        assert page.problems == []
        assert all(address.startswith(command.address) for address in page.requests)


def test_a_reload_keeps_the_row_and_every_answer(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with started(pool, session, *NEW) as command, tab(browser, command.link) as page:
        label(page, 5)
        row = page.inner_text("h1")
        for _ in range(3):
            page.reload()
            assert page.inner_text("h1") == row
        assert len(votes(session)) == 5
        assert "5 labels" in page.inner_text(".progress")


def test_keys_skip_undo_and_comment(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with started(pool, session, *NEW) as command, tab(browser, command.link) as page:
        first = page.inner_text("h1")
        press(page, "1")
        press(page, "u")
        assert page.inner_text("h1") == first
        press(page, "s")
        page.wait_for_timeout(PAUSE_MS)
        page.keyboard.press("c")
        page.keyboard.type("12 us <b>odd</b>")
        page.keyboard.press("Enter")
        press(page, "2")
        assert "<b>odd</b>" in (session / "journal.txt").read_text(encoding="utf-8")
        assert len(votes(session)) == 2  # one of them was taken back


def test_a_double_press_is_one_answer(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with started(pool, session, *NEW) as command, tab(browser, command.link) as page:
        page.wait_for_timeout(PAUSE_MS)
        before = page.inner_text("h1")
        for _ in range(2):
            page.keyboard.press("1")
        page.wait_for_function(CHANGED, arg=before)
        page.keyboard.press("1")
        page.wait_for_timeout(300)
        assert len(votes(session)) == 1


def test_two_people_label_different_rows_at_once(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with started(pool, session, *NEW) as command, tab(browser, command.link) as ann:
        ann.goto(command.address + "/session")
        ann.fill("#new-name", "ben")
        ann.click("text=Make a link")
        link = ann.input_value(".link")
        ann.goto(command.address)
        with tab(browser, link) as ben:
            assert not ben.query_selector("nav a")
            rows: dict[str, list[str]] = {"ann": [], "ben": []}
            for _ in range(20):
                for name, page in (("ann", ann), ("ben", ben)):
                    rows[name] += label(page, 1)
            assert not set(rows["ann"]) & set(rows["ben"])
            given = votes(session)
            assert {row: who for row, (who, _) in given.items()} == {
                row: name for name, all_ in rows.items() for row in all_
            }
            ann.goto(command.address + "/session")
            ann.click("text=Revoke")
            ann.wait_for_selector("text=Revoke", state="detached")
            ben.reload()
            assert "Not signed in" in ben.inner_text("h1")


def test_a_killed_server_costs_no_answer(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    command = start(pool, session, *NEW)
    try:
        with tab(browser, command.link) as page:
            rows = label(page, 12)
            command.end()
            rows.append(page.inner_text("h1").split()[1])
            before = page.inner_text("h1")
            page.wait_for_timeout(PAUSE_MS)
            page.keyboard.press("2" if is_positive(page) else "1")
            page.wait_for_selector("#status.problem")
            assert "Not saved yet" in page.inner_text("#status")
            assert len(votes(session)) == 12
            command = start(pool, session, "--annotator", "ann", "--port", str(command.port))
            page.wait_for_function(CHANGED, arg=before)
            rows += label(page, 12)
            assert votes(session) == {row: ("ann", expected(pool, row)) for row in rows}
            assert len(rows) == len(set(rows)) == 25
    finally:
        command.end()


def test_ctrl_c_ends_cleanly_and_says_what_is_saved(
    browser: Any, pool: Path, tmp_path: Path
) -> None:
    command = start(pool, tmp_path / "session", *NEW)
    with tab(browser, command.link) as page:
        label(page, 3)
        said = command.end(signal.SIGINT)
    assert command.process.returncode == 0
    assert "3 labels saved" in said


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_the_screen(browser: Any, pool: Path, tmp_path: Path, width: int) -> None:
    size = {"width": width, "height": 740}
    narrow = {"viewport": size, "has_touch": width < 1000, "is_mobile": width < 1000}
    with (
        started(pool, tmp_path / "session", *NEW) as command,
        tab(browser, command.link, **narrow) as page,
    ):
        for path in ("/", "/session", "/suspects", "/row?row=1", "/nothing"):
            page.goto(command.address + path)
            page.wait_for_selector("h1")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.goto(command.address)
        before = page.inner_text("h1")
        (page.tap if width < 1000 else page.click)(".classes button")
        page.wait_for_function(CHANGED, arg=before)
        buttons = page.eval_on_selector_all(
            "button:not([hidden])", "all => all.map(b => b.getBoundingClientRect().height)"
        )
        assert min(buttons) >= 44
        bottom = page.eval_on_selector(".answer", "part => part.getBoundingClientRect().bottom")
        assert bottom <= 740


def test_people_on_other_machines_can_do_everything(
    browser: Any, pool: Path, tmp_path: Path
) -> None:
    # Over plain http, browsers do not say which site a form comes from, except to this machine.
    session = tmp_path / "session"
    with started(pool, session, *NEW, "--host", "0.0.0.0") as command:
        if command.address.startswith("http://127."):
            pytest.skip("needs a network address")
        with tab(browser, command.link) as page:
            (row,) = label(page, 1)
            page.goto(command.address + "/session")
            page.fill("#new-name", "ben")
            page.click("text=Make a link")
            page.wait_for_selector(".link")
            page.click("text=Revoke")
            page.wait_for_selector("text=Revoke", state="detached")
            page.goto(f"{command.address}/row?row={row}")
            page.click(".classes button")
            page.wait_for_url("**/session")
            assert '"resolve"' in (session / "journal.txt").read_text(encoding="utf-8")


def test_it_works_without_scripts(browser: Any, pool: Path, tmp_path: Path) -> None:
    session = tmp_path / "session"
    with (
        started(pool, session, *NEW) as command,
        tab(browser, command.link, java_script_enabled=False) as page,
    ):
        for _ in range(3):
            page.click(".classes button")
            page.wait_for_selector(".row")
        assert len(votes(session)) == 3


def test_a_link_on_another_site_leads_to_a_row(browser: Any, pool: Path, tmp_path: Path) -> None:
    with started(pool, tmp_path / "session", *NEW) as command, elsewhere(command.link) as other:
        context = browser.new_context()
        page = context.new_page()
        page.goto(other)
        page.click("a")
        page.wait_for_selector(".row")
        assert page.url == command.address + "/"
        page.goto(other)
        page.click("button")  # a form of the other site
        page.wait_for_timeout(300)
        assert not votes(tmp_path / "session")
        context.close()


@contextmanager
def elsewhere(link: str) -> Iterator[str]:
    """Another site with our link, and with a form that votes here."""
    vote = link.partition("/join")[0] + "/vote"
    form = f'<form method="post" action="{vote}"><button>go</button></form>'

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(f'<a href="{link}">label</a>{form}'.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


# -- in a thread of ours -----------------------------------------------------------------------


def owner_link(page: Served) -> str:
    return page.site.link(page.site.accounts.new_owner_link("owner"))


def test_nothing_in_a_table_is_executed(browser: Any, tmp_path: Path) -> None:
    session = StubSession(tmp_path)
    with served(session, PATIENT) as place, tab(browser, owner_link(place)) as page:
        for payload in PAYLOADS:
            session.payload = payload
            for path in ("/", "/session", "/suspects"):
                page.goto(place.site.address + path)
                assert page.evaluate("window.pwned") is None
        page.wait_for_timeout(100)
        assert page.problems == []
        assert [url for url in page.requests if not url.startswith(place.site.address)] == []


def test_the_next_row_does_not_wait_for_a_refit(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, end = learner.Snapshot.next_rows, threading.Event()

    def slowly(self: learner.Snapshot) -> Any:
        end.wait(60)
        return original(self)

    with new_session(tmp_path, np.random.default_rng(0).standard_normal((200, 3))) as session:
        session.wait()
        monkeypatch.setattr(learner.Snapshot, "next_rows", slowly)
        try:
            with served(session, PATIENT) as place, tab(browser, owner_link(place)) as page:
                while not session.progress().refitting:
                    press(page, "1")
                for _ in range(3):
                    press(page, "2")
                    assert session.progress().refitting
        finally:
            end.set()
