"""Aligned tables in plain text, and the numbers in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TextIO

from thresher.wording import MISSING, visible


@dataclass(frozen=True)
class Column:
    """A title of one or more lines, and the cells below it.

    Parameters
    ----------
    title : lines separated by line breaks; shorter titles sit on the last line of the head
    cells : one string for each row
    align : ">" for numbers, "<" for words

    Examples
    --------
    >>> Column("n", ["1", "20"]).lines(n_title=1)
    [' n', ' 1', '20']
    """

    title: str
    cells: Sequence[str]
    align: str = ">"

    def lines(self, n_title: int) -> list[str]:
        """Title and cells, padded to the same width."""
        title = self.title.split("\n")
        lines = [""] * (n_title - len(title)) + title + [visible(cell) for cell in self.cells]
        width = max(map(len, lines))
        return [f"{line:{self.align}{width}}" for line in lines]


def format_columns(columns: Sequence[Column], *, gap: int = 2) -> str:
    """The columns side by side, without trailing blanks.

    Examples
    --------
    >>> phases, paid = Column("phase", ["1", "2"], "<"), Column("labels\\npaid", ["1,200", "8"])
    >>> print(format_columns([phases, paid]))
           labels
    phase    paid
    1       1,200
    2           8
    """
    n_title = max(column.title.count("\n") + 1 for column in columns)
    parts = [column.lines(n_title) for column in columns]
    rows = zip_longest(*parts, fillvalue="")
    return "\n".join((" " * gap).join(row).rstrip() for row in rows)


def say(text: object = "", *, end: str = "\n", file: TextIO | None = None) -> None:
    r"""Print a text, on standard output by default; nothing in it can steer the terminal.

    Examples
    --------
    >>> say("two\nlines, and \x1b[31mno color")
    two
    lines, and \x1b[31mno color
    """
    print(visible(text, keep="\n"), end=end, file=file, flush=True)


# -- numbers -----------------------------------------------------------------------------------


def share(value: float | None) -> str:
    """A percentage with one decimal.

    Examples
    --------
    >>> share(0.0512)
    '5.1%'
    """
    return MISSING if value is None else f"{value:.1%}"


def rate(value: float | None) -> str:
    """An error rate with four decimals, in scientific notation below 0.0005.

    Examples
    --------
    >>> rate(0.01234), rate(0.0000081), rate(0.0)
    ('0.0123', '8.1e-06', '0.0000')
    """
    if value is None:
        return MISSING
    return f"{value:.1e}" if 0 < value < 0.0005 else f"{value:.4f}"


def plain_number(value: float) -> str:
    """A number with six digits, and a large one without an exponent.

    Examples
    --------
    >>> plain_number(0.0128461538), plain_number(563000.0), plain_number(1e20)
    ('0.0128462', '563,000', '1e+20')
    """
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.6g}"


def decimals(n_digits: int) -> Callable[[float | None], str]:
    """A function that formats numbers with this many decimals.

    Examples
    --------
    >>> decimals(2)(3.14159)
    '3.14'
    """
    return lambda value: MISSING if value is None else f"{value:,.{n_digits}f}"
