"""A few suspects with their values, beside what is typical."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thresher.auditing.remarks import some_of_each
from thresher.auditing.suspects import Places, dense
from thresher.auditing.table_audit import Audit
from thresher.rendering.text import plain_number

N_EXAMPLES, N_VALUES = 5, 4


@dataclass(frozen=True)
class Example:
    """One suspect.

    Parameters
    ----------
    row : its position
    n_copies : how often it stands in the table
    values : name, value and typical value of the features that matter most, as texts
    """

    row: int
    n_copies: int
    values: tuple[tuple[str, str, str], ...]


def examples_of(audit: Audit) -> list[Example]:
    """Up to five suspects, with the most suspicious one of every kind and label."""
    return [
        Example(row, int((audit.equal == audit.equal[row]).sum()), tuple(_values(audit, row)))
        for row in map(int, _varied(audit))
    ]


def _varied(audit: Audit) -> Places:
    """The most suspicious row of every kind and label, then the most suspicious of the others."""
    distinct = audit.distinct_suspects
    kinds, labels = audit.suspicions.kinds[distinct], audit.findings.labels[distinct]
    keys = list(zip(kinds.tolist(), labels.tolist(), strict=True))
    return distinct[some_of_each(keys, N_EXAMPLES)]


def _values(audit: Audit, row: int) -> Iterator[tuple[str, str, str]]:
    table, labels = audit.findings.table, audit.findings.labels
    features = audit.findings.reasons(row, N_VALUES)
    worst = audit.data.worst[row]
    if worst >= 0 and (column := audit.data.errors[worst].column) >= 0:
        features = [column, *(feature for feature in features if feature != column)][:N_VALUES]
    ordinary = np.flatnonzero(audit.is_kept & (labels == labels[row]))
    for feature in features:
        column = dense(table.X[:, [feature]])[:, 0]
        typical = float(np.median(column[ordinary])) if ordinary.size else float(np.median(column))
        is_mark = bool(np.isin(column, (0.0, 1.0)).all())
        shown = [_shown(value, is_mark) for value in (float(column[row]), typical)]
        yield table.feature_names[feature], shown[0], shown[1]


def _shown(value: float, is_mark: bool) -> str:
    """A number, or yes and no for the marks that categories become."""
    return ("yes" if value else "no") if is_mark else plain_number(value)
