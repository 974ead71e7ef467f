"""What a fitted classifier computes, apart from how it was fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.columns import FARTHEST, ColumnScaling
from thresher.validation import FloatArray, check_rows

Label = str | int | float | bool


@dataclass(frozen=True, eq=False)
class HalfspaceModel:
    """What a fitted classifier computes, and what is known about it.

    Only the features that it uses have a weight and a scaling.

    Parameters
    ----------
    n_features : columns of the tables that it is for
    feature_names : their names, or None
    classes : the two labels; the second is the positive side
    support : indices of the features that it uses, ascending
    weights, offset : the halfspace in scaled columns, weights·z + offset > 0 for the second class
    center, scale : z = clip((x − center)/scale, −reach, reach) for each feature of the support
    reach : the largest absolute scaled value; infinite to leave all as they are
    provenance : how it came about (version, parameters, rows, …), plain values
    certificates : what was proven in each phase, plain values

    Examples
    --------
    >>> model = HalfspaceModel(
    ...     n_features=3, feature_names=["a", "b", "c"], classes=["no", "yes"],
    ...     support=np.array([1]), weights=np.array([1.0]), offset=-0.5,
    ...     center=np.array([10.0]), scale=np.array([2.0]), reach=2.0,
    ...     provenance={}, certificates=[])
    >>> model.predict([[0.0, 10.0, 0.0], [0.0, 12.0, 0.0]])
    array(['no', 'yes'], dtype='<U3')
    """

    n_features: int
    feature_names: list[str] | None
    classes: list[Label]
    support: NDArray[np.intp]
    weights: FloatArray
    offset: float
    center: FloatArray
    scale: FloatArray
    reach: float
    provenance: dict[str, Any]
    certificates: list[dict[str, Any]]

    # -- predicting --------------------------------------------------------------------------

    def decision_function(self, X: object) -> FloatArray:
        """As `HalfspaceClassifier.decision_function`."""
        self._refuse_other_columns(X)
        rows = check_rows(X, "X")
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got {rows.shape[1]}")
        scaling = ColumnScaling(self.center, self.scale, self.reach)
        return scaling.scores(rows, self.support, self.weights) + self.offset

    def _refuse_other_columns(self, X: object) -> None:
        """A data frame has names; the same numbers in another order would mean something else."""
        columns = getattr(X, "columns", None)
        if columns is None or self.feature_names is None:
            return
        given = [str(name) for name in columns]
        for place, (name, other) in enumerate(zip(self.feature_names, given)):
            if name != other:
                raise ValueError(f"column {place} of X must be {name!r}, got {other!r}")

    def predict(self, X: object) -> NDArray[Any]:
        """The label of each row."""
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: FloatArray) -> NDArray[Any]:
        """The label that each score of the decision function stands for."""
        return np.asarray(self.classes)[(scores > 0).astype(np.intp)]

    # -- leaving Thresher --------------------------------------------------------------------

    def to_sklearn(self) -> Any:
        """An ordinary scikit-learn pipeline with the same predictions, for dense tables.

        A `StandardScaler` that only centers, a `MinMaxScaler` that clips if there is a reach, and a
        `LogisticRegression` that stands in for its decision function: its probabilities mean
        nothing. It works in the precision of the table that it is given.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        linear = LogisticRegression()
        linear.classes_ = np.asarray(self.classes)
        linear.n_features_in_, linear.n_iter_ = self.n_features, np.zeros(1, dtype=np.int32)
        linear.coef_ = self._spread(self.weights, 0.0)[np.newaxis]
        linear.intercept_ = np.array([self.offset])
        return make_pipeline(*self._scalers(), linear)

    def _scalers(self) -> tuple[Any, Any]:
        """(x − near)·(1/scale) + (near − center)/scale with near ≈ center, then clipped.

        Centering at a number of single precision costs nothing in any precision; in one step, a
        column that lies far from zero compared with its width would lose most of its digits.
        """
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        near, scale = near_in_single_precision(self.center, self.scale), self.scale
        centering = StandardScaler(with_std=False)
        centering.mean_, centering.var_, centering.scale_ = self._spread(near, 0.0), None, None
        has_reach = math.isfinite(self.reach)
        farthest = min(self.reach, FARTHEST) if has_reach else 1.0
        clipping = MinMaxScaler(feature_range=(-farthest, farthest), clip=has_reach)
        clipping.scale_ = self._spread(1 / scale, 1.0)
        clipping.min_ = self._spread((near - self.center) / scale, 0.0)
        with np.errstate(over="ignore"):  # these three are only for those who look
            clipping.data_min_ = self._spread((self.center - near) - farthest * scale, -farthest)
            clipping.data_max_ = self._spread((self.center - near) + farthest * scale, farthest)
            clipping.data_range_ = self._spread(2 * farthest * scale, 2 * farthest)
        for scaler in (centering, clipping):
            scaler.n_features_in_, scaler.n_samples_seen_ = self.n_features, 1
        if self.feature_names is not None:
            centering.feature_names_in_ = np.asarray(self.feature_names, dtype=object)
        return centering, clipping

    def _spread(self, values: FloatArray, elsewhere: float) -> FloatArray:
        """The values at the features of the support, and another number at all others."""
        spread = np.full(self.n_features, elsewhere)
        spread[self.support] = values
        return spread

    def to_onnx(self) -> Any:
        """The pipeline of `to_sklearn` as an ONNX model, for other languages and runtimes.

        Its input `X` takes (n, n_features) numbers of double precision. Of its outputs, `label` is
        the prediction, and the second column of `scores` the decision function. Its labels are text
        or whole numbers: booleans become 0 and 1.

        Raises
        ------
        ImportError : skl2onnx is not installed
        ValueError : a label is a fraction, or needs more than 32 bits
        """
        try:
            from skl2onnx import convert_sklearn
            from skl2onnx.common.data_types import DoubleTensorType
        except ImportError as error:
            raise ImportError(
                f'ONNX models need skl2onnx ({error}): pip install "thresher[onnx]"'
            ) from error
        _refuse_labels_beyond_onnx(self.classes)
        pipeline = self.to_sklearn()
        return convert_sklearn(
            pipeline,
            "thresher",
            initial_types=[("X", DoubleTensorType([None, self.n_features]))],
            final_types=[("label", None), ("scores", DoubleTensorType([None, 2]))],
            options={id(pipeline[-1]): {"zipmap": False, "raw_scores": True}},
        )


