"""What a fitted classifier computes, apart from how it was fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.columns import ColumnScaling
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
        rows = check_rows(X, "X")
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got {rows.shape[1]}")
        scaling = ColumnScaling(self.center, self.scale, self.reach)
        return scaling.scores(rows, self.support, self.weights) + self.offset

    def predict(self, X: object) -> NDArray[Any]:
        """The label of each row."""
        return np.asarray(self.classes)[(self.decision_function(X) > 0).astype(np.intp)]

    def to_sklearn(self) -> Any:
        """An ordinary scikit-learn pipeline with the same predictions, for dense tables.

        A `MinMaxScaler` that clips, if there is a reach, and a `LogisticRegression` that only
        stands in for its decision function: its probabilities mean nothing.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        linear = LogisticRegression()
        linear.classes_ = np.asarray(self.classes)
        linear.n_features_in_, linear.n_iter_ = self.n_features, np.zeros(1, dtype=np.int32)
        linear.coef_, linear.intercept_ = np.zeros((1, self.n_features)), np.array([self.offset])
        if math.isfinite(self.reach):
            linear.coef_[0, self.support] = self.weights
            return make_pipeline(self._clipping_scaler(), linear)
        in_units = self.weights / self.scale
        linear.coef_[0, self.support] = in_units
        linear.intercept_ = np.array([self.offset - in_units @ self.center])
        self._name_features(linear)
        return make_pipeline(linear)

    def _clipping_scaler(self) -> Any:
        """Columns from center ± reach·scale to ±reach, and no farther; unused ones as they are."""
        from sklearn.preprocessing import MinMaxScaler

        scaler = MinMaxScaler(feature_range=(-self.reach, self.reach), clip=True)
        center, scale = np.zeros(self.n_features), np.ones(self.n_features)
        center[self.support], scale[self.support] = self.center, self.scale
        scaler.data_min_, scaler.data_max_ = (
            center - self.reach * scale,
            center + self.reach * scale,
        )
        scaler.data_range_, scaler.scale_, scaler.min_ = (
            2 * self.reach * scale,
            1 / scale,
            -center / scale,
        )
        scaler.n_features_in_, scaler.n_samples_seen_ = self.n_features, 1
        self._name_features(scaler)
        return scaler

    def _name_features(self, step: Any) -> None:
        if self.feature_names is not None:
            step.feature_names_in_ = np.asarray(self.feature_names, dtype=object)


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
