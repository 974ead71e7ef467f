"""The practical peers as methods: buy all labels at once, and fit what people use on tables.

Rows of the laboratory are isotropic and its halfspaces go through the origin. So columns are not
scaled, and a peer that must fit an intercept has it dropped from its answer.

The peers are imported when one of them is made: scikit-learn takes longer than a small run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import rivals
from thresher.learning import Task
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import draw_sample
from thresher.validation import FloatArray

if TYPE_CHECKING:
    from thresher.rivals.linear import LinearRival

IMPORTS = ("thresher.rivals.tuned",)  # with all of scikit-learn that the peers need
N_FOLDS = 3
MARGIN = 1.5  # over the noise rate, as Thresher has: often more rows than that are planted


@dataclass(frozen=True)
class TableFit:
    """A classifier of labeled tables as a method that learns from a source.

    Parameters
    ----------
    make : from the task and a seed, the classifier, unfitted; it has `coef_` after its fit

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(30), target=random_target(30, 2, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> task = Task(n_features=30, sparsity=2, noise_rate=0.0, label_budget=500)
    >>> w = TableFit(trimmed_mean)(source, task, np.random.default_rng(0))
    >>> int(np.count_nonzero(w)), source.n_labels
    (2, 500)
    """

    make: Callable[[Task, int], Any]

    def __call__(self, source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        """The weights, at unit length; the one label there is times the mean row if all agree."""
        X, y = draw_sample(source, task)
        if np.all(y == y[0]):  # no classifier takes a single class
            return unit(y[0] * X.mean(axis=0))
        model = self.make(task, int(rng.integers(2**31))).fit(X, y)
        return unit(np.asarray(model.coef_, dtype=np.float64).ravel())


def planted_share(task: Task) -> float:
    """The share of rows that a peer is told may be planted: half as many again as the noise rate.

    Examples
    --------
    >>> round(planted_share(Task(n_features=9, sparsity=2, noise_rate=0.05)), 3)
    0.075
    """
    return min(MARGIN * task.noise_rate, 0.49)


def trimmed_mean(task: Task, _seed: int) -> LinearRival:
    """Coordinate-trimmed mean of y·x, of which the largest entries are kept."""
    return rivals.TrimmedMean(
        task.sparsity, planted_share(task), standardize=False, fit_intercept=False
    )


def trimmed_hard_thresholding(task: Task, _seed: int) -> LinearRival:
    """Gradient steps on coordinate-trimmed means (Liu, Li and Caramanis 2019)."""
    return rivals.TrimmedHardThresholding(
        task.sparsity, planted_share(task), standardize=False, fit_intercept=False
    )


def trimmed_loss(task: Task, seed: int) -> LinearRival:
    """L1 logistic regression, fitted again and again on the rows of the least loss."""
    return rivals.IterativeTrimmedLoss(planted_share(task), standardize=False, random_state=seed)


def sever(task: Task, seed: int) -> LinearRival:
    """L1 logistic regression in rounds that drop unusual gradients (Diakonikolas et al. 2019).

    Its own removal factor is the margin.
    """
    return rivals.Sever(task.noise_rate, standardize=False, random_state=seed)


def l1_logistic(_task: Task, seed: int) -> LinearRival:
    """L1 logistic regression, C tuned by cross-validation."""
    return rivals.SparseLogisticRegressionCV(cv=N_FOLDS, standardize=False, random_state=seed)


def linear_svm(_task: Task, seed: int) -> LinearRival:
    """A linear support vector machine, C tuned by cross-validation."""
    from thresher.rivals.short_svm import ShortLinearSVM

    return ShortLinearSVM(cv=N_FOLDS, standardize=False, random_state=seed)


def filtered_l1_logistic(task: Task, seed: int) -> LinearRival:
    """L1 logistic regression without the longest rows; C tuned on those that stay."""
    return rivals.NormFilter(
        planted_share(task), estimator=l1_logistic(task, seed), standardize=False, random_state=seed
    )


def filtered_linear_svm(task: Task, seed: int) -> LinearRival:
    """A linear support vector machine without the longest rows; C tuned on those that stay."""
    return rivals.NormFilter(
        planted_share(task), estimator=linear_svm(task, seed), standardize=False, random_state=seed
    )


def _passive(
    name: str,
    title: str,
    make: Callable[[Task, int], Any],
    claim: str,
    *,
    is_sparse: bool = False,
) -> Method:
    return Method(
        name,
        title,
        TableFit(make),
        is_active=False,
        is_sparse=is_sparse,
        claim=claim,
        imports=IMPORTS,
    )


METHODS = (
    _passive(
        "trimmed-mean",
        "Trimmed mean",
        trimmed_mean,
        "few planted rows with extreme entries",
        is_sparse=True,
    ),
    _passive(
        "trimmed-hard-thresholding",
        "Trimmed hard thresholding (Liu et al. 2019)",
        trimmed_hard_thresholding,
        "a share of planted rows of about 1/(√s·log(nd))",
        is_sparse=True,
    ),
    _passive(
        "trimmed-loss",
        "Iterative trimmed loss (Shen and Sanghavi 2019)",
        trimmed_loss,
        "planted rows that the first fit gives a large loss",
    ),
    _passive(
        "sever",
        "Sever (Diakonikolas et al. 2019)",
        sever,
        "planted rows whose gradients move their covariance",
    ),
    _passive("l1-logistic", "L1 logistic regression", l1_logistic, "nothing about planted rows"),
    _passive("linear-svm", "Linear SVM", linear_svm, "nothing about planted rows"),
    _passive(
        "norm-filter-l1-logistic",
        "Norm filter, L1 logistic regression",
        filtered_l1_logistic,
        "planted rows that are long",
    ),
    _passive(
        "norm-filter-linear-svm",
        "Norm filter, linear SVM",
        filtered_linear_svm,
        "planted rows that are long",
    ),
)
