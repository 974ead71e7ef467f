"""Names as they stand in messages and figures."""

from __future__ import annotations

import pytest

from thresher.wording import one_line, shortened


@pytest.mark.parametrize("length", [5, 6, 30])
def test_a_shortened_text_has_the_length_asked_for(length: int) -> None:
    text = shortened("a name that is far too long to be written beside a bar", length)
    assert len(text) == length
    assert text.startswith("a") and text.endswith("r")


def test_a_short_text_stays_as_it_is() -> None:
    assert shortened("mean radius") == "mean radius"


def test_a_text_of_several_lines_becomes_one() -> None:
    assert one_line(" mean\n\tradius ") == "mean radius"
