"""Names and counts as they stand in messages."""

import difflib
import re
from collections.abc import Iterable, Sequence

MISSING = "-"
COMPARE = "To predict whether a number is large, compare it with a threshold first"
NO_BREAK_SPACE = "\xa0"  # is not printable to Python


def visible(text: object, keep: str = "") -> str:
    r"""The text with escapes in place of characters that cannot be seen, or that steer a terminal.

    These are control characters, among them line breaks and the ESC of color codes, marks that turn
    the direction of writing, and what is not valid Unicode.

    Parameters
    ----------
    text : of any origin
    keep : such characters that stay

    Examples
    --------
    >>> print(visible("\x1b[2J\u202eegap\n"))
    \x1b[2J\u202eegap\n
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    kept = keep + NO_BREAK_SPACE
    return "".join(c if c.isprintable() or c in kept else _escape(c) for c in shown)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


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
    """The text on one line, visible and shortened.

    Examples
    --------
    >>> one_line(ValueError("two  spaces\\nand a line"))
    'two spaces and a line'
    """
    return shortened(visible(" ".join(str(text).split())), length)


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
    >>> nearest("nope", ["income", "label"])
    "it has 'income', 'label'"
    """
    return did_you_mean(name, names) or f"it has {quoted(names, limit=10)}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The names that are spelled nearly like this one, as a question; empty if none is.

    Examples
    --------
    >>> did_you_mean("--sprasity", ["--seed", "--sparsity"])
    "did you mean '--sparsity'?"
    """
    lowered = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.65)
    meant = " or ".join(quoted([lowered[match]]) for match in close)
    return f"did you mean {meant}?" if meant else ""


def has_controls(text: str) -> bool:
    """Whether a text has control characters other than tabs and line ends; no model may have them.

    Examples
    --------
    >>> has_controls("red\\x1b[31m"), has_controls("né\\n")
    (True, False)
    """
    return re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text) is not None
