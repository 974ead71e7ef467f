"""Everything that can be said about a labeled table, gathered in one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.evidence import Group, groups_of
from thresher.auditing.suspicion import Suspicion, agreement_of
from thresher.estimators import HalfspaceClassifierCV, HalfspaceModel
from thresher.estimators.choice import SPARSITIES, PathPoint
from thresher.table_files import LabeledTable
from thresher.validation import FloatArray

N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class Findings:
    """What was learned from a table, which rows look planted, and why.

    Parameters
    ----------
    name : what the table is called
    table : its rows, labels, names and ids
    classifier : fitted to it
    scores : (n,) of the classifier
    suspicion : trust, agreement and weight of each row
    suspects : the rows of least weight, as many as may be planted, the most suspicious first
    groups : of suspects that stand out alike

    Examples
    --------
    >>> "suspects" in Findings.__dataclass_fields__
    True
    """

    name: str
    table: LabeledTable
    classifier: HalfspaceClassifierCV
    scores: FloatArray
    suspicion: Suspicion
    suspects: NDArray[np.intp]
    groups: tuple[Group, ...]

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row, as in the table."""
        assert self.table.y is not None
        return self.table.y

    @property
    def predictions(self) -> NDArray[Any]:
        """What the model says about each row."""
        return np.asarray(self.classifier.best_._labels(self.scores))

    @property
    def chosen(self) -> PathPoint:
        """How the choice that was taken did on held-out rows."""
        (point,) = (
            point
            for point in self.classifier.path_
            if (point.sparsity, point.noise_rate)
            == (self.classifier.sparsity_, self.classifier.noise_rate_)
        )
        return point

    def model(self, **provenance: Any) -> HalfspaceModel:
        """What `save_model` takes, with the names of the features and where they come from."""
        model = self.classifier.to_model()
        point = self.chosen
        own = {
            "table": self.name,
            "label": self.table.label_name,
            "held_out_error": point.error,
            "held_out_standard_error": point.standard_error,
        }
        return replace(
            model,
            feature_names=list(self.table.feature_names),
            provenance={**model.provenance, **own, **provenance},
        )

    def reasons(self, row: int, limit: int = 2) -> list[int]:
        """The features of the model that speak most against the label of a row."""
        model = self.classifier.best_
        scaling = model.scaling_.take(model.support_)
        values = self.table.X[[row]][:, model.support_]
        dense = values.toarray() if hasattr(values, "toarray") else values
        parts = (scaling.apply(np.asarray(dense, dtype=np.float64)) * model._weights)[0]
        against = parts * (-1.0 if self.labels[row] == self.classifier.classes_[1] else 1.0)
        order = np.argsort(-against, kind="stable")[:limit]
        return [int(model.support_[j]) for j in order if against[j] > 0]


def examine(
    table: LabeledTable,
    *,
    name: str = "table",
    noise_rate: float = 0.05,
    sparsities: Sequence[int | str] = SPARSITIES,
    seed: int = 0,
    verbose: bool = False,
) -> Findings:
    """Learn from a table of which some rows may be planted, and gather what was found.

    Parameters
    ----------
    table : with labels
    name : what it is called in what is told
    noise_rate : share of the rows that may be planted
    sparsities : numbers of features to choose from by cross-validation on trusted rows
    seed : of the folds
    verbose : whether a progress bar is shown

    Raises
    ------
    TypeError, ValueError : for parameters out of range, or labels that are not of two kinds
    NotEnoughMemory : when the work would not fit

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> y = np.where(X[:, 1] > 0, "yes", "no")
    >>> y[:6] = np.where(y[:6] == "yes", "no", "yes")
    >>> table = LabeledTable(X, y, ["a", "b", "c", "d"], np.arange(300), "answer")
    >>> findings = examine(table, sparsities=(1,))
    >>> findings.classifier.support_, int((findings.suspects < 6).sum())
    (array([1]), 6)
    """
    _require_rows_of_each_label(table)
    classifier = HalfspaceClassifierCV(
        sparsities=sparsities,
        noise_rates=(noise_rate,),
        cv=N_FOLDS,
        random_state=seed,
        verbose=verbose,
    ).fit(table.X, table.y)
    scores = classifier.decision_function(table.X)
    signs = np.where(table.y == classifier.classes_[1], 1.0, -1.0)
    suspicion = Suspicion(classifier.row_weights_, agreement_of(signs * scores))
    suspects = suspicion.least(noise_rate)
    groups = groups_of(
        table.X,
        classifier.scaling_.apply(table.X),
        signs,
        classifier.classes_.tolist(),
        suspects,
    )
    return Findings(
        name=name,
        table=table,
        classifier=classifier,
        scores=scores,
        suspicion=suspicion,
        suspects=suspects,
        groups=groups,
    )


def _require_rows_of_each_label(table: LabeledTable) -> None:
    if table.y is None:
        raise ValueError("table must have labels")
    values, counts = np.unique(table.y, return_counts=True)
    for value, n_rows in zip(values.tolist(), counts):
        if n_rows < N_FOLDS:
            raise ValueError(
                f"{N_FOLDS} rows of each label are needed, to learn from some and hold out others; "
                f"label {value!r} has {n_rows}"
            )
