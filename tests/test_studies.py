"""The studies' pages show what their cells say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

STUDIES = Path(__file__).parents[1] / "docs" / "studies"
PAGES = sorted(STUDIES.glob("*.md"))


def load_studies() -> ModuleType:
    spec = importlib.util.spec_from_file_location("studies", STUDIES / "studies.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)  # the pages' scripts import one another
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_tables_are_made_from_the_cells(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert load_studies().with_tables(text) == text


def test_every_table_stands_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"<!-- table {name} -->" in pages for name in load_studies().TABLES)


def test_a_wrong_number_in_a_table_is_noticed() -> None:
    page = "<!-- table suite -->\n| attack |\n<!-- end -->"
    assert load_studies().with_tables(page) != page


def current_and_stale() -> ModuleType:
    return load_studies().freshness


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.csv")), ids=lambda path: path.stem)
def test_a_study_comes_from_todays_code_or_is_named_as_stale(path: Path) -> None:
    found = current_and_stale()
    assert found.is_current(path.stem) != (path.stem in found.STALE)


def test_what_is_named_as_stale_exists() -> None:
    found = current_and_stale()
    assert found.STALE.keys() <= set(found.studies())


def test_a_line_without_a_source_of_today_is_not_current(tmp_path: Path) -> None:
    found = current_and_stale()
    today = found.source_digest(found.EVERY_SOURCE[0])
    for name, sources in {"new": [today, today], "mixed": [today, "old"], "none": []}.items():
        lines = "".join(f"1,{source}\n" for source in sources)
        (tmp_path / f"{name}.csv").write_text(f"error,source\n{lines}")
    (tmp_path / "before.csv").write_text("error\n1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cells.HERE", tmp_path)
        judged = {path.stem: found.is_current(path.stem) for path in tmp_path.glob("*.csv")}
    assert judged == {"new": True, "mixed": False, "none": False, "before": False}
