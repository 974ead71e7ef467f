"""Predictions of a model file for the rows of another file."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.folders import SampledTable, parts_of_folder
from thresher.auditing.preparation_report import describe_filled
from thresher.errors import UnreadableTable
from thresher.estimators import HalfspaceModel
from thresher.estimators.calibration import check_slope, probabilities
from thresher.estimators.model import Label
from thresher.files import write_csv
from thresher.preparation import Filled, Numbers, TablePreparation
from thresher.rendering.progress import progress
from thresher.table_files import LabeledTable, TextFormat, prepare_table, read_table
from thresher.validation import FloatArray
from thresher.wording import quoted, visible

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

    Reads only the columns that the model uses; a folder, part by part. Missing cells are filled in
    as in training, and the text says how many. With true labels, the text has the error as well;
    without `label`, a column with the name of the training label is compared if it can be.
    With `proba`, there is a last column with the probability of the model's second label.

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
    how |= {"id_column": id_column, **_labels_asked(model, label)}
    scored = _Scored(used, model, slope, path, needs_labels=label is not None)
    tables = parts_of_folder(path, **how) if path.is_dir() else None
    if tables is None:
        tables = iter([read_with_progress(path, text_format=text_format, **how)])
    write_csv(out, scored.head, chain.from_iterable(map(scored.lines, tables)), raw_csv=raw_csv)
    return scored.said()


def _labels_asked(model: HalfspaceModel, label: str | None) -> dict[str, Any]:
    """Which labels are read: those that were asked for, or those of the training label, if any."""
    if label is not None:
        return {"label": label}
    known = model.provenance.get("label")
    if not isinstance(known, str):
        return {"with_labels": False}
    return {"label": known, "label_if_any": True}


class _Scored:
    """Scores tables, one after the other, and counts what it predicts.

    Parameters
    ----------
    used : the model for tables that have only the columns that it uses
    model : as it was saved
    slope : for probabilities; None for none
    path : of the tables, for messages
    needs_labels : whether labels that the model does not know are an error, or ignored
    """

    def __init__(
        self,
        used: HalfspaceModel,
        model: HalfspaceModel,
        slope: float | None,
        path: Path,
        *,
        needs_labels: bool,
    ) -> None:
        self._used, self._model, self._slope = replace(used, preparation=None), model, slope
        self._path, self._needs_labels = path, needs_labels
        self._label_name: str | None = None
        self._is_ignored = False
        self._n_predicted: Counter[Label] = Counter()
        self._n_true: Counter[Label] = Counter()
        self._n_wrong: Counter[Label] = Counter()
        self._filled = Filled()
        self._remarks: dict[str, None] = {}

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns."""
        chance = () if self._slope is None else (f"probability_{self._model.classes[1]}",)
        return ("id", "score", "prediction", *chance)

    def lines(self, table: LabeledTable) -> Iterator[tuple[Any, ...]]:
        """One line for each row of a table."""
        scores = self._used.decision_function(table.X)
        labels = self._used.labels_of(scores)
        self._n_predicted.update(labels.tolist())
        self._filled = self._filled.joined_with(table.filled)
        self._remarks |= dict.fromkeys(table.remarks)
        self._compare(table, labels)
        columns = [table.ids.tolist(), map(repr, scores.tolist()), labels.tolist()]
        if self._slope is not None:
            chances = probabilities(scores, self._slope)[:, 1]
            columns.append(map(repr, chances.tolist()))
        return zip(*columns)

    def _compare(self, table: LabeledTable, predicted: NDArray[Any]) -> None:
        """Count the errors, if the table has labels that the model knows."""
        self._label_name = table.label_name or self._label_name
        if table.y is None:
            self._is_ignored |= table.label_name is not None
            return
        try:
            truth = _spelled_as_in(self._model.classes, table.y, self._path)
        except UnreadableTable:
            if self._needs_labels:
                raise
            self._is_ignored = True
            return
        self._n_true.update(truth.tolist())
        self._n_wrong.update(truth[predicted != truth].tolist())

    def said(self) -> str:
        """How often each label was predicted and, with true labels, the error."""
        shown = ", ".join(f"{visible(k)} ({n:,})" for k, n in sorted(self._n_predicted.items()))
        text = f"{self._n_predicted.total():,} predictions: {shown}"
        if self._is_ignored:
            text += (
                f"; column {self._label_name!r} is ignored: some of its cells are not "
                f"{' or '.join(map(repr, self._model.classes))}"
            )
        elif self._n_true:
            errors = [self._n_wrong[label] / n_rows for label, n_rows in self._n_true.items()]
            share = self._n_wrong.total() / self._n_true.total()
            text += f"; error {share:.2%} against the labels in column {self._label_name!r}"
            text += f" (balanced error {np.mean(errors):.2%})"
        return "\n".join([*self._remarks, *describe_filled(self._filled), text])


def read_with_progress(path: Path, *, strict: bool = False, **request: Any) -> LabeledTable:
    """The table in a file, see `prepare_table`, with a progress bar in megabytes.

    A strict reader refuses what would need preparation: see `read_table`.
    """
    if path.is_dir():
        columns = {name: request.get(name) for name in ("label", "id_column")}
        return SampledTable.of(path, strict=strict, **columns)
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
