"""Predictions of a model file for the rows of another file."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.contents import count_labels
from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceModel
from thresher.estimators.model import Label
from thresher.files import write_csv
from thresher.rendering.progress import progress
from thresher.table_files import LabeledTable, read_table
from thresher.wording import quoted

MEGABYTE = 10**6


def predict_file(
    model: HalfspaceModel,
    path: Path,
    out: Path,
    *,
    id_column: str | None = None,
    label: str | None = None,
    raw_csv: bool = False,
) -> str:
    """Write the score and the prediction of each row, and say how often each label was predicted.

    Reads only the columns that the model uses. With true labels, the text has the error as well.

    See `write_csv` about `raw_csv`.

    Raises
    ------
    UnreadableTable : a column that the model uses is missing or not numeric
    """
    used = _on_its_support(model)
    table = read_with_progress(
        path,
        label=label,
        id_column=id_column,
        one_hot=bool(model.provenance.get("one_hot", False)),
        features=used.feature_names,
        with_labels=label is not None,
    )
    truth = None if table.y is None else _spelled_as_in(model.classes, table.y, path)
    scores = used.decision_function(table.X)
    labels = used.labels_of(scores)
    lines = zip(table.ids.tolist(), map(repr, scores.tolist()), labels.tolist())
    write_csv(out, ("id", "score", "prediction"), lines, raw_csv=raw_csv)
    text = f"{labels.size:,} predictions: {count_labels(labels)}"
    if truth is None:
        return text
    return f"{text}; error {np.mean(labels != truth):.2%} against the labels in the file"


def read_with_progress(path: Path, **request: Any) -> LabeledTable:
    """The table in a file, see `read_table`, with a progress bar in megabytes."""
    n_bytes = path.stat().st_size if path.is_file() else 0
    with progress("MB read", max(1, n_bytes // MEGABYTE)) as move:
        return read_table(path, progress=lambda done, _: move(done // MEGABYTE), **request)


def _on_its_support(model: HalfspaceModel) -> HalfspaceModel:
    """The same model for a table that has only the columns that it uses."""
    if not model.support.size or model.feature_names is None:
        return model
    return replace(
        model,
        n_features=model.support.size,
        feature_names=[model.feature_names[j] for j in model.support],
        support=np.arange(model.support.size),
    )


def _spelled_as_in(classes: list[Label], truth: NDArray[Any], path: Path) -> NDArray[Any]:
    """The true labels in the model's spelling: 1.0 may be 1 elsewhere, and `true` be `True`."""
    spelled = {_plain(known): known for known in classes}
    unknown = sorted({str(value) for value in truth.tolist() if _plain(value) not in spelled})
    if unknown:
        problem = f"has labels that the model does not know: {quoted(unknown, limit=5)}"
        advice = f"it knows {quoted(classes)}; name another column with --label, or omit it"
        raise UnreadableTable(path, problem, advice=advice)
    return np.asarray([spelled[_plain(value)] for value in truth.tolist()])


def _plain(label: Label) -> str:
    """A label without what differs from file to file: case, and the form of whole numbers."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip().casefold()
