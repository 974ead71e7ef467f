"""Names and counts as they stand in messages."""

import difflib
import re
from collections.abc import Iterable, Sequence

MISSING = "-"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # all but tabs and line ends


def has_controls(text: str) -> bool:
    """Whether a terminal that shows the text would do more than show it.

    Examples
    --------
    >>> has_controls("red\\x1b[31m"), has_controls("né\\n")
    (True, False)
    """
    return _CONTROL.search(text) is not None


def shortened(text: str, length: int = 40) -> str:
    """The text, with an ellipsis in its middle if it is longer than that.

    Its middle, because the names of features often differ in their endings.

    Examples
    --------
    >>> shortened("worst concave points of the cell nucleus (2)", 21)
    'worst conc…ucleus (2)'
    """
    if len(text) <= length:
        return text
    head = length // 2
    return text[:head] + "…" + text[len(text) - (length - 1 - head) :]


def one_line(text: object, length: int = 40) -> str:
    """The text on one line, shortened.

    Examples
    --------
    >>> one_line(ValueError("two  spaces\\nand a line"))
    'two spaces and a line'
    """
    return shortened(" ".join(str(text).split()), length)


def quoted(names: Iterable[object], *, limit: int | None = None) -> str:
    """The names in quotes, all or the first few.

    Examples
    --------
    >>> quoted(["age", "height"])
    "'age', 'height'"
    >>> quoted("abcd", limit=2)
    "'a', 'b' and 2 more"
    """
    return some((repr(shortened(str(name))) for name in names), limit=limit)


def some(words: Iterable[str], *, limit: int | None = None) -> str:
    """The words with commas between them, all or the first few.

    Examples
    --------
    >>> some(["one", "two", "three"], limit=1)
    'one and 2 more'
    """
    listed = list(words)
    shown = ", ".join(listed[:limit])
    n_left = 0 if limit is None else len(listed) - limit
    return f"{shown} and {n_left:,} more" if n_left > 0 else shown


def count(value: float | None, noun: str = "") -> str:
    """A whole number with thousands separators, and what it counts.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row"), count(1234567.0), count(None)
    ('1 row', '2,000 rows', '1,234,567', '-')
    """
    number = MISSING if value is None else f"{value:,.0f}"
    return f"{number} {noun}{'' if value == 1 else 's'}" if noun else number


def nearest(name: str, names: Sequence[str]) -> str:
    """What may have been meant, as a clause; else the first few names there are.

    Examples
    --------
    >>> nearest("lable", ["age", "label"])
    "did you mean 'label'?"
    >>> nearest("spam", ["age", "label"])
    "it has 'age', 'label'"
    """
    lowered = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(quoted([lowered[match]]) for match in close) + "?"
    return f"it has {quoted(names, limit=10)}"
