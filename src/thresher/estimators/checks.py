"""Checks of parameters, tables and labels; each error names the parameter, row or column."""

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from thresher.arrays import DeviceRows, is_foreign, to_host
from thresher.estimators.missing_values import (
    FINITE,
    MissingCells,
    by_column,
    naming_what_is_no_number,
    refuse_missing_labels,
)
from thresher.learning import PracticalSchedule
from thresher.validation import (
    FloatArray,
    Rows,
    check_count,
    check_noise_rate,
    check_positive,
    check_rows,
    check_switch,
    is_sparse,
    nonfinite_places,
    refuse_masked,
    require_in_memory,
    seed_from,
    without_duplicates,
)
from thresher.wording import COMPARE, count

FINAL_FITS = ("auto", "hinge", "penalized")
# Of halfspaces: "auto" does not limit the model.
NAMED_SPARSITIES = {"auto": 40, "all": sys.maxsize}

# Both views of the rows remove what they suspect, and trust does not come back: each removes less,
# and there may be more phases.
LABEL_AWARE_SCHEDULE = PracticalSchedule(outlier_margin=1.0, max_dirty_share=0.5)
EXTRA_FOR_SPARSE = (0.5, 0.015)  # removed on top: of the noise rate, and of all rows, at most


# -- parameters ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The checked parameters of one fit: "all" is a number, and random_state a seed.

    `sparsity` is that of the halfspaces of every phase, `most_features` the limit of a penalized
    fit; `max_columns` leaves room for the sparsity.
    """

    sparsity: int
    most_features: int | None
    noise_rate: float
    final_fit: str
    class_weight: Any
    max_columns: int
    fit_intercept: bool
    scale: bool
    reach: float
    label_aware: bool
    schedule: PracticalSchedule
    has_default_schedule: bool
    seed: int

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The parameters of a `HalfspaceClassifier`, each checked."""
        label_aware = check_switch(estimator.label_aware, "label_aware")
        sparsity = check_sparsity(estimator.sparsity)
        is_limited = estimator.sparsity not in NAMED_SPARSITIES
        return cls(
            sparsity=sparsity,
            most_features=sparsity if is_limited else None,
            final_fit=_check_final_fit(estimator.final_fit),
            class_weight=_check_class_weight(estimator.class_weight),
            max_columns=max(_check_max_columns(estimator.max_columns), sparsity),
            noise_rate=noise_rate_of(estimator),
            fit_intercept=check_switch(estimator.fit_intercept, "fit_intercept"),
            scale=check_switch(estimator.scale, "scale"),
            reach=check_positive(estimator.reach, "reach"),
            label_aware=label_aware,
            schedule=_check_schedule(estimator.schedule, label_aware),
            has_default_schedule=estimator.schedule is None,
            seed=seed_from(estimator.random_state),
        )

    def for_rows(self, rows: Rows) -> Self:
        """The settings for these rows; those on a device never leave it as a whole."""
        if not isinstance(rows, DeviceRows):
            return self
        if self.final_fit == "penalized":
            raise ValueError(
                'final_fit="penalized" needs rows in NumPy arrays; for rows on a device use "hinge"'
            )
        return replace(self, final_fit="hinge", max_columns=sys.maxsize)

    def schedule_for(self, rows: Rows) -> PracticalSchedule:
        """The schedule; the default one gives up somewhat more of sparse rows.

        They are seen once, not twice, by each phase. The halfspace of `final_fit="hinge"` is as
        Algorithm 1 has it.
        """
        is_seen_twice = not (is_sparse(rows) and self.label_aware and self.has_default_schedule)
        if is_seen_twice or self.final_fit == "hinge" or self.noise_rate == 0:
            return self.schedule
        extra = min(EXTRA_FOR_SPARSE[0], EXTRA_FOR_SPARSE[1] / self.noise_rate)
        return replace(self.schedule, outlier_margin=self.schedule.outlier_margin + extra)


def noise_rate_of(estimator: Any) -> float:
    """The noise rate of a fit: as given, or as estimated; 0 before it is."""
    if estimator.noise_rate is None:
        return float(getattr(estimator, "noise_rate_", 0.0))
    return check_noise_rate(estimator.noise_rate)


