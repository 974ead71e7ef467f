"""`TrustedClassifier`: trust in the rows of a table, for any classifier that takes weights."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _num_samples,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from thresher.estimators.checks import check_sample_weight, class_weights, refuse_dates
from thresher.estimators.halfspace import HalfspaceClassifier
from thresher.estimators.missing_values import (
    MissingCells,
    naming_what_is_no_number,
    refuse_infinite,
)
from thresher.estimators.pools import in_memory
from thresher.estimators.use_of_trust import Filtered, Judged, UseOfTrust
from thresher.learning import PracticalSchedule
from thresher.validation import FloatArray, is_sparse, refuse_masked, require_in_memory

SHARED = ("noise_rate", "class_weight", "max_columns", "label_aware", "schedule", "random_state")


def _offers(name: str) -> Any:
    """Whether the estimator has a method: the fitted one, or else the given one."""

    def offers(self: "TrustedClassifier") -> bool:
        estimator = getattr(self, "estimator_", self.estimator)
        getattr(HalfspaceClassifier if estimator is None else estimator, name)
        return True

    return available_if(offers)


class TrustFilter(HalfspaceClassifier):
    """A `HalfspaceClassifier` whose final model uses its trust whenever rows stand out.

    What helps the classifier around it is judged with that classifier.
    """

    _always_uses_trust = True


class TrustedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier that takes weights, fitted with the trust that each row deserves.

    The trust is that of a `HalfspaceClassifier` with sparsity "auto". It is found by a linear model
    over scaled columns; the classifier that uses it can be of any kind, for instance a forest or
    boosted trees. If no rows stand out, every row has weight 1. What a linear model distrusts, a
    forest may need: so the classifier uses no more of the trust than improves its predictions of
    held-out rows.

    Parameters
    ----------
    estimator : classifier whose `fit` takes `sample_weight`, or a pipeline that ends with one
        In a pipeline, trust is found on the output of the steps before the last one. With None, the
        classifier is the penalized fit of `HalfspaceClassifier`.
    noise_rate : float or None, default=0.05
        Largest share of planted rows to withstand, below 0.5. None: it is estimated.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights that the estimator gets, on top of a `class_weight` of its own.
    max_columns, label_aware, schedule, random_state : as in `HalfspaceClassifier`

    Attributes
    ----------
    estimator_ : the fitted clone of `estimator`
    filter_ : the fitted `HalfspaceClassifier` that found the trust
    row_weights_ : (n_rows,) the trust in each training row that was used, from 0 to 1; all of it,
        used or not, is in `filter_.row_weights_`
    use_of_trust_ : how much of the trust was used, from the least to the most. "none": nothing
        stands out, or fits without trust predict held-out rows about as well as any; "improbable":
        fits without rows whose labels are improbable to a forest and a kernel model predict best;
        "labels": fits without rows whose labels strongly contradict linear fits predict about as
        well as any; "all": none of these do, a class has fewer than 10 rows, no part of the rows
        can be fitted, or `estimator` is None (then the model uses it if `evidence_.helps`). At most
        `noise_rate` of the rows are left out because of their labels
    evidence_ : the `Evidence`, with a sentence on what stands out
    classes_ : the two labels
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Missing values go to estimators that accept them; trust is then found with the median of the
    column in their place. Trust protects against rows that steer a linear model. An attack that
    only a forest would notice can pass unseen.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((600, 5))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> X[:60], y[:60] = [3, -3, 3, -3, 3], "no"  # planted
    >>> model = TrustedClassifier(DecisionTreeClassifier(max_depth=1), noise_rate=0.1).fit(X, y)
    >>> bool(model.row_weights_[:60].max() < 0.2 < model.row_weights_[60:].mean())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        noise_rate: float | None = 0.05,
        class_weight: Any = None,
        max_columns: int | None = 400,
        label_aware: bool = True,
        schedule: PracticalSchedule | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.noise_rate = noise_rate
        self.class_weight = class_weight
        self.max_columns = max_columns
        self.label_aware = label_aware
        self.schedule = schedule
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the trust in each row, and fit a clone of the estimator with it.

        `sample_weight` is as in `HalfspaceClassifier.fit`. The estimator gets its product with the
        trust, and rows of positive weight only; earlier steps of a pipeline get no weights.

        Raises
        ------
        TypeError
            The estimator's `fit` takes no `sample_weight`.
        ValueError
            As in `HalfspaceClassifier.fit`; missing values are refused unless the estimator accepts
            them.
        """
        steps, last = _steps_and_last(self.estimator)
        _require_sample_weight(last)
        X, y = in_memory(self, X, y)
        require_in_memory(X)
        refuse_masked(X, "X")
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_
        X, y, weights, kept = _of_positive_weight(X, y, sample_weight)
        rows = X if steps is None else steps.fit_transform(X, y)
        rows = rows.tocsr() if is_sparse(rows) else rows
        complete = _complete(rows) if _accepts_missing_values(last) else rows
        self.filter_ = self._fitted_filter(complete, y, weights, last)
        self.classes_, self.evidence_ = self.filter_.classes_, self.filter_.evidence_
        used = UseOfTrust("all", self.filter_.row_weights_)
        if last is None:
            last = self.filter_
        else:
            labels = column_or_1d(y)
            base = class_weights(self.class_weight, labels) * (1.0 if weights is None else weights)
            filtered = Filtered(self.filter_, complete, labels, weights)
            used = Judged(last, rows, labels, base, filtered).use()
            last.fit(rows, y, **self._weights_of(base, used, weights is None))
        self.row_weights_, self.use_of_trust_ = np.zeros(kept.size), used.name
        self.row_weights_[kept] = used.weights
        is_pipeline = isinstance(self.estimator, Pipeline)
        self.estimator_ = _joined(self.estimator, steps, last) if is_pipeline else last
        return self

    def _weights_of(
        self, base: FloatArray, used: UseOfTrust, is_unweighted: bool
    ) -> dict[str, Any]:
        """For `fit`: nothing if all are 1, which some estimators do not take for nothing."""
        if is_unweighted and self.class_weight is None and (used.weights == 1).all():
            return {}
        return {"sample_weight": base * used.weights}

    def _fitted_filter(self, rows: Any, labels: Any, weights: Any, last: Any) -> Any:
        kind = HalfspaceClassifier if last is None else TrustFilter
        shared = {name: getattr(self, name) for name in SHARED}
        try:
            return kind("auto", final_fit="penalized", **shared).fit(rows, labels, weights)
        except MissingCells as error:
            raise MissingCells(error.args[0], _how_to_fill_in(last)) from None

    @_offers("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """The estimator's predictions."""
        return self._fitted().predict(X)

    @_offers("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The estimator's probabilities of the two classes."""
        return self._fitted().predict_proba(X)

    @_offers("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of the estimator's probabilities."""
        return self._fitted().predict_log_proba(X)

    @_offers("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The estimator's scores: positive for the second class."""
        return self._fitted().decision_function(X)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = get_tags(HalfspaceClassifier() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = given.input_tags.sparse
        tags.input_tags.allow_nan = given.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        return tags


def _of_positive_weight(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
    """The rows of positive weight, their labels and weights, and which of all rows they are."""
    n_rows = _num_samples(X)
    weights = check_sample_weight(sample_weight, n_rows)
    kept = np.ones(n_rows, dtype=np.bool_) if weights is None else weights > 0
    if weights is None or kept.all():
        return X, y, weights, kept
    check_consistent_length(X, y)
    chosen = np.flatnonzero(kept)
    return _safe_indexing(X, chosen), _safe_indexing(y, chosen), weights[kept], kept


def _steps_and_last(estimator: Any) -> tuple[Any, Any]:
    """The steps of a pipeline before its last one, and that; all unfitted clones."""
    if not isinstance(estimator, Pipeline):
        return None, None if estimator is None else clone(estimator)
    return clone(estimator[:-1]) if len(estimator.steps) > 1 else None, clone(estimator[-1])


def _joined(pipeline: Pipeline, steps: Pipeline | None, last: Any) -> Pipeline:
    """A pipeline of fitted steps with the names and settings of the given one."""
    joined = clone(pipeline)
    joined.steps = [*(steps.steps if steps else ()), (pipeline.steps[-1][0], last)]
    return joined


def _complete(rows: Any) -> Any:
    """Dense rows with the median of its column in place of a missing value."""
    if is_sparse(rows):
        return rows
    refuse_dates(rows)
    with naming_what_is_no_number(rows):
        numbers = check_array(rows, dtype=np.float64, ensure_all_finite=False)
    refuse_infinite(numbers, rows)
    return SimpleImputer(strategy="median", keep_empty_features=True).fit_transform(numbers)


def _how_to_fill_in(estimator: Any) -> str:
    """What to do about missing values that the estimator does not take."""
    inner = "" if estimator is None else f"{type(estimator).__name__}()"
    trusted = f"TrustedClassifier({inner})"
    return (
        f"{trusted} does not accept missing values. Fill them in: "
        f"make_pipeline(SimpleImputer(strategy='median', add_indicator=True), {trusted}). "
        "Or use an estimator that takes them, such as HistGradientBoostingClassifier"
    )


def _accepts_missing_values(estimator: Any) -> bool:
    return estimator is not None and bool(get_tags(estimator).input_tags.allow_nan)


def _require_sample_weight(estimator: Any) -> None:
    if estimator is None or has_fit_parameter(estimator, "sample_weight"):
        return
    advice = "Use one that does, such as RandomForestClassifier or LogisticRegression"
    if isinstance(estimator, Pipeline):
        advice = "Use one pipeline with all steps instead of a pipeline in a pipeline"
    raise TypeError(
        f"estimator must take sample_weight in fit, and {type(estimator).__name__} does not: "
        f"trust has no way in. {advice}"
    )
