"""Labels and votes as CSV files, out and in."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from thresher.errors import UnreadableTable
from thresher.estimators.model import Label
from thresher.files import inert, write_csv
from thresher.label_sessions.state import RowId, SessionState
from thresher.wording import count, nearest, one_line, quoted

LABEL_COLUMNS = ("row_id", "label", "source", "n_votes", "random")
VOTE_COLUMNS = ("row_id", "annotator", "label", "at", "comment")
FEW, FEW_OF_CLASS = 20, 5  # labels; a model of fewer is not worth much
LONGEST = 2**20  # characters of a cell


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Parameters
    ----------
    n_new : labels of rows that had no imported label
    n_changed : labels that replace another one, which was imported before
    n_known : labels that had been imported before: nothing was recorded for them
    """

    n_new: int
    n_changed: int
    n_known: int

    @classmethod
    def of(cls, labels: Mapping[RowId, Label], known: Mapping[RowId, Label]) -> Self:
        """What importing labels does where others are known."""
        same = sum(known.get(row) == label for row, label in labels.items())
        shared = len(labels.keys() & known.keys())
        return cls(n_new=len(labels) - shared, n_changed=shared - same, n_known=same)


def few_labels(labels: Iterable[Label]) -> str | None:
    """What to be wary of in a model of these labels; None if there are enough of each class.

    Examples
    --------
    >>> few_labels(["ham", "ham", "ham", "spam"])
    'the model has learned from only 4 labels (ham: 3, spam: 1), so expect many wrong predictions;
    label at least 20 rows, 5 of each class'
    """
    counts = Counter(labels)
    if counts.total() >= FEW and min(counts.values()) >= FEW_OF_CLASS:
        return None
    counted = ", ".join(f"{_text(label)}: {n:,}" for label, n in sorted(counts.items()))
    return (
        f"the model has learned from only {count(counts.total(), 'label')} ({counted}), so expect "
        f"many wrong predictions; label at least {FEW} rows, {FEW_OF_CLASS} of each class"
    )


def write_labels(path: str | Path, state: SessionState, *, raw_csv: bool = False) -> int:
    """Write the label of each row that has one; how many there are.

    Text that a spreadsheet would execute has a ' before it, which `read_labels` takes off again.
    """
    lines = []
    for row, label in sorted(state.labels.items(), key=lambda item: _order(item[0])):
        n_votes = len(state.votes.get(row, {}))
        source = "resolved" if row in state.resolved else "votes" if n_votes else "imported"
        asked = state.asked.get(row)
        is_random = "" if asked is None else int(asked.is_random)
        lines.append((_cell(row), _cell(label), source, n_votes, is_random))
    write_csv(path, LABEL_COLUMNS, lines, raw_csv=raw_csv)
    return len(lines)


def write_votes(path: str | Path, state: SessionState, *, raw_csv: bool = False) -> int:
    """Write every vote that counts, in the order of the rows; how many there are."""
    lines = [
        (_cell(row), vote.annotator, _cell(vote.label), vote.at, vote.comment or "")
        for row in sorted(state.votes, key=_order)
        for vote in state.votes[row].values()
    ]
    write_csv(path, VOTE_COLUMNS, lines, raw_csv=raw_csv)
    return len(lines)


def _order(row: RowId) -> tuple[bool, int, str]:
    """Numbers by size before texts."""
    return (True, 0, row) if isinstance(row, str) else (False, row, "")


def _cell(value: Label) -> str:
    """A label or an id as it is written; `_plain` gives it back."""
    text = _text(value)
    return text if _plain(text) == text else f"'{text}"


def _text(value: Label) -> str:
    return value if isinstance(value, str) else repr(value)


def read_labels(path: str | Path, classes: Sequence[Label]) -> dict[str, Label]:
    """The labels in a CSV file by row id, both as they stand there.

    Parameters
    ----------
    path : a file with the columns `row_id` and `label`; others are ignored
    classes : the known labels. Texts stand for them; if fewer than two are known, other texts are
        new labels

    Raises
    ------
    UnreadableTable : it is not such a file, has an unknown label, or two labels for one row
    """
    found: dict[str, Label] = {}
    known = {_text(label): label for label in classes}
    for number, record in _records(path):
        row, text = (_plain(record[name]) for name in LABEL_COLUMNS[:2])
        if not text:  # not labeled
            continue
        if text not in known and len(known) >= 2:
            problem = f"has the label {one_line(repr(text))} in line {number:,}"
            raise UnreadableTable(path, problem, advice=f"the labels are {quoted(known)}")
        label = found.setdefault(row, known.setdefault(text, text))
        if label != known[text]:
            problem = f"has two labels for row {one_line(row)}, in line {number:,} and before"
            raise UnreadableTable(path, problem, advice="keep one of them")
    return found


def _records(path: str | Path) -> Iterable[tuple[int, Mapping[str, str]]]:
    before = csv.field_size_limit(LONGEST)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="", strict=True)
            names = [*(reader.fieldnames or ())]
            for name in LABEL_COLUMNS[:2]:
                if name not in names:
                    problem = f"has no column {name!r}"
                    raise UnreadableTable(path, problem, advice=nearest(name, names))
            yield from ((reader.line_num, record) for record in reader)
    except (UnicodeError, csv.Error) as error:
        problem = f"is not a CSV file in UTF-8 ({one_line(error, 100)})"
        raise UnreadableTable(path, problem, advice="save it as one") from error
    finally:
        csv.field_size_limit(before)


def _plain(cell: str) -> str:
    """The cell without the ' that `write_csv` or `_cell` put before it."""
    rest = cell[1:]
    is_marked = cell.startswith("'") and (rest.startswith("'") or inert(rest) == cell)
    return rest if is_marked else cell
