"""Seeds as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.experiments.seeds import MAX_SEEDS, format_seeds, parse_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        (" 3 ", (0, 1, 2)),
        ("3-3", (3,)),
        ("1,5", (1, 5)),
        ("0-2, 7", (0, 1, 2, 7)),
        ("5 - 6", (5, 6)),
        ("4,2-5", (4, 2, 3, 5)),
        (f"{MAX_SEEDS}", tuple(range(MAX_SEEDS))),
        ("1" * 30 + ",0", (int("1" * 30), 0)),
    ],
)
def test_seeds_are_read_as_written(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "7,", "-1", "5-3", "1-2-3", "1 2", "a", "1.5", "1,,2", "²", "٣"),
        *(f"{MAX_SEEDS + 1}", "0-10000", "0-9999,10000", "9" * 5000, "0-" + "9" * 5000),
    ],
)
def test_anything_else_is_refused_with_what_may_be(text: str) -> None:
    with pytest.raises(ValueError, match="number of seeds from 1 to 10000, or a list like"):
        parse_seeds(text)


@given(st.text(alphabet="0123456789-, ", max_size=12) | st.text(max_size=5))
def test_any_text_gives_distinct_seeds_or_a_typed_error(text: str) -> None:
    try:
        seeds = parse_seeds(text)
    except ValueError:
        return
    assert 0 < len(seeds) == len(set(seeds)) <= MAX_SEEDS


@given(st.sets(st.integers(0, 300), min_size=2, max_size=30))
def test_what_is_written_is_read_back_in_order(seeds: set[int]) -> None:
    assert parse_seeds(format_seeds(seeds)) == tuple(sorted(seeds))