MOST_STEPS = 1e5  # widths of a column between its center and the number near it


def near_in_single_precision(center: FloatArray, scale: FloatArray) -> FloatArray:
    """The closest numbers of single precision, where they are close compared with the scale.

    Elsewhere the centers themselves: no table of single precision could tell its rows apart.

    Examples
    --------
    >>> near_in_single_precision(np.array([1e8 + 1, 1e8 + 1]), np.array([1.0, 1e-9])) - 1e8
    array([0., 1.])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near: FloatArray = center.astype(np.float32).astype(np.float64)
        is_close = np.abs(near - center) <= MOST_STEPS * scale
    return np.where(is_close, near, center)


def _refuse_labels_beyond_onnx(classes: list[Label]) -> None:
    """The converter would cut them off without a word."""
    for label in classes:
        if not isinstance(label, str) and (int(label) != label or not -(2**31) <= label < 2**31):
            raise ValueError(
                f"a label of an ONNX model must be text or a whole number of 32 bits, got {label!r}"
            )


_CERTIFIED = (
    "n_kept",
    "n_pruned",
    "weight_removed",
    "removal_status",
    "variance_lower",
    "variance_upper",
    "optimum_lower",
    "loss",
    "loss_gap",
    "loss_status",
)


def model_of(classifier: Any) -> HalfspaceModel:
    """What a fitted `HalfspaceClassifier` computes, with its parameters and certificates."""
    scaling = classifier.scaling_.take(classifier.support_)
    names = getattr(classifier, "feature_names_in_", None)
    parameters = {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if isinstance(value, (bool, int, float, str)) or value is None
    }
    trust = classifier.row_weights_
    return HalfspaceModel(
        n_features=int(classifier.n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        classes=classifier.classes_.tolist(),
        support=classifier.support_,
        weights=classifier._weights,
        offset=float(classifier._offset),
        center=scaling.center,
        scale=scaling.scale,
        reach=float(scaling.reach),
        provenance={
            "thresher": version("thresher"),
            "parameters": parameters,
            "n_rows": int(trust.size),
            "mean_trust": float(trust.mean()),
        },
        certificates=[
            {name: _plain(getattr(outcome, name)) for name in _CERTIFIED}
            for outcome in classifier.phases_
        ],
    )


def _plain(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
