"""What all rivals share: two labels of any kind in, a linear rule in the table's own units out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.parameters import check_switch
from thresher.estimators.tables import check_table, check_training_table, check_two_classes
from thresher.rivals.standardization import Standardization
from thresher.validation import FloatArray, Rows, check_noise_rate, is_sparse, seed_from

SignArray = FloatArray  # (n,) labels of -1 and +1


class LinearRival(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier of two classes; a subclass says how it learns from scaled rows.

    The subclass has `_learn(rows, signs)`, which returns weights and offset for the rows it got,
    and stores the parameters it needs. Those that every rival may have are read here:
    `noise_rate` (what share of rows may be planted), `standardize` (whether columns are put on one
    scale first; see `Standardization`), `fit_intercept`, and `random_state`, of which
    `_randomness` is what scikit-learn's own classes take.
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: object, y: object) -> Self:
        """Learn from labeled rows.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
        y : (n,) labels of two kinds

        Raises
        ------
        TypeError, ValueError
            For a parameter outside its range, rows that are not finite numbers, or labels that are
            not of two kinds.
        """
        noise_rate = check_noise_rate(getattr(self, "noise_rate", 0.0))
        check_switch(self.standardize, "standardize")
        check_switch(getattr(self, "fit_intercept", True), "fit_intercept")
        self._randomness = randomness_for_sklearn(getattr(self, "random_state", None))
        rows, signs = self._check_table(X, y)
        scaling = Standardization.identity(rows.shape[1])
        if self.standardize:
            # Twice the noise rate, so that chance does not put a planted entry at the cut.
            scaling = Standardization.of(rows, clipped_fraction=min(2 * noise_rate, 0.5))
        weights, offset = scaling.undo(*self._learn(scaling.apply(rows), signs))
        self.coef_ = weights[None, :]
        self.intercept_ = np.array([offset])
        return self

    def _learn(self, rows: Rows, signs: SignArray) -> tuple[FloatArray, float]:
        raise NotImplementedError

    def _n_planted(self, n_rows: int) -> int:
        """How many of the rows may be planted at this rival's noise rate."""
        return n_planted(check_noise_rate(self.noise_rate), n_rows)

    def _check_table(self, X: object, y: object) -> tuple[Rows, SignArray]:
        """The rows as floats and the labels as signs; the larger label is the positive one."""
        rows, labels = check_training_table(self, X, y)
        self.classes_, signs = check_two_classes(labels)
        if is_sparse(rows) and rows.nnz < 2**31:  # liblinear takes no longer indices
            parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
            rows = sp.csr_array(parts, shape=rows.shape)
        return rows, signs

    def decision_function(self, X: object) -> FloatArray:
        """The signed score w·x + b of each row; above zero means the second class."""
        check_is_fitted(self)
        scores: FloatArray = check_table(self, X) @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: object) -> NDArray[Any]:
        """The class of each row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def randomness_for_sklearn(random_state: Any) -> Any:
    """What the classes of scikit-learn take for the source of randomness that was given.

    They take no Generator, and no seed beyond 32 bits.

    Examples
    --------
    >>> randomness_for_sklearn(7), randomness_for_sklearn(2**32 + 7), randomness_for_sklearn(None)
    (7, 7, None)
    >>> isinstance(randomness_for_sklearn(np.random.default_rng(0)), int)
    True
    """
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return random_state
    return seed_from(random_state) % 2**32


def n_planted(noise_rate: float, n_rows: int) -> int:
    """How many of the rows may be planted, rounded up, but always fewer than half.

    Examples
    --------
    >>> n_planted(0.05, 110), n_planted(0.4, 2)
    (6, 0)
    """
    # The small slack undoes rounding: 0.07·100 is a little above 7.
    return min(int(np.ceil(noise_rate * n_rows - 1e-9)), (n_rows - 1) // 2)
