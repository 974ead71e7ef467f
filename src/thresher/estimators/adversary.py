"""What planted rows can have hidden from a fitted classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.adversary import AdversaryBound, bound_adversary
from thresher.estimators.checks import check_sample_weight, check_table
from thresher.estimators.columns import HomogeneousRows
from thresher.estimators.copies import n_copies
from thresher.validation import FloatArray, check_noise_rate, check_positive, refuse_masked

DISTANCE = 0.25  # about 14 degrees between unit vectors


def bound_on_adversary(
    classifier: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    noise_rate: float | None = None,
    distance: float = DISTANCE,
    hinge_scale: float | None = None,
    clean_variance: float | None = None,
) -> AdversaryBound:
    """How much lower the clean rows' hinge loss can be at another halfspace near the fitted one.

    Proven for the table that was fitted, whichever rows of it were planted. Halfspaces are unit
    vectors over the scaled and clipped columns that the phases looked at or that the model uses,
    and the column of ones. The weights of the proof are the best of: the trust, the first phase's
    weights, and ones.

    Parameters
    ----------
    classifier : a fitted `HalfspaceClassifier` or `HalfspaceClassifierCV`
    X, y : the table that it was fitted to
    sample_weight : the weights that it was fitted with
    noise_rate : share of the rows that may be planted; the classifier's by default
    distance : of the other halfspaces, at most
    hinge_scale : margin of the hinge loss; that of the first phase by default, which looks at every
        row
    clean_variance : assume that the clean rows have at most this variance (uncentered, divided by
        the number of all rows) in every unit direction over few features; None assumes nothing

    Examples
    --------
    >>> from thresher import HalfspaceClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 10))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, 1, -1)
    >>> model = HalfspaceClassifier(2, noise_rate=0.02, random_state=0).fit(X, y)
    >>> print(bound_on_adversary(model, X, y).sentence())
    Whichever 40 of these 2,000 rows were planted, ...
    """
    check_is_fitted(classifier)
    has_ones = bool(classifier.fit_intercept)
    columns = bounded_columns(classifier)
    scaling = classifier.scaling_.take(columns)
    rows = HomogeneousRows(check_table(classifier, X)[:, columns], scaling, has_ones)[:]
    refuse_masked(y, "y")
    labels = np.where(np.asarray(y) == classifier.classes_[1], 1.0, -1.0)
    given = check_sample_weight(sample_weight, labels.size)
    weights = _candidates(classifier, labels.size)
    if given is not None:
        places = np.repeat(np.arange(labels.size), n_copies(given))
        rows, labels, weights = rows[places], labels[places], weights[:, places]
    rate = _noise_rate(classifier) if noise_rate is None else check_noise_rate(noise_rate)
    n_used = max(int(classifier.support_.size), 1)
    first = classifier.phases_[0].phase
    asked: dict[str, Any] = {
        "n_planted": most_planted(rate, labels.size),
        "hinge_scale": check_positive(hinge_scale or first.hinge_scale, "hinge_scale"),
        "distance": check_positive(distance, "distance"),
        "l1_ratio": float(np.sqrt(min(2 * n_used + has_ones, rows.shape[1]))),
    }
    point = halfspace_of(classifier)
    bounds = [
        bound_adversary(rows, labels, point, weights=weights, clean_variance=variance, **asked)
        for variance in dict.fromkeys((None, clean_variance))  # assumed or not, what proves more
    ]
    return min(bounds, key=lambda bound: bound.value)


def most_planted(noise_rate: float, n_rows: int) -> int:
    """How many rows are planted at most: a whole number, whatever is lost by rounding.

    Examples
    --------
    >>> most_planted(0.0309, 340), most_planted(0.29, 100)
    (10, 29)
    """
    return int(noise_rate * n_rows * (1 + 1e-12))


def bounded_columns(classifier: Any) -> NDArray[np.intp]:
    """The columns that the phases looked at or that the model uses, in increasing order."""
    return np.union1d(classifier.columns_, classifier.support_)


def halfspace_of(classifier: Any) -> FloatArray:
    """The model as a unit vector over its `bounded_columns`, with the intercept at the end."""
    columns = bounded_columns(classifier)
    vector = np.zeros(columns.size + bool(classifier.fit_intercept))
    vector[np.searchsorted(columns, classifier.support_)] = classifier._weights
    vector[columns.size :] = classifier._offset
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


def _candidates(classifier: Any, n_rows: int) -> FloatArray:
    """The trust, the weights of the first phase, and ones."""
    weights, first = np.ones((3, n_rows)), classifier.phases_[0]
    weights[0], weights[1] = classifier.row_weights_, 0.0
    weights[1, first.row_ids] = first.row_weights
    return weights


def _noise_rate(classifier: Any) -> float:
    chosen = getattr(classifier, "noise_rate_", None)  # by cross-validation
    return float(classifier.noise_rate if chosen is None else chosen)
