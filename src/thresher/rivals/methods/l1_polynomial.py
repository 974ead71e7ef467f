"""L1 regression of labels on polynomials (Kalai, Klivans, Mansour and Servedio 2005)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from thresher.errors import LearningStopped
from thresher.geometry import hard_threshold
from thresher.learning import Task
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import average, draw_sample
from thresher.validation import FloatArray, check_count


@dataclass(frozen=True)
class L1Polynomial:
    """The linear part of the polynomial that fits the labels best in absolute error.

    p = argmin Σ|y − p(x)| over polynomials of degree 1 or 2, by a linear program, on the features
    whose mean of y·x is largest. The paper then predicts sign(p(x) − t) with the best threshold t.
    Here an answer is a halfspace through the origin, so t is known to be zero, and what p has
    beside its linear part carries no direction under a symmetric distribution; the constant
    and the squares take part in the fit and are then left out. The s largest entries are kept.

    Parameters
    ----------
    degree : 1 or 2
    max_features : how many features are screened in, at most

    Examples
    --------
    >>> from thresher.simulate import Gaussian, LabelFlip, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(30), target=random_target(30, 3, 0),
    ...                          noise_rate=0.05, adversary=LabelFlip(), random_state=0)
    >>> task = Task(n_features=30, sparsity=3, noise_rate=0.05, label_budget=1000)
    >>> w = L1Polynomial()(source, task, np.random.default_rng(0))
    >>> source.error_rate(w) < 0.03, source.n_labels
    (True, 1000)
    """

    degree: int = 1
    max_features: int = 30

    def __post_init__(self) -> None:
        check_count(self.max_features, "max_features")
        if self.degree not in (1, 2):
            raise ValueError(f"degree must be 1 or 2, got {self.degree!r}")

    def __call__(self, source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
        """The halfspace, of unit length.

        Raises
        ------
        LearningStopped : the linear program was not solved
        """
        X, y = draw_sample(source, task)
        means = np.abs(average(y[:, None] * X))
        features = np.argsort(-means, kind="stable")[: self.max_features]
        coefficients = least_absolute_errors(monomials(X[:, features], self.degree), y)
        halfspace = np.zeros(task.n_features)
        halfspace[features] = coefficients[: features.size]
        return unit(hard_threshold(halfspace, task.sparsity))


def monomials(X: FloatArray, degree: int) -> FloatArray:
    """The features, then for degree 2 all products of two, then a column of ones.

    Examples
    --------
    >>> monomials(np.array([[2.0, 3.0]]), 2)
    array([[2., 3., 4., 6., 9., 1.]])
    """
    first, second = np.triu_indices(X.shape[1])
    products = [X[:, first] * X[:, second]] if degree == 2 else []
    return np.hstack([X, *products, np.ones((len(X), 1))])


def least_absolute_errors(A: FloatArray, y: FloatArray) -> FloatArray:
    """The coefficients c that minimize Σ|y − A·c|.

    The dual, max of y·u over Aᵀu = 0 and |uᵢ| ≤ 1, has a constraint a coefficient instead of one a
    row, which is many times faster here; its multipliers are the coefficients.

    Raises
    ------
    LearningStopped : the linear program was not solved

    Examples
    --------
    >>> least_absolute_errors(np.ones((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 90.0]))
    array([3.])
    """
    answer = scipy.optimize.linprog(
        -y, A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=(-1, 1), method="highs"
    )
    if answer.status != 0:
        raise LearningStopped(f"the linear program of the L1 fit was not solved: {answer.message}")
    coefficients: FloatArray = -answer.eqlin.marginals
    return coefficients


METHODS = (
    Method(
        name="kalai-polynomial",
        title="L1 polynomial regression, degree 1, Kalai et al. 2005",
        learn=L1Polynomial(),
        is_active=False,
        is_sparse=True,
        claim="agnostic: label noise, log-concave",
        imports=("scipy.optimize",),
    ),
    Method(
        name="kalai-polynomial-quadratic",
        title="L1 polynomial regression, degree 2, Kalai et al. 2005",
        learn=L1Polynomial(degree=2, max_features=12),
        is_active=False,
        is_sparse=True,
        claim="agnostic: label noise, log-concave",
        imports=("scipy.optimize",),
    ),
)
