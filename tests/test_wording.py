"""Names as they stand in messages and figures."""

from __future__ import annotations

import pytest

from thresher.wording import one_line, shortened, visible


@pytest.mark.parametrize("length", [5, 6, 30])
def test_a_shortened_text_has_the_length_asked_for(length: int) -> None:
    text = shortened("a name that is far too long to be written beside a bar", length)
    assert len(text) == length
    assert text.startswith("a") and text.endswith("r")


def test_a_short_text_stays_as_it_is() -> None:
    assert shortened("mean radius") == "mean radius"


def test_a_text_of_several_lines_becomes_one() -> None:
    assert one_line(" mean\n\tradius ") == "mean radius"


@pytest.mark.parametrize(
    "character", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\n", "\r", "\u202e", "\u2066", "\udcff"]
)
def test_what_steers_a_terminal_is_escaped(character: str) -> None:
    shown = visible(f"a{character}b")
    assert shown.isprintable() and shown.isascii()
    assert shown.startswith("a\\") and shown.endswith("b")
    assert one_line(f"a{character}b").isprintable()


@pytest.mark.parametrize("text", ["größe (µm) ≤ 3", "年齢", "prix\xa0net", "naïve 🙂", ""])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
