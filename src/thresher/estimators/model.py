"""A fitted model without the estimator around it: predictions, and exports to other formats."""

import math
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.calibration import check_slope, probabilities
from thresher.estimators.columns import FARTHEST, ColumnScaling
from thresher.estimators.pools import scores_of_pool
from thresher.learning import PhaseOutcome
from thresher.oracles import LargePool
from thresher.preparation import TablePreparation, columns_of
from thresher.validation import FloatArray, check_rows
from thresher.wording import count

Label = str | int | float | bool


@dataclass(frozen=True, eq=False, repr=False)
class HalfspaceModel:
    """A fitted model: what is needed for predictions, and a record of how it was fitted.

    Only the features of the support have a weight and a scaling.

    Parameters
    ----------
    n_features : number of columns of X
    feature_names : their names, or None
    classes : the two labels; the second is the positive class
    support : indices of the features in the model, ascending
    weights, offset : the halfspace in scaled columns: weights·z + offset > 0 is the second class
    center, scale : z = clip((x − center)/scale, −reach, reach) for each feature of the support
    reach : the largest absolute scaled value; infinity for no limit
    provenance : how the model was fitted (version, parameters, number of rows, …), plain values
    certificates : what was asked and proven in each phase, plain values
    preparation : how the columns of a file or data frame become those of the model; None if they
        are the same. With it, X must be a data frame with the columns of the training file
    probability_slope : the log odds of the second class are this times the score; None in files of
        earlier versions, which have no probabilities

    Examples
    --------
    >>> model = HalfspaceModel(
    ...     n_features=3, feature_names=["a", "b", "c"], classes=["no", "yes"],
    ...     support=np.array([1]), weights=np.array([1.0]), offset=-0.5,
    ...     center=np.array([10.0]), scale=np.array([2.0]), reach=2.0,
    ...     provenance={}, certificates=[])
    >>> model.predict([[0.0, 10.0, 0.0], [0.0, 12.0, 0.0]])
    array(['no', 'yes'], dtype='<U3')
    >>> model
    HalfspaceModel(1 of 3 features, classes ['no', 'yes'])
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
    preparation: TablePreparation | None = None
    probability_slope: float | None = None

    @classmethod
    def of(cls, classifier: Any) -> Self:
        """The model of a fitted `HalfspaceClassifier`, with its parameters and certificates."""
        scaling = classifier.scaling_.take(classifier.support_)
        names = getattr(classifier, "feature_names_in_", None)
        return cls(
            n_features=int(classifier.n_features_in_),
            feature_names=None if names is None else [str(name) for name in names],
            classes=classifier.classes_.tolist(),
            support=classifier.support_,
            weights=classifier._weights,
            offset=float(classifier._offset),
            center=scaling.center,
            scale=scaling.scale,
            reach=float(scaling.reach),
            provenance=_provenance(classifier),
            certificates=[_certificate(outcome) for outcome in classifier.phases_],
            probability_slope=classifier.probability_slope_,
        )

    def __repr__(self) -> str:
        used = f"{self.support.size:,} of {count(self.n_features, 'feature')}"
        parts = [used, f"classes {self.classes}"]
        given = self.provenance.get("parameters", {})
        parts += [f"{n}={given[n]!r}" for n in ("sparsity", "noise_rate") if n in given]
        if "n_rows" in self.provenance:
            parts.append(f"trained on {count(self.provenance['n_rows'], 'row')}")
        return f"HalfspaceModel({', '.join(parts)})"

    # -- predictions -------------------------------------------------------------------------

    def decision_function(self, X: object) -> FloatArray:
        """As `HalfspaceClassifier.decision_function`."""
        if isinstance(X, LargePool):
            return scores_of_pool(self, X)
        if self.preparation is not None:
            columns = columns_of(X, self.preparation.used_columns)
            prepared = self.preparation.prepare({column.name: column for column in columns})
            return replace(self, preparation=None).decision_function(prepared.X)
        self._refuse_other_columns(X)
        rows = check_rows(X, "X")
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got {rows.shape[1]}")
        scaling = ColumnScaling(self.center, self.scale, self.reach)
        return scaling.scores(rows, self.support, self.weights) + self.offset

    def _refuse_other_columns(self, X: object) -> None:
        """Raise if the columns of a data frame have other names, or another order."""
        columns = getattr(X, "columns", None)
        if columns is None or self.feature_names is None:
            return
        given = [str(name) for name in columns]
        for place, (name, other) in enumerate(zip(self.feature_names, given)):
            if name != other:
                raise ValueError(f"column {place} of X must be {name!r}, got {other!r}")

    def predict(self, X: object) -> NDArray[Any]:
        """The predicted label of each row."""
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: FloatArray) -> NDArray[Any]:
        """The predicted label for each score of the decision function."""
        return np.asarray(self.classes)[(scores > 0).astype(np.intp)]

    def predict_proba(self, X: object) -> FloatArray:
        """As `HalfspaceClassifier.predict_proba`."""
        return probabilities(self.decision_function(X), check_slope(self.probability_slope))

    # -- exports -----------------------------------------------------------------------------

    def to_sklearn(self, *, with_probabilities: bool = False) -> Any:
        """A plain scikit-learn pipeline with the same predictions, for dense tables.

        A `StandardScaler` that only centers, a `MinMaxScaler` that scales and clips, and a
        `LinearSVC` with the model's coefficients, which was never fitted itself. It has the same
        decision function, but no `predict_proba`. With probabilities, the last step is a
        `LogisticRegression` instead, with the same `predict_proba`; its decision function is the
        log odds. It computes in the precision of the table. With a preparation, these steps follow
        a `CellReader`, which turns the cells of a data frame into numbers and texts, and a
        `ColumnTransformer`.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        linear, factor = LinearSVC(), 1.0
        if with_probabilities:
            linear, factor = LogisticRegression(), check_slope(self.probability_slope)
        linear.classes_ = np.asarray(self.classes)
        linear.n_features_in_, linear.n_iter_ = self.n_features, 0
        linear.coef_ = factor * self._spread(self.weights, 0.0)[np.newaxis]
        linear.intercept_ = factor * np.array([self.offset])
        first = () if self.preparation is None else self.preparation.to_sklearn()
        return make_pipeline(*first, *self._scalers(), linear)

    def _scalers(self) -> tuple[Any, Any]:
        """(x − near)·(1/scale) + (near − center)/scale with near ≈ center, then clipped.

        A center in single precision is exact in any precision. In one step, a column that lies far
        from zero relative to its scale would lose most of its digits.
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
        for scaler in (centering, clipping):
            scaler.n_features_in_, scaler.n_samples_seen_ = self.n_features, 1
        if self.feature_names is not None and self.preparation is None:
            centering.feature_names_in_ = np.asarray(self.feature_names, dtype=object)
        return centering, clipping

    def _spread(self, values: FloatArray, elsewhere: float) -> FloatArray:
        """The values at the features of the support, and `elsewhere` at all others."""
        spread = np.full(self.n_features, elsewhere)
        spread[self.support] = values
        return spread

    def to_onnx(self) -> Any:
        """The pipeline of `to_sklearn` as an ONNX model, for other languages and runtimes.

        The input `X` has shape (n, n_features) and double precision. The output `label` is the
        prediction, and the second column of `scores` the decision function. Labels are strings or
        integers; booleans become 0 and 1. With a preparation, there is an input of shape (n, 1) for
        each column, numbers in double precision first, then categories as strings; no cell may be
        missing. The converter replaces odd characters in names of columns.

        Raises
        ------
        ImportError : skl2onnx is not installed
        ValueError : a label is not an integer, or needs more than 32 bits; or a column has missing
            cells, rare categories or words, which the converter does not know
        """
        try:
            from skl2onnx import convert_sklearn
            from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
        except ImportError as error:
            raise ImportError(
                f'to_onnx needs skl2onnx ({error}): pip install "thresher[onnx]"'
            ) from error
        _refuse_labels_beyond_onnx(self.classes)
        pipeline = replace(self, preparation=None).to_sklearn()
        inputs = [("X", DoubleTensorType([None, self.n_features]))]
        if self.preparation is not None:
            numbers, categories = self.preparation.numbers, self.preparation.categories
            pipeline.steps.insert(0, ("preparation", self.preparation.for_complete_cells()))
            inputs = [(column.name, DoubleTensorType([None, 1])) for column in numbers]
            inputs += [(column.name, StringTensorType([None, 1])) for column in categories]
        return convert_sklearn(
            pipeline,
            "thresher",
            initial_types=inputs,
            final_types=[("label", None), ("scores", DoubleTensorType([None, 2]))],
            options={id(pipeline[-1]): {"raw_scores": True}},
        )


MOST_SCALES = 1e5  # between a center and its single-precision neighbor


def near_in_single_precision(center: FloatArray, scale: FloatArray) -> FloatArray:
    """The centers rounded to single precision, where the rounding is small relative to the scale.

    Elsewhere the centers themselves: rows in single precision could not be told apart anyway.

    Examples
    --------
    >>> near_in_single_precision(np.array([1e8 + 1, 1e8 + 1]), np.array([1.0, 1e-9])) - 1e8
    array([0., 1.])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near: FloatArray = center.astype(np.float32).astype(np.float64)
        is_close = np.abs(near - center) <= MOST_SCALES * scale
    return np.where(is_close, near, center)


def _refuse_labels_beyond_onnx(classes: list[Label]) -> None:
    """The converter would silently truncate them."""
    for label in classes:
        if not isinstance(label, str) and (int(label) != label or not -(2**31) <= label < 2**31):
            raise ValueError(f"ONNX labels must be strings or 32-bit integers, got {label!r}")


def _provenance(classifier: Any) -> dict[str, Any]:
    parameters = {name: _plain(v) for name, v in classifier.get_params(deep=False).items()}
    kept = {n: v for n, v in parameters.items() if isinstance(v, bool | int | float | str | None)}
    trust = classifier.row_weights_
    return {
        "thresher": version("thresher"),
        "parameters": kept,
        "n_rows": int(trust.size),
        "mean_trust": float(trust.mean()),
    }


def _certificate(outcome: PhaseOutcome) -> dict[str, Any]:
    record = outcome.as_record()
    del record["halfspace"]  # the last one is the model
    return {name: _plain(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    """The value as JSON has it: no NumPy numbers, and None for what is not finite."""
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
