"""Tables on the terminal: nothing that explains a row is cut."""

from __future__ import annotations

from thresher.auditing.text_report import _shown
from thresher.rendering.text import Column

REASON = "a column with quite a long name = 475,900: out of range"


def test_a_long_reason_continues_on_lines_of_its_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = [Column("id", ["7", "8"], "<"), Column("label", 2 * ["x" * 25], "<")]
    lines = _shown([*rows, Column("reason", [REASON, "short"], "<")]).splitlines()
    assert max(map(len, lines)) <= 60
    reason = " ".join(line[33:].strip() for line in lines[1:])
    assert reason == f"{REASON} short"
    assert [line[:4].strip() for line in lines if line[:4].strip()] == ["id", "7", "8"]