def check_sparsity(value: object, name: str = "sparsity") -> int:
    """The largest number of features of a halfspace, without a limit for "all".

    Examples
    --------
    >>> check_sparsity(5), check_sparsity("auto"), check_sparsity("all") > 10**9
    (5, 40, True)
    """
    if isinstance(value, str) and value in NAMED_SPARSITIES:
        return NAMED_SPARSITIES[value]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f'{name} must be an integer, "auto" or "all", got {value!r}')
    return check_count(value, name)


def _check_final_fit(value: object) -> str:
    if value not in FINAL_FITS:
        raise ValueError(f"final_fit must be one of {', '.join(FINAL_FITS)}, got {value!r}")
    return str(value)


def _check_class_weight(value: object) -> Any:
    if not (value is None or isinstance(value, dict) or value == "balanced"):
        raise ValueError(f'class_weight must be a dict, "balanced" or None, got {value!r}')
    return value


def class_weights(class_weight: Any, labels: Any) -> FloatArray:
    """The weight of the class of each row: ones for None, n/(2·size of the class) for "balanced".

    Examples
    --------
    >>> class_weights("balanced", np.array(["no", "no", "yes"])), class_weights({0: 3}, [0, 1])
    (array([0.75, 0.75, 1.5 ]), array([3., 1.]))
    """
    if class_weight is None:
        return np.ones(len(labels))
    classes, codes = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, dict):
        for label in class_weight:
            if label not in classes.tolist():
                raise ValueError(f"class_weight has {label!r}, which is not a label in y")
        given = [class_weight.get(label, 1.0) for label in classes.tolist()]
        weights = np.asarray(given, dtype=np.float64)
    else:
        weights = codes.size / (classes.size * np.bincount(codes))
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError(f"class_weight must have finite positive weights, got {class_weight!r}")
    found: FloatArray = weights[codes]
    return found


def _check_max_columns(value: object) -> int:
    return sys.maxsize if value is None else check_count(value, "max_columns")


def check_n_jobs(value: object) -> None:
    """Refuse what joblib does not take: only None and integers other than 0 are valid."""
    if value is not None and check_count(value, "n_jobs", minimum=-sys.maxsize) == 0:
        raise ValueError("n_jobs must be ≥ 1, or negative to count down from all CPUs, got 0")


def _check_schedule(value: object, label_aware: bool) -> PracticalSchedule:
    if value is None:
        return LABEL_AWARE_SCHEDULE if label_aware else PracticalSchedule()
    if not isinstance(value, PracticalSchedule):
        raise TypeError(f"schedule must be a PracticalSchedule or None, got {value!r}")
    return value


# -- tables and labels -----------------------------------------------------------------------


