"""Thresher's compact docstrings as numpydoc wants them.

A parameter is one sentence, `name : what it is`, which may go on in indented lines. numpydoc takes
what follows the colon for a type and the rest for the description, and would cut the sentence in
two. So the sentence is put below the name, unless it is a type: those have a default behind them.
Mathematics in the text has bars and ends of names that reStructuredText would take for its own.
"""

from __future__ import annotations

import re
from typing import Any

LISTS = ("Parameters", "Attributes", "Returns", "Raises")
ENTRY = re.compile(r"(?P<names>[*\w., ]+?) : (?P<text>.+)")
CODE = re.compile(r"(`+[^`]*`+)")


def sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The docstring in parts, each with its heading; the first has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line, below in zip(lines, [*lines[1:], ""]):
        if line.strip() and set(below.strip()) == {"-"}:
            found.append((line.strip(), []))
        found[-1][1].append(line)
    return found


def expanded(lines: list[str]) -> list[str]:
    """The lines of a list with every compact entry's sentence below its name."""
    result = []
    for line in lines:
        entry = ENTRY.fullmatch(line)
        if entry is None or "default=" in line:
            result.append(line)
        else:
            result += [entry["names"], "    " + entry["text"]]
    return result


def escaped(line: str) -> str:
    """The line with its bars and its names' last underscores as they are, outside of code."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = CODE.split(line)
    parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def rewritten(lines: list[str]) -> list[str]:
    """The whole docstring as numpydoc wants it."""
    result = []
    for heading, content in sections(lines):
        if heading in LISTS:
            content = expanded(content)
            content = [escaped(x) if x.startswith(" ") else x for x in content]
        elif heading != "Examples":
            content = [escaped(line) for line in content]
        result += content
    return result


def _process(_app: Any, _what: str, _name: str, _obj: Any, _opts: Any, lines: list[str]) -> None:
    lines[:] = rewritten(lines)


def _skip(_app: Any, _what: str, _name: str, obj: Any, skip: bool, _opts: Any) -> bool:
    # What scikit-learn adds to a class is explained there, with links that lead nowhere from here.
    return skip or str(getattr(obj, "__module__", "")).startswith("sklearn")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _process, priority=400)  # numpydoc has 500
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
