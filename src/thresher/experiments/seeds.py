"""Seeds as people write them."""

from __future__ import annotations

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
    if _is_number(text):
        seeds = [range(int(text))]
    else:
        ends = [part.partition("-") for part in text.replace(" ", "").split(",")]
        if not all(_is_number(a) and (_is_number(b) or not dash) for a, dash, b in ends):
            raise _refused(text)
        seeds = [range(int(a), int(b if dash else a) + 1) for a, dash, b in ends]
    n_seeds = sum(part.stop - part.start for part in seeds)
    if not all(seeds) or n_seeds > MAX_SEEDS:
        raise _refused(text)
    return tuple(dict.fromkeys(seed for part in seeds for seed in part))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _refused(text: str) -> ValueError:
    return ValueError(
        f"seeds must be a number of seeds from 1 to {MAX_SEEDS}, or a list like 0-9 or 1,5,7; "
        f"got {text!r}"
    )
