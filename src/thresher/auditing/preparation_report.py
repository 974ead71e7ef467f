"""What was done with the columns of a file, in words."""

import shlex
import textwrap
from dataclasses import replace

from thresher.preparation import IDS, Filled, Numbers, TablePreparation
from thresher.rendering.text import Column, format_columns
from thresher.table_files import LabeledTable
from thresher.wording import count, one_line, quoted, some

MAX_COLUMNS = 5  # that are named in a sentence
MAX_LINES = 40  # of the table
WIDTHS = (15, 20, 27, 9, 9)  # characters of its cells, or more where the line has room
LINE = 74  # characters of all cells: 80 less the indent and the gaps


def describe_preparation(table: LabeledTable) -> str:
    """What was recognized about a file, and what was done with each of its columns.

    Columns of complete numbers are only counted; it is empty if there are no others.
    """
    parts = list(table.remarks)
    if table.preparation is not None:
        parts.append(_columns(table.preparation))
    return "\n".join(parts)


def _columns(preparation: TablePreparation) -> str:
    shown = preparation_table(preparation)
    n_others = len(shown[0].cells)
    n_plain = len(preparation.columns) - n_others
    shown = [replace(column, cells=column.cells[:MAX_LINES]) for column in shown]
    short = [
        replace(column, cells=[one_line(cell, width) for cell in column.cells])
        for column, width in zip(shown, _widths(shown))
    ]
    more = f"\nand {n_others - MAX_LINES:,} more" if n_others > MAX_LINES else ""
    lines = [textwrap.indent(f"{format_columns(short, gap=1)}{more}", "  ")] if n_others else []
    if n_plain:
        lines.append(f"{count(n_plain, 'column')} of complete numbers.")
    if ids := [column.name for column in preparation.left_out if column.reason == IDS]:
        lines.append(f"To name rows by {ids[0]!r}, pass --id-column {shlex.quote(ids[0])}.")
    return "\n".join(lines)


def _widths(columns: list[Column]) -> list[int]:
    """The width of each column: what it needs, unless the line is full."""
    needed = [max(map(len, (column.title, *column.cells))) for column in columns]
    widths = [min(pair) for pair in zip(needed, WIDTHS)]
    for place, width in enumerate(needed):
        widths[place] += min(width - widths[place], max(0, LINE - sum(widths)))
    return widths


def preparation_table(preparation: TablePreparation) -> list[Column]:
    """What was seen and done, a line for each column that is not one of complete numbers."""
    others = [c for c in preparation.columns if type(c) is not Numbers or c.has_gaps]
    return [
        Column("column", [column.name for column in others], "<"),
        Column("what was seen", [column.seen for column in others], "<"),
        Column("what was done", [column.done for column in others], "<"),
        Column("missing", [count(column.n_missing) for column in others]),
        Column("stray", [count(column.n_stray) for column in others]),
    ]


def describe_filled(filled: Filled) -> list[str]:
    """What a table for prediction had that its preparation had to bridge, one sentence each.

    Examples
    --------
    >>> for line in describe_filled(Filled({"age": 2}, {}, {"city": {"Rom": 3}})):
    ...     print(line)
    2 missing cells filled in: 'age' (2)
    3 cells with categories that training did not have: 'city' ('Rom')
    >>> first = {"age": "'forty' instead of a number in row 7"}
    >>> print(*describe_filled(Filled({}, {"age": 2}, {}, first)))
    2 unreadable cells filled in: 'age' (2, the first is 'forty' instead of a number in row 7)
    """
    lines = []
    for cells, what in ((filled.missing, "missing"), (filled.stray, "unreadable")):
        if cells:
            first = filled.first_stray if cells is filled.stray else {}
            named = [
                f"{name!r} ({n_cells:,}{f', the first is {first[name]}' if name in first else ''})"
                for name, n_cells in cells.items()
            ]
            total = count(sum(cells.values()), f"{what} cell")
            lines.append(f"{total} filled in: {some(named, limit=MAX_COLUMNS)}")
    if filled.unseen:
        n_cells = sum(sum(values.values()) for values in filled.unseen.values())
        named = [f"{name!r} ({quoted(v, limit=3)})" for name, v in filled.unseen.items()]
        found = some(named, limit=MAX_COLUMNS)
        what = "a category" if n_cells == 1 else "categories"
        lines.append(f"{count(n_cells, 'cell')} with {what} that training did not have: {found}")
    return lines
