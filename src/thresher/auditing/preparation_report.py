"""What was done with the columns of a file, in words."""

import textwrap

from thresher.preparation import IDS, Filled, Numbers, TablePreparation
from thresher.rendering.text import Column, format_columns
from thresher.table_files import LabeledTable
from thresher.wording import count, one_line, quoted, some

MAX_COLUMNS = 5  # that are named in a sentence
MAX_LINES = 40  # of the table
WIDTHS = (18, 22, 29)  # characters of its cells


def describe_preparation(table: LabeledTable) -> str:
    """What was recognized about a file, and what was done with each of its columns.

    Columns of complete numbers are only counted; it is empty if there are no others.
    """
    parts = list(table.remarks)
    if table.preparation is not None:
        parts.append(_columns(table.preparation))
    return "\n".join(parts)


def _columns(preparation: TablePreparation) -> str:
    plain = [c for c in preparation.columns if type(c) is Numbers and not c.has_gaps]
    others = [c for c in preparation.columns if c not in plain]
    shown = others[:MAX_LINES]
    names, seen, done = WIDTHS
    lines = format_columns(
        [
            Column("column", [one_line(column.name, names) for column in shown], "<"),
            Column("what was seen", [one_line(column.seen, seen) for column in shown], "<"),
            Column("what was done", [one_line(column.done, done) for column in shown], "<"),
            Column("missing", [count(column.n_missing) for column in shown]),
            Column("stray", [count(column.n_stray) for column in shown]),
        ],
        gap=1,
    )
    more = f"\nand {len(others) - len(shown):,} more" if len(others) > len(shown) else ""
    ids = [c.name for c in preparation.left_out if c.reason == IDS][:1]
    hint = "".join(f"\nTo name rows by {name!r}, pass --id-column {name}." for name in ids)
    used = f"\n{count(len(plain), 'column')} of complete numbers." if plain else ""
    return textwrap.indent(f"{lines}{more}", "  ") + used + hint


def describe_filled(filled: Filled) -> list[str]:
    """What a table for prediction had that its preparation had to bridge, one sentence each.

    Examples
    --------
    >>> for line in describe_filled(Filled({"age": 2}, {}, {"city": {"Rom": 3}})):
    ...     print(line)
    2 missing cells filled in: 'age' (2)
    3 cells with categories that training did not have: 'city' ('Rom')
    """
    lines = []
    for cells, what in ((filled.missing, "missing"), (filled.stray, "unreadable")):
        if cells:
            named = [f"{name!r} ({n_cells:,})" for name, n_cells in cells.items()]
            total = count(sum(cells.values()), f"{what} cell")
            lines.append(f"{total} filled in: {some(named, limit=MAX_COLUMNS)}")
    if filled.unseen:
        n_cells = sum(sum(values.values()) for values in filled.unseen.values())
        named = [f"{name!r} ({quoted(v, limit=3)})" for name, v in filled.unseen.items()]
        found = some(named, limit=MAX_COLUMNS)
        lines.append(
            f"{count(n_cells, 'cell')} with categories that training did not have: {found}"
        )
    return lines
