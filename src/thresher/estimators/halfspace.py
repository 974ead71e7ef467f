"""`HalfspaceClassifier`: the passive learner as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from thresher import memory
from thresher.estimators.callbacks import CallbackSupportMixin, FitReport, with_callbacks
from thresher.estimators.columns import ColumnScaling
from thresher.estimators.homogeneous import HomogeneousRows
from thresher.estimators.model import HalfspaceModel, model_of
from thresher.estimators.parameters import check_schedule, check_sparsity, check_switch
from thresher.estimators.tables import check_table, check_training_table, check_two_classes
from thresher.estimators.trust import trust_of_rows, warn_of_distrusted_classes
from thresher.geometry import hard_threshold
from thresher.learning import PhaseOutcome, PracticalSchedule, Task, learn_from_table
from thresher.validation import (
    FloatArray,
    Rows,
    check_noise_rate,
    check_positive,
    is_sparse,
    seed_from,
)

COPIES = 3.0  # of the table that learning needs at its peak: scaled, in the band, centered, weighed


class HalfspaceClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A sparse linear classifier that rows planted in the training table cannot steer.

    The passive form of Algorithm 1: in each phase the rows near the current boundary get trust
    weights that leave no sparse direction with suspicious variance, and the hinge loss of the
    trusted rows is minimized. Columns are scaled by medians before, so that a few absurd values
    change nothing.

    Parameters
    ----------
    sparsity : int or "all", default=10
        Most features that the model may use; more than there are means all.
    noise_rate : float, default=0.05
        Share of planted rows that must be borne, below one half.
    fit_intercept : bool, default=True
        Learn an intercept. Departure: the paper's halfspaces go through the origin. A column of
        ones takes part in everything, and does not count as a feature. Without it, the boundary
        goes through the point where every scaled column is zero.
    scale : bool, default=True
        Scale each column by its median and median absolute deviation, see `ColumnScaling` for the
        columns of counts and of sparse matrices. Without it, columns should have mean 0 and
        variance 1 already; a table far larger or smaller is divided by one number.
    reach : float, default=2.0
        With `scale`, the largest absolute value that a scaled entry keeps, in training and in
        prediction.
    label_aware : bool, default=True
        Let labels help to judge rows, which are judged by their features alone where labels have to
        be bought. Variance is measured around the median of each class, too; in each phase the
        rows with the largest losses, somewhat fewer than may be planted, are left out; and no row
        gets trust back in a later phase. Without it, the corollary of the paper.
    schedule : PracticalSchedule, default=None
        How phases go; by default `PracticalSchedule(outlier_margin=1.0, max_dirty_share=0.5)`, or
        `PracticalSchedule()` if not `label_aware`. What concerns the buying of labels and the
        drawing of rows (`use_every_row`, `reuse_labels`, `min_unlabeled`, …) has no effect here.
    random_state : int, RandomState, Generator or None, default=None
        For what the schedule leaves to chance; on tables that is nothing but ties.

    Attributes
    ----------
    coef_ : (1, n_features) weights in the units of the given columns
    intercept_ : (1,)
    support_ : indices of the features with a weight
    classes_ : the two labels; the second is the positive side
    row_weights_ : (n_rows,) the trust in each training row, from 0 to 1, see `trust_of_rows`
    phases_ : one `PhaseOutcome` a phase, with what was proven in it
    n_iter_ : how many phases there were
    n_features_in_, feature_names_in_ : as in scikit-learn
    scaling_ : the `ColumnScaling` that predictions use

    Notes
    -----
    For a row whose entries lie within the reach, `decision_function` is X·coef_ + intercept_.
    Entries beyond count as much as the nearest one within. `sample_weight` is not accepted: what a
    weight means to an adversary who may own the row is not defined.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 30))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> model = HalfspaceClassifier(sparsity=2, noise_rate=0.02, random_state=0).fit(X, y)
    >>> model.support_, model.score(X, y) > 0.98
    (array([3, 5]), True)
    """

    def __init__(
        self,
        sparsity: int | str = 10,
        noise_rate: float = 0.05,
        *,
        fit_intercept: bool = True,
        scale: bool = True,
        reach: float = 2.0,
        label_aware: bool = True,
        schedule: PracticalSchedule | None = None,
        random_state: Any = None,
    ) -> None:
        self.sparsity = sparsity
        self.noise_rate = noise_rate
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.reach = reach
        self.label_aware = label_aware
        self.schedule = schedule
        self.random_state = random_state

    # -- fitting -----------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a table of which some rows may be planted.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : (n,) labels of two kinds

        Raises
        ------
        TypeError, ValueError
            For a parameter outside its range, rows that are not finite numbers, or labels that are
            not of two kinds.
        NotEnoughMemory
            When the work would not fit; it says what would.
        """
        self._check_parameters()
        rows, labels = check_training_table(self, X, y)
        report = FitReport(self, X, y)
        self._learn(rows, labels, observe=lambda learned: report.task_ended("phase", learned))
        report.fit_ended()
        return self

    def _learn(
        self,
        rows: Rows,
        labels: Any,
        places: NDArray[np.intp] | slice = slice(None),
        observe: Callable[[Callable[[], dict[str, Any]]], bool] = lambda _: False,
    ) -> None:
        """Learn from a checked table, or from some of its rows, without a copy of dense ones.

        After each phase, `observe` gets what makes the attributes of an estimator that was fitted
        until there, and answers whether learning is to end.
        """
        schedule, seed = self._check_parameters()
        if is_sparse(rows) or not self.scale:
            rows, labels, places = rows[places], labels[places], slice(None)
        self.classes_, signs = check_two_classes(labels[places])
        n_rows, n_features = len(signs), rows.shape[1]
        n_used = check_sparsity(self.sparsity, n_features)
        _require_memory_for(rows)
        self.scaling_ = (
            ColumnScaling.of(rows, self.reach, places) if self.scale else ColumnScaling.common(rows)
        )
        phases: list[PhaseOutcome] = []

        def phase_ended(outcome: PhaseOutcome) -> bool:
            phases.append(outcome)
            return observe(lambda: self._learned(phases, n_rows, n_used))

        learn_from_table(
            HomogeneousRows(rows, self.scaling_, bool(self.fit_intercept), places),
            signs,
            self._task(n_features, n_used),
            schedule.for_table(n_rows, label_aware=self.label_aware),
            seed=seed,
            observe=phase_ended,
        )
        self.__dict__.update(self._learned(phases, n_rows, n_used))
        warn_of_distrusted_classes(
            self.row_weights_, signs, self.classes_.tolist(), self.noise_rate
        )

    def _check_parameters(self) -> tuple[PracticalSchedule, int]:
        """The schedule and the seed, once everything that needs no table has been checked."""
        check_sparsity(self.sparsity, 1)
        check_noise_rate(self.noise_rate)
        check_switch(self.fit_intercept, "fit_intercept")
        check_switch(self.scale, "scale")
        check_switch(self.label_aware, "label_aware")
        check_positive(self.reach, "reach")
        schedule = check_schedule(self.schedule, label_aware=self.label_aware)
        return schedule, seed_from(self.random_state)

    def _task(self, n_features: int, n_used: int) -> Task:
        """What is to be learned; the column of ones, if there is one, has a place of its own."""
        n_ones = int(self.fit_intercept)
        return Task(
            n_features=n_features + n_ones, sparsity=n_used + n_ones, noise_rate=self.noise_rate
        )

    def _learned(self, phases: Sequence[PhaseOutcome], n_rows: int, n_used: int) -> dict[str, Any]:
        """The attributes of an estimator whose last phase is the last of these."""
        return {
            "phases_": tuple(phases),
            "n_iter_": len(phases),
            "row_weights_": trust_of_rows(phases, n_rows),
            **self._coefficients(phases[-1].halfspace, n_used),
        }

    def _coefficients(self, halfspace: FloatArray, n_used: int) -> dict[str, Any]:
        """The halfspace in scaled columns, and in the units of the given ones."""
        scale, center = self.scaling_.scale, self.scaling_.center
        # The intercept's place may have gone to a feature; then the least of them gives way.
        weights = hard_threshold(halfspace[: scale.size], n_used)
        offset = float(halfspace[-1]) if self.fit_intercept else 0.0
        support = np.flatnonzero(weights)
        return {
            "support_": support,
            "coef_": (weights / scale)[np.newaxis],
            "intercept_": np.array([offset - weights @ (center / scale)]),
            "_weights": weights[support],
            "_offset": offset,
        }

    # -- predicting --------------------------------------------------------------------------

    def decision_function(self, X: Any) -> FloatArray:
        """A score for each row: positive for the second class, larger farther from the boundary.

        Only the columns of `support_` count.
        """
        check_is_fitted(self)
        return self._scores(check_table(self, X))

    def _scores(self, rows: Rows) -> FloatArray:
        scaling = self.scaling_.take(self.support_)
        return scaling.scores(rows, self.support_, self._weights) + self._offset

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        return self._labels(self.decision_function(X))

    def _labels(self, scores: FloatArray) -> Any:
        return self.classes_[(scores > 0).astype(np.intp)]

    def to_model(self) -> HalfspaceModel:
        """What was learned, apart from scikit-learn: to be saved with `save_model`."""
        check_is_fitted(self)
        return model_of(self)

    def to_sklearn(self) -> Any:
        """An ordinary scikit-learn pipeline with the same predictions, for dense tables."""
        return self.to_model().to_sklearn()

    def to_onnx(self) -> Any:
        """As `HalfspaceModel.to_onnx`."""
        return self.to_model().to_onnx()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def _require_memory_for(rows: Rows) -> None:
    """Raise `NotEnoughMemory` unless the copies of the table that learning makes would fit."""
    n_rows, n_features = rows.shape
    n_entries = rows.nnz if is_sparse(rows) else n_rows * n_features
    n_bytes = max(1, int(COPIES * (12 if is_sparse(rows) else 8) * n_entries))
    n_fitting = int(min(memory.available_memory() / n_bytes, 1) * n_rows)
    memory.require_memory(
        n_bytes,
        f"learning from {n_rows} rows of {n_features} features (about {n_fitting} rows would fit)",
    )
