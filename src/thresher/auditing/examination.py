"""Learning from a labeled table, and everything that is known about it afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.adversary import AdversaryBound
from thresher.auditing.suspects import dense
from thresher.estimators import HalfspaceClassifierCV, HalfspaceModel, PathPoint
from thresher.estimators.adversary import bound_on_adversary, bounded_columns
from thresher.table_files import LabeledTable
from thresher.validation import FloatArray, is_sparse, require_in_memory
from thresher.wording import count

N_FOLDS = 3
MOST_BOUNDED_COLUMNS = 1000  # of a model for which the adversary's bound is computed


@dataclass(frozen=True, eq=False)
class Findings:
    """What was learned from a table.

    Parameters
    ----------
    name : of the table, for reports
    table : rows, labels, feature names and ids
    classifier : fitted to the table
    """

    name: str
    table: LabeledTable
    classifier: HalfspaceClassifierCV

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row, as in the table."""
        assert self.table.y is not None
        return self.table.y

    @property
    def signs(self) -> FloatArray:
        """-1 for the first label, +1 for the second."""
        return np.where(self.labels == self.classifier.classes_[1], 1.0, -1.0)

    @property
    def chosen(self) -> PathPoint:
        """The chosen sparsity and noise rate, and their error on held-out rows."""
        chosen = (self.classifier.sparsity_, self.classifier.noise_rate_)
        path = self.classifier.path_
        return next(point for point in path if (point.sparsity, point.noise_rate) == chosen)

    @property
    def counts_by_trust(self) -> bool:
        """Whether rows of less trust count less in penalized fits and in held-out errors."""
        evidence = self.classifier.evidence_
        return evidence is None or evidence.helps

    @cached_property
    def adversary_bound(self) -> AdversaryBound | None:
        """What planted rows can have hidden at most; None where the proof would cost too much.

        Computed when a report asks for it.
        """
        if bounded_columns(self.classifier).size > MOST_BOUNDED_COLUMNS:
            return None
        return bound_on_adversary(self.classifier, self.table.X, self.labels)

    @cached_property
    def _model(self) -> HalfspaceModel:
        return self.classifier.to_model()

    def model(self, **provenance: Any) -> HalfspaceModel:
        """The model for `save_model`, with feature names and where it comes from."""
        own = {
            "table": self.name,
            "label": self.table.label_name,
            "held_out_error": self.chosen.error,
            "held_out_standard_error": self.chosen.standard_error,
            "held_out_balanced_error": self.chosen.balanced_error,
        }
        return replace(
            self._model,
            feature_names=list(self.table.feature_names),
            preparation=self.table.preparation,
            provenance={**self._model.provenance, **own, **provenance},
        )

    def reasons(self, row: int, limit: int = 2) -> list[int]:
        """The features of the model that speak most against the label of a row."""
        model = self._model
        scaling = self.classifier.scaling_.take(model.support)
        values = dense(self.table.X[[row]][:, model.support]).astype(np.float64)
        parts = (scaling.apply(values) * model.weights)[0]
        against = parts * (-1.0 if self.labels[row] == self.classifier.classes_[1] else 1.0)
        order = np.argsort(-against, kind="stable")[:limit]
        return [int(model.support[j]) for j in order if against[j] > 0]


def examine(
    table: LabeledTable,
    *,
    name: str = "table",
    noise_rate: float | None = 0.05,
    sparsities: Sequence[int | str] | str = "auto",
    final_fit: str = "auto",
    seed: int = 0,
    verbose: bool = False,
) -> Findings:
    """Learn from a table that may contain planted rows.

    Parameters
    ----------
    table : with labels
    name : of the table, for reports
    noise_rate : share of the rows that may be planted; None: estimated
    sparsities : numbers of features to choose from, by cross-validation on trusted rows, or "auto"
    final_fit : as in `HalfspaceClassifier`
    seed : random seed
    verbose : whether to show a progress bar

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
    >>> findings.classifier.support_, float(findings.chosen.error) < 0.1
    (array([1]), True)
    """
    require_in_memory(table.X)
    _require_rows_of_each_label(table)
    classifier = HalfspaceClassifierCV(
        sparsities=sparsities,
        noise_rates=None if noise_rate is None else (noise_rate,),
        final_fit=final_fit,
        cv=N_FOLDS,
        random_state=seed,
        verbose=verbose,
    ).fit(table.X, table.y)
    return Findings(name, table, classifier)


def _require_rows_of_each_label(table: LabeledTable) -> None:
    if table.y is None:
        raise ValueError("table must have labels")
    values, counts = np.unique(table.y, return_counts=True)
    if min(counts) < N_FOLDS:
        counted = " and ".join(
            f"{count(n_rows, 'row')} with label {value!r}"
            for value, n_rows in zip(values.tolist(), counts)
        )
        need = f"at least {N_FOLDS} rows of each label are needed"
        raise ValueError(f"the table is too small: it has {counted}; {need}")


def numbering_columns(table: LabeledTable) -> list[str]:
    """The columns of a dense table that count its rows: probably ids, not features.

    Examples
    --------
    >>> X = np.array([[5.0, 1.0], [6.0, 1.0], [7.0, 2.0]])
    >>> numbering_columns(LabeledTable(X, None, ["id", "x"], np.arange(3), None))
    ['id']
    """
    if is_sparse(table.X) or table.n_rows < 3:
        return []
    return [
        name
        for name, column in zip(table.feature_names, table.X.T)
        if column[1] - column[0] == 1 and (np.diff(column) == 1).all()
    ]


# -- what is proven about the rows -------------------------------------------------------------


@dataclass(frozen=True)
class RemainingVariance:
    """A proven bound on the variance of the rows in every unit direction of few features.

    Parameters
    ----------
    upper : bound on the mean over all rows, each counted by its trust
    optimum : the least that any weights reach that remove at most `outlier_fraction` of the rows
    outlier_fraction : that share
    removed_at_first, share_removed : what the first phase removed, and what all phases did, if the
        bound holds for trust
    n_features : of a direction, at most
    holds_for_trust : whether it holds for rows counted by their trust, or by their weights in the
        first phase only
    """

    upper: float
    optimum: float
    outlier_fraction: float
    removed_at_first: float
    share_removed: float
    n_features: int
    holds_for_trust: bool

    @property
    def of_trusted_rows(self) -> float:
        """The bound on the mean over trust, instead of over all rows."""
        return self.upper / (1 - self.share_removed) if self.share_removed < 1 else np.inf


def remaining_variance(findings: Findings) -> RemainingVariance:
    """The bound that the first phase proved: it looked at every row.

    Later phases only remove trust, and less weight has less variance, so the bound also holds for
    rows counted by their trust. That is checked here all the same.
    """
    first = findings.classifier.phases_[0]
    weights, trust = np.zeros(findings.table.n_rows), findings.classifier.row_weights_
    weights[first.row_ids] = first.row_weights
    holds = bool(np.all(trust <= weights + 1e-12))
    unit = first.phase.l2_radius**2 * findings.table.n_rows / first.row_ids.size
    n_features = int((first.phase.removal_l1_radius / first.phase.l2_radius) ** 2 + 1e-9)
    return RemainingVariance(
        upper=first.variance_upper / unit,
        optimum=first.optimum_lower / unit,
        outlier_fraction=first.weight_allowance,
        removed_at_first=1 - float(weights.mean()),
        share_removed=1 - float((trust if holds else weights).mean()),
        n_features=max(1, min(n_features, findings.classifier.columns_.size)),
        holds_for_trust=holds,
    )
