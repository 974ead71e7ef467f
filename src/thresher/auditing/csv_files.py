"""Tables, weights and predictions as CSV files, one line for each row in order."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.examination import Findings
from thresher.estimators import HalfspaceModel
from thresher.files import replacing
from thresher.table_files import LabeledTable


def save_table(table: LabeledTable, path: str | Path) -> None:
    """Write a table with its labels last, as `read_table` takes it; ids are left out."""
    assert table.y is not None
    _save(
        path,
        (*table.feature_names, table.label_name or "label"),
        ((*row, label) for row, label in zip(table.X.tolist(), table.y)),
    )


def save_weights(findings: Findings, path: str | Path) -> None:
    """Write trust, agreement and weight of each row, and the group in which it stands out."""
    suspicion = findings.suspicion
    group = np.zeros(findings.table.n_rows, dtype=int)
    for number, found in enumerate(findings.groups, 1):
        group[found.rows] = number
    _save(
        path,
        ("id", "label", "prediction", "trust", "agreement", "group", "weight"),
        zip(
            findings.table.ids.tolist(),
            findings.labels.tolist(),
            findings.predictions.tolist(),
            map(_rounded, suspicion.trust.tolist()),
            map(_rounded, suspicion.agreement.tolist()),
            ("" if number == 0 else number for number in group.tolist()),
            map(_rounded, suspicion.weight.tolist()),
        ),
    )


def save_predictions(table: LabeledTable, model: HalfspaceModel, path: str | Path) -> NDArray[Any]:
    """Write the score and the predicted label of each row, and return the labels."""
    scores = model.decision_function(table.X)
    labels = model.labels_of(scores)
    _save(
        path,
        ("id", "score", "prediction"),
        zip(table.ids.tolist(), map(repr, scores.tolist()), labels.tolist()),
    )
    return labels


def _rounded(value: float) -> str:
    """Enough digits that no two rows tie by rounding alone."""
    return f"{value:.9g}"


def _save(path: str | Path, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
        text.detach()  # flushes, and leaves the file open
