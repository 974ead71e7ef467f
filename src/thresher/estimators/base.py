"""What both classifiers share: predictions, exports and scikit-learn's callbacks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from thresher.arrays import like, to_host
from thresher.estimators.calibration import check_slope, log_probabilities, probabilities
from thresher.estimators.checks import check_table
from thresher.estimators.columns import ColumnScaling
from thresher.estimators.model import HalfspaceModel
from thresher.estimators.pools import scores_of_pool
from thresher.learning import PhaseOutcome
from thresher.oracles import LargePool
from thresher.rendering.progress import Move
from thresher.validation import FloatArray, Rows

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method itself."""
        return method


__all__ = ["FitReport", "FittedHalfspace", "with_callbacks"]


class FittedHalfspace(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Everything a fitted classifier can do; a subclass adds the parameters and `fit`."""

    scaling_: ColumnScaling
    support_: NDArray[np.intp]
    classes_: NDArray[Any]
    row_weights_: FloatArray
    phases_: tuple[PhaseOutcome, ...]
    probability_slope_: float | None
    _weights: FloatArray
    _offset: float

    def decision_function(self, X: Any) -> FloatArray:
        """A score for each row: positive for the second class, larger farther from the boundary.

        Only the columns of `support_` matter; of a pool larger than memory, only they are read.
        """
        check_is_fitted(self)
        if isinstance(X, LargePool):
            return scores_of_pool(self.to_model(), X)
        return like(self._scores(check_table(self, X)), X)

    def _scores(self, rows: Rows) -> FloatArray:
        scaling = self.scaling_.take(self.support_)
        return scaling.scores(rows, self.support_, self._weights) + self._offset

    def predict(self, X: Any) -> Any:
        """The predicted label of each row."""
        return self._labels(to_host(self.decision_function(X)))

    def _labels(self, scores: FloatArray) -> Any:
        return self.classes_[(scores > 0).astype(np.intp)]

    def predict_proba(self, X: Any) -> FloatArray:
        """(n, 2) the probability of each class, in the order of `classes_`.

        The larger one belongs to the predicted class. Calibrated on the trusted training rows, and
        on those that were distrusted for their labels or losses alone: by the scores that they had
        when they were held out or, with `final_fit="hinge"` in `HalfspaceClassifier`, by those of
        the fit itself.
        """
        scores = to_host(self.decision_function(X))
        return like(probabilities(scores, check_slope(self.probability_slope_)), X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of `predict_proba`."""
        scores = to_host(self.decision_function(X))
        return like(log_probabilities(scores, check_slope(self.probability_slope_)), X)

    def to_model(self) -> HalfspaceModel:
        """The fitted model without the estimator around it, for `save_model`."""
        check_is_fitted(self)
        return HalfspaceModel.of(self)

    def to_sklearn(self, *, with_probabilities: bool = False) -> Any:
        """A plain scikit-learn pipeline with the same predictions, see `HalfspaceModel`."""
        return self.to_model().to_sklearn(with_probabilities=with_probabilities)

    def to_onnx(self) -> Any:
        """An ONNX model with the same predictions, see `HalfspaceModel`."""
        return self.to_model().to_onnx()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class FitReport:
    """Reports the progress of `fit(X, y)` to the callbacks of an estimator, and to a progress bar.

    `n_tasks` is the largest number of tasks in this fit; `move` moves the bar to the number that
    are finished.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, n_tasks: int | None = None, move: Move | None = None
    ) -> None:
        self._n_done, self._move = 0, move or (lambda _: None)
        self._move(0)  # starts the clock of the bar
        self._data = {"estimator": estimator, "X": X, "y": y}
        start = getattr(estimator, "_init_callback_context", None)
        self._context = None if start is None else start(max_subtasks=n_tasks)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def task_ended(self, name: str, attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
        """Report a task, and return whether a callback asks to stop the fit.

        `attributes` returns the fitted attributes as of now. It is called only if a callback wants
        to see the fitted estimator.
        """
        self._n_done += 1
        self._move(self._n_done)
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._data)
        return bool(task.call_on_fit_task_end(**self._data, reconstruction_attributes=attributes))

    def fit_ended(self) -> None:
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})
