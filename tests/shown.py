"""What a document shows of a program, against what the program prints."""

from __future__ import annotations

import contextlib
import io
import re


def says_the_same(printed: str, shown: str) -> bool:
    """Whether the words agree, and each number to a tenth (or .004): machines round differently."""
    number = r"\d+(?:\.\d+)?"
    if re.sub(number, "#", printed) != re.sub(number, "#", shown):
        return False
    pairs = zip(re.findall(number, printed), re.findall(number, shown), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.1 * float(b), 0.004) for a, b in pairs)


def printed_by(code: str) -> str:
    """What a program prints that needs no process of its own."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "shown", "exec"), {"__name__": "__main__"})
    return printed.getvalue()
