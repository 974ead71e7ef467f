"""The report about a table: whole, honest, and readable in a real browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

from browser import look_at, needs_browser, print_to_pdf
from cli_tables import N_PLANTED, NAMES, poisoned
from estimators.small import examine_quickly
from thresher import auditing
from thresher.auditing import Audit
from thresher.auditing.html_report import _setting, make_page
from thresher.table_files import LabeledTable

HOSTILE_NAMES = ['<script>alert("x")</script>', "a & b", "naïve\u202e", "x" * 300, *NAMES[4:]]


def audit_of(
    names: list[str], label: str = "answer", sparsities: tuple[int, ...] = (1, 2)
) -> Audit:
    data = poisoned()
    ids = np.array([f"r{i}" for i in range(len(data.y))])
    table = LabeledTable(data.X, data.y, names, ids, label)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditing, "examine", examine_quickly)
        options = {"name": "mail.csv", "final_fit": "auto", "sparsities": sparsities}
        return auditing.audit_table(table, noise_rate=0.1, **options)


@pytest.fixture(scope="module")
def page() -> str:
    return make_page(audit_of(NAMES))


def test_the_page_needs_nothing_but_itself(page):
    assert not re.search(r"(?:src|href)=[\"'](?!data:)", page)
    assert "url(" not in page
    assert "@import" not in page


def test_the_page_says_what_was_assumed_proven_and_not_proven(page):
    for title in ("Assumed", "Proven, and verified by an independent checker", "Not proven"):
        assert f"<h3>{title}</h3>" in page


def test_the_page_says_which_model_and_rows_each_error_is_about(page):
    first = page.index("held-out error of the audit&#x27;s model")
    assert first < page.index("held-out error of this model")
    assert "counts all rows alike, and is of another model: the " in page


def test_settings_have_few_digits():
    assert (_setting(0.1324627131405683), _setting(3)) == ("0.1325", "3")


def test_the_page_lists_the_suspects_with_their_ids(page):
    ids = re.search(r"most suspicious first</summary><p>([^<]+)</p>", page)[1].split(", ")
    planted = {f"r{i}" for i in np.flatnonzero(poisoned().is_planted)}
    assert len(planted & set(ids[:N_PLANTED])) >= 0.95 * N_PLANTED


def test_hostile_names_stay_text():
    page = make_page(audit_of(HOSTILE_NAMES, label="<b>y</b>", sparsities=(2,)))
    assert "<script" not in page
    assert "<b>y</b>" not in page
    assert "a &amp; b" in page


@needs_browser
@pytest.mark.parametrize("width", [1200, 500])
def test_a_browser_draws_every_picture_and_asks_for_nothing(page, width):
    seen = look_at(page, width=width)
    assert seen["width"] == width
    assert seen["images"] == seen["drawn"] == seen["described"] == 6
    assert seen["requests"] == []
    assert seen["failures"] == []
    assert seen["scrollWidth"] <= width  # tables scroll by themselves


@needs_browser
def test_a_page_that_loads_something_is_noticed():
    seen = look_at('<img src="http://127.0.0.1:9/missing.png" alt="nothing to see here">')
    assert seen["drawn"] == 0
    assert len(seen["requests"]) == 1


@needs_browser
def test_the_page_can_be_printed(page):
    assert print_to_pdf(page).startswith(b"%PDF")
