"""Seeds as people write them."""

from __future__ import annotations

from collections.abc import Iterable

MAX_SEEDS = 10_000


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds that a text means: how many, from 0 on, or a list of seeds and ranges.

    Raises
    ------
    ValueError : the text is neither, or means more than 10,000 seeds

    Examples
    --------
    >>> parse_seeds("3"), parse_seeds("0-2,7")
    ((0, 1, 2), (0, 1, 2, 7))
    """
    if _is_number(text.strip()):
        seeds = [range(int(text))]
    else:
        ends = [[end.strip() for end in part.split("-")] for part in text.split(",")]
        if not all(len(part) <= 2 and all(map(_is_number, part)) for part in ends):
            raise _refused(text)
        seeds = [range(int(part[0]), int(part[-1]) + 1) for part in ends]
    n_seeds = sum(part.stop - part.start for part in seeds)
    if not all(seeds) or n_seeds > MAX_SEEDS:
        raise _refused(text)
    return tuple(dict.fromkeys(seed for part in seeds for seed in part))


def format_seeds(seeds: Iterable[int]) -> str:
    """The distinct seeds in order, with ranges for those that follow one another.

    Examples
    --------
    >>> format_seeds([7, 0, 1, 2, 2]), format_seeds([])
    ('0-2, 7', 'none')
    """
    ranges: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1][1:] = [seed]
        else:
            ranges.append([seed])
    return ", ".join("-".join(map(str, ends)) for ends in ranges) or "none"


def _is_number(text: str) -> bool:
    # Python refuses to read a number of thousands of digits, and no seed needs them.
    return text.isascii() and text.isdigit() and len(text) <= 100


def _refused(text: str) -> ValueError:
    return ValueError(
        f"seeds must be a number of seeds from 1 to {MAX_SEEDS}, or a list like 0-9 or 1,5,7; "
        f"got {text!r}"
    )
