"""What is said about the columns of a file."""

from __future__ import annotations

import numpy as np

from thresher.auditing.preparation_report import describe_filled, describe_preparation
from thresher.preparation import Filled, Numbers, RawColumn, RawNumbers, RawTexts, TablePreparation
from thresher.table_files import LabeledTable


def table_of(columns: list[RawColumn], *remarks: str) -> LabeledTable:
    preparation = TablePreparation.for_columns(columns) if columns else None
    X, names = np.eye(2), ["a", "b"]
    return LabeledTable(X, None, names, np.arange(2), None, preparation, remarks=remarks)


def test_complete_numbers_are_counted_and_other_columns_listed() -> None:
    plain = [RawNumbers(f"x{j}", np.array([3.0, 1.0, j])) for j in range(2)]
    gaps = RawTexts.of("a" * 99, [*(str(i) for i in range(0, 99, 3)), "x" * 99, None])
    ids = RawTexts.of("customer nr", [f"k{i}" for i in range(60)])
    lines = describe_preparation(table_of([*plain, gaps, ids], "Read with tabs.")).splitlines()
    assert lines[0] == "Read with tabs."
    assert " ".join(lines[1].split()) == "column what was seen what was done missing stray"
    assert lines[2].split()[-2:] == ["1", "1"]
    assert "left out: looks like ids" in lines[3]
    assert lines[4:] == [
        "2 columns of complete numbers.",
        "To name rows by 'customer nr', pass --id-column 'customer nr'.",
    ]
    assert max(map(len, lines)) <= 80


def test_of_many_columns_the_first_are_listed() -> None:
    columns: list[RawColumn] = [RawTexts.of(f"c{j}", ["u", None]) for j in range(50)]
    lines = describe_preparation(table_of(columns)).splitlines()
    assert len(lines) == 42
    assert lines[-1] == "  and 10 more"


def test_of_a_table_of_complete_numbers_nothing_is_said() -> None:
    assert describe_preparation(table_of([])) == ""
    assert describe_filled(Filled()) == []


def test_what_was_filled_in_is_counted_by_column() -> None:
    many = {f"c{j}": 1000 for j in range(7)}
    assert describe_filled(Filled(many, {"d": 1}, {"e": {"u": 1, "v": 2}})) == [
        "7,000 missing cells filled in: 'c0' (1,000), 'c1' (1,000), 'c2' (1,000), 'c3' (1,000), "
        "'c4' (1,000) and 2 more",
        "1 unreadable cell filled in: 'd' (1)",
        "3 cells with categories that training did not have: 'e' ('u', 'v')",
    ]


def prepared_as(column: Numbers) -> LabeledTable:
    preparation = TablePreparation((column,))
    return LabeledTable(np.eye(2), None, ["a", "b"], np.arange(2), None, preparation)


def test_cells_are_cut_only_where_the_line_is_full() -> None:
    seen = "numbers, also 'unknown'"
    short = describe_preparation(prepared_as(Numbers("age", seen, 1, 2, 40.0)))
    assert seen in short
    long = describe_preparation(prepared_as(Numbers("a" * 60, seen * 3, 1, 2, 40.0)))
    assert max(map(len, long.splitlines())) <= 80
