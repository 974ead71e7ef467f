"""Predictions of a model file for the rows of another file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.contents import count_labels
from thresher.auditing.preparation_report import describe_filled
from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceModel
from thresher.estimators.calibration import check_slope, probabilities
from thresher.estimators.model import Label
from thresher.files import write_csv
from thresher.preparation import Numbers, TablePreparation
from thresher.rendering.progress import progress
from thresher.table_files import LabeledTable, TextFormat, prepare_table, read_table
from thresher.validation import FloatArray
from thresher.wording import quoted

MEGABYTE = 10**6


def predict_file(
    model: HalfspaceModel,
    path: Path,
    out: Path,
    *,
    id_column: str | None = None,
    label: str | None = None,
    text_format: TextFormat | None = None,
    proba: bool = False,
    raw_csv: bool = False,
) -> str:
    """Write the score and the prediction of each row, and say how often each label was predicted.

    Reads only the columns that the model uses. Missing cells are filled in as in training, and the
    text says how many. With true labels, the text has the error as well. With `proba`, there is a
    last column with the probability of the model's second label.

    See `write_csv` about `raw_csv`.

    Raises
    ------
    UnreadableTable : a column that the model uses is missing
    ValueError : the model has no probabilities
    """
    slope = check_slope(model.probability_slope) if proba else None
    used = _on_its_support(model)
    how: dict[str, Any] = {"preparation": used.preparation}
    if used.preparation is None:  # one-hot columns of an earlier version, or no columns at all
        one_hot = bool(model.provenance.get("one_hot", False))
        how = {"strict": True, "features": used.feature_names, "one_hot": one_hot}
    table = read_with_progress(
        path,
        label=label,
        id_column=id_column,
        with_labels=label is not None,
        text_format=text_format,
        **how,
    )
    truth = None if table.y is None else _spelled_as_in(model.classes, table.y, path)
    scores = replace(used, preparation=None).decision_function(table.X)
    labels = used.labels_of(scores)
    columns = {
        "id": table.ids.tolist(),
        "score": map(repr, scores.tolist()),
        "prediction": labels.tolist(),
    }
    if slope is not None:
        chances = probabilities(scores, slope)[:, 1]
        columns[f"probability_{model.classes[1]}"] = map(repr, chances.tolist())
    write_csv(out, tuple(columns), zip(*columns.values()), raw_csv=raw_csv)
    text = f"{labels.size:,} predictions: {count_labels(labels)}"
    if truth is not None:
        wrong = labels != truth
        errors = [float(wrong[truth == label].mean()) for label in np.unique(truth)]
        text += f"; error {wrong.mean():.2%} against the labels in the file"
        text += f" (balanced error {np.mean(errors):.2%})"
    return "\n".join([*table.remarks, *describe_filled(table.filled), text])


def read_with_progress(path: Path, *, strict: bool = False, **request: Any) -> LabeledTable:
    """The table in a file, see `prepare_table`, with a progress bar in megabytes.

    A strict reader refuses what would need preparation: see `read_table`.
    """
    read: Callable[..., LabeledTable] = read_table if strict else prepare_table
    n_bytes = path.stat().st_size if path.is_file() else 0
    with progress("MB read", max(1, n_bytes // MEGABYTE)) as move:
        return read(path, progress=lambda done, _: move(done // MEGABYTE), **request)


def _on_its_support(model: HalfspaceModel) -> HalfspaceModel:
    """The same model for a table that has only the columns that it uses."""
    if not model.support.size or model.feature_names is None:
        return model
    used = [model.feature_names[j] for j in model.support]
    preparation = model.preparation
    if preparation is None and not model.provenance.get("one_hot", False):
        preparation = _filled_at_center(used, model.center)
    names = used
    if preparation is not None:
        preparation = preparation.restricted_to(set(used))
        names = preparation.feature_names
    places = {name: place for place, name in enumerate(names)}
    return replace(
        model,
        n_features=len(names),
        feature_names=names,
        support=np.array([places[name] for name in used]),
        preparation=preparation,
    )


def _filled_at_center(names: list[str], center: FloatArray) -> TablePreparation:
    """For a model of a table without missing cells: they have no effect."""
    seen = ("numbers", 0, 0)
    return TablePreparation(tuple(Numbers(n, *seen, float(c)) for n, c in zip(names, center)))


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