def check_table_where_it_is(estimator: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """As `check_training_table`; rows of CuPy or Torch stay on their device."""
    check = _check_device_table if is_foreign(X) else check_training_table
    return check(estimator, X, y)


def check_training_table(estimator: Any, X: Any, y: Any) -> tuple[Rows, Any]:
    """Finite rows, dense or CSR, and one label per row; sets the estimator's `n_features_in_`."""
    refuse_masked(y, "y")
    try:
        rows, labels = _validated(estimator, X, y=y)
    except ValueError as error:
        if "contains NaN" in str(error):
            refuse_missing_labels(y)
        raise
    return _finite(rows, X, estimator), labels


def _check_device_table(estimator: Any, X: Any, y: Any) -> tuple[DeviceRows, Any]:
    rows, labels = check_rows(X), column_or_1d(to_host(y))
    check_consistent_length(labels, np.empty(rows.shape[0]))
    estimator.n_features_in_ = rows.shape[1]
    return DeviceRows(rows), labels


def check_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """A weight of at least 0 for each row; None if all are 1.

    Examples
    --------
    >>> check_sample_weight([2, 0], 2)
    array([2., 0.])
    >>> check_sample_weight([1.0, -1.0], 2)
    Traceback (most recent call last):
    ValueError: sample_weight must be finite and not negative, got sample_weight[1] = -1.0
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    weights = np.asarray(to_host(sample_weight), dtype=np.float64)
    if weights.shape != (n_rows,):
        shape = "a number" if weights.ndim == 0 else f"shape {weights.shape}"
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {shape}")
    is_usable = np.isfinite(weights) & (weights >= 0)
    if not is_usable.all():
        place = int(np.argmin(is_usable))
        got = f"sample_weight[{place}] = {float(weights[place])}"
        raise ValueError(f"sample_weight must be finite and not negative, got {got}")
    if not weights.any():
        raise ValueError("sample_weight must not be all zero")
    return None if (weights == 1).all() else weights


def check_table(estimator: Any, X: Any) -> Rows:
    """Finite rows, dense or CSR, with the columns that the estimator was fitted to."""
    if is_foreign(X):
        rows = check_rows(X)
        if rows.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input"
            )
        return DeviceRows(rows)
    return _finite(_validated(estimator, X, reset=False), X, estimator)


def check_two_classes(y: Any) -> tuple[Any, FloatArray]:
    """The two classes, sorted, and the label of each row as -1 or +1.

    Examples
    --------
    >>> check_two_classes(np.array(["no", "yes", "no"]))
    (array(['no', 'yes'], dtype='<U3'), array([-1.,  1., -1.]))
    """
    try:
        kind = type_of_target(y, input_name="y")
        if kind.startswith("continuous"):
            raise ValueError(f"Unknown label type: {kind}. {advice_on_numbers(y)}")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        refuse_missing_labels(y)
        raise TypeError(f"y must hold the labels of two classes: {error}") from error
    if kind not in ("binary", "unknown"):
        first = classes.tolist()[0]
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"y has {classes.size} distinct labels. Keep the rows of two of them, or compare one "
            f"with the others: y == {first!r}"
        )
    if classes.size != 2:
        raise ValueError(
            "Classifier can't train when only one class is present: "
            f"every label in y is {classes.tolist()[0]!r}"
        )
    signs: FloatArray = 2.0 * codes.astype(np.float64) - 1.0
    return classes, signs


def advice_on_numbers(y: Any) -> str:
    """What was expected of labels that are measurements, what was found, and what to do.

    Examples
    --------
    >>> advice_on_numbers(np.array([0.5, 2.25, 1.5]))
    'y must hold two labels, but it holds 3 distinct numbers, from 0.5 to 2.25. To predict whether
    a number is large, compare it with a threshold first: y > 1.5'
    """
    numbers = np.asarray(y, dtype=np.float64)
    return (
        f"y must hold two labels, but it holds {np.unique(numbers).size:,} distinct numbers, from "
        f"{numbers.min():.4g} to {numbers.max():.4g}. {COMPARE}: y > {np.median(numbers):.4g}"
    )


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """The table after scikit-learn's checks; entries can still be infinite or missing."""
    require_in_memory(X)
    refuse_dates(X)
    refuse_masked(X, "X")
    refuse_repeated_names(X)
    with naming_what_is_no_number(X):
        return validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
            **options,
        )


def refuse_repeated_names(X: Any) -> None:
    """Raise for columns that cannot be told apart, whatever the version of scikit-learn does."""
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
    if len(set(names)) < len(names):
        name, number = Counter(names).most_common(1)[0]
        raise ValueError(f"X must have unique column names, but {name!r} occurs {number} times")


def refuse_dates(X: Any) -> None:
    """Dates would silently become numbers in some unit."""
    names = getattr(X, "columns", None)
    dtypes = getattr(X, "dtypes", ()) if names is not None else [getattr(X, "dtype", None)]
    for i, dtype in enumerate(dtypes):
        is_temporal = getattr(dtype, "is_temporal", None)  # Polars
        if getattr(dtype, "kind", None) in ("m", "M") or (callable(is_temporal) and is_temporal()):
            what = "X" if names is None else f"column {names[i]!r} of X"
            raise TypeError(f"{what} must hold numbers, got dates or times ({dtype})")


def _finite(rows: Rows, X: Any, estimator: Any) -> Rows:
    """The rows, sparse ones without duplicate entries, or an error that names columns of X."""
    rows = without_duplicates(rows) if is_sparse(rows) else rows
    i, j = nonfinite_places(rows)
    if not i.size:
        return rows
    found = (
        f"Input X contains NaN or infinity in {count(j.size, 'cell')}; by column: "
        f"{by_column(j, X)}; the first is X[{i[0]}, {j[0]}] = {rows[i[0], j[0]]}"
    )
    name = type(estimator).__name__
    if np.isinf(rows.data if is_sparse(rows) else rows).any():
        found = f"{found}. {FINITE}"
    raise MissingCells(
        found,
        f"{name} does not accept missing values. Fill them in: "
        f"make_pipeline(SimpleImputer(strategy='median', add_indicator=True), {name}())",
    )
