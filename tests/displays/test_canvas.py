"""Short counts and ticks."""

from __future__ import annotations

import pytest

from displays.pictures import bare_axes
from thresher.displays.canvas import brief_count, number_phases


@pytest.mark.parametrize("n", [0, 7, 99_999, 100_000, 999_499, 999_500, 123_456_789])
def test_counts_are_brief(n: int) -> None:
    assert len(brief_count(n)) <= 6


def test_of_many_phases_only_some_are_numbered() -> None:
    axes = bare_axes(1)
    number_phases(axes, 25)
    assert [text.get_text() for text in axes.get_xticklabels()] == [str(k) for k in range(1, 26, 3)]
