"""What a model file says about the rows of another file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.csv_files import save_predictions
from thresher.auditing.reading import read_with_progress
from thresher.auditing.tables import counted
from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceModel
from thresher.estimators.model import Label
from thresher.wording import quoted


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predicted labels of a table, and the true ones if they were told.

    Parameters
    ----------
    labels : (n,) as predicted
    truth : (n,) from the table, or None

    Examples
    --------
    >>> Predictions(np.array(["a", "b"]), np.array(["a", "a"])).error
    0.5
    """

    labels: NDArray[Any]
    truth: NDArray[Any] | None

    @property
    def error(self) -> float | None:
        """Share of the rows that are predicted wrongly; None if the truth is not known."""
        if self.truth is None:
            return None
        return float(np.mean(self.labels != self.truth))


def predict_file(
    model: HalfspaceModel,
    path: Path,
    out: Path,
    *,
    id_column: str | None = None,
    label: str | None = None,
) -> Predictions:
    """Write the predictions for a file; only the columns that the model uses are read.

    Raises
    ------
    UnreadableTable : a column that the model uses is missing or is not made of numbers
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
    truth = None if table.y is None else _in_words_of(model.classes, table.y, path)
    return Predictions(save_predictions(table, used, out), truth)


def _in_words_of(classes: list[Label], truth: NDArray[Any], path: Path) -> NDArray[Any]:
    """The true labels as the model calls them: 1.0 may be 1 elsewhere, and `true` be `True`."""
    spelled = {_spelled(known): known for known in classes}
    unknown = sorted({str(value) for value in truth.tolist() if _spelled(value) not in spelled})
    if unknown:
        raise UnreadableTable(
            path,
            f"has labels that the model does not know: {quoted(unknown, limit=5)}",
            advice=f"it knows {quoted(classes)}: name another column with --label, or leave it out",
        )
    return np.asarray([spelled[_spelled(value)] for value in truth.tolist()])


def _spelled(label: Label) -> str:
    """A label without what differs from file to file: case, and the form of whole numbers."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip().casefold()


def _on_its_support(model: HalfspaceModel) -> HalfspaceModel:
    """The same model of a table that has no other columns than those that it uses."""
    if not model.support.size or model.feature_names is None:
        return model
    return replace(
        model,
        n_features=model.support.size,
        feature_names=[model.feature_names[j] for j in model.support],
        support=np.arange(model.support.size),
    )


def describe_predictions(predictions: Predictions) -> str:
    """How often each label was predicted, and the error if it is known.

    Examples
    --------
    >>> print(describe_predictions(Predictions(np.array(["a", "b", "a"]), None)))
    3 rows: a (2) and b (1)
    """
    text = f"{predictions.labels.size:,} rows: {counted(predictions.labels)}"
    error = predictions.error
    return text if error is None else f"{text}; error {error:.2%} against the true labels"
