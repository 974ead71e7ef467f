"""Peers from packages that Thresher does not need: METHODS has those that are installed.

`pip install "thresher[peers]"` brings all of them. `MISSING` names the others with their package,
so that nobody has to guess why a method is not there.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import Band
from thresher.learning import PracticalSchedule, Task
from thresher.oracles import DrawRequest
from thresher.rivals.methods.interface import Method, Source, unit
from thresher.rivals.methods.samples import draw_sample
from thresher.rivals.methods.tables import IMPORTS, N_FOLDS, TableFit
from thresher.validation import FloatArray

PENALTIES = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12)  # of skglm, over the one that leaves no weight
CONCAVITY = 10.0  # gamma of the minimax concave penalty; set by hand
POOL_PER_LABEL, FIRST_SHARE, N_BATCHES = 5, 0.2, 10  # of uncertainty sampling


def learn_mcp(source: Source, task: Task, _rng: np.random.Generator) -> FloatArray:
    """Logistic regression with a minimax concave penalty, by skglm's coordinate descent.

    The weakest of six penalties that leaves at most s weights, each fitted as far as the package's
    own limit of steps goes. The first call of a process compiles: about twelve seconds of work.
    """
    skglm, solvers = import_module("skglm"), import_module("skglm.solvers")
    datafits, penalties = import_module("skglm.datafits"), import_module("skglm.penalties")
    exceptions = import_module("sklearn.exceptions")
    X, y = draw_sample(source, task)
    X = np.asfortranarray(X)  # columns of other arrays make numba warn
    largest = float(np.abs(X.T @ y).max()) / (2 * y.size)
    best = np.zeros(task.n_features)
    for penalty in PENALTIES:
        model = skglm.GeneralizedLinearEstimator(
            datafits.Logistic(),
            penalties.MCPenalty(alpha=penalty * largest, gamma=CONCAVITY),
            solvers.AndersonCD(fit_intercept=False),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
            weights = np.ravel(model.fit(X, y).coef_).astype(np.float64)
        if np.count_nonzero(weights) > task.sparsity:
            break
        best = weights
    return unit(best)


class BestSubset:
    """Logistic regression on the best features that abess finds, without an intercept.

    There are fewer features than rows: for as many, abess does not come back.
    """

    coef_: FloatArray

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def fit(self, X: FloatArray, y: FloatArray) -> BestSubset:
        """Learn from labeled rows of two classes."""
        size = min(self.n_features, y.size - 1)
        model = import_module("abess.linear").LogisticRegression(
            support_size=size, fit_intercept=False
        )
        self.coef_ = model.fit(X, (y > 0).astype(np.int64)).coef_
        return self


def best_subset(task: Task, _seed: int) -> BestSubset:
    """The best subset of s features (Zhu et al. 2020)."""
    return BestSubset(task.sparsity)


class ConfidentLearning:
    """L1 logistic regression without the rows whose labels cleanlab calls wrong.

    Both fits have the same C, tuned on all rows; probabilities are those of held-out rows.
    """

    coef_: FloatArray

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: FloatArray, y: FloatArray) -> ConfidentLearning:
        """Learn from labeled rows."""
        from sklearn.model_selection import cross_val_predict

        base = _tuned_logistic(X, y, self.seed)
        probabilities = cross_val_predict(base, X, y, cv=N_FOLDS, method="predict_proba")
        is_wrong: NDArray[np.bool_] = import_module("cleanlab.filter").find_label_issues(
            (y > 0).astype(np.int64), probabilities, n_jobs=1
        )
        self.coef_ = base.fit(X[~is_wrong], y[~is_wrong]).coef_
        return self


def confident_learning(_task: Task, seed: int) -> ConfidentLearning:
    """Confident learning (Northcutt, Jiang and Chuang 2021) before L1 logistic regression."""
    return ConfidentLearning(seed)


def learn_uncertain(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
    """L1 logistic regression on labels of the rows it is least sure of, by scikit-activeml.

    A pool of five rows for each label is drawn. A fifth of the labels goes to any rows of it, and
    tunes C; the others are bought in batches by margin sampling. Without a budget, as many labels
    as Thresher would pay.
    """
    n_labels = task.label_budget or PracticalSchedule().n_labels(task)
    anywhere = Band(np.zeros(task.n_features), np.inf)
    pool = source.draw(DrawRequest(n_rows=POOL_PER_LABEL * n_labels, band=anywhere))
    n_labels = min(n_labels, pool.n_rows)
    n_first = min(n_labels, max(2, round(FIRST_SHARE * n_labels)))
    labels = np.full(pool.n_rows, np.nan)
    labels[:n_first] = source.reveal(pool.ids[:n_first])
    seed = int(rng.integers(2**31))
    if np.unique(labels[:n_first]).size < 2:
        return unit(labels[0] * pool.X[:n_first].mean(axis=0))
    base = _tuned_logistic(pool.X[:n_first], labels[:n_first], seed)
    wrapped = import_module("skactiveml.classifier").SklearnClassifier(
        base, classes=[-1.0, 1.0], random_state=seed
    )
    sampling = import_module("skactiveml.pool").UncertaintySampling(
        method="margin_sampling", random_state=seed
    )
    for batch in np.array_split(np.arange(n_first, n_labels), N_BATCHES):
        if batch.size:
            chosen = sampling.query(pool.X, labels, wrapped, batch_size=batch.size)
            labels[chosen] = source.reveal(pool.ids[chosen])
    is_labeled = ~np.isnan(labels)
    return unit(np.ravel(base.fit(pool.X[is_labeled], labels[is_labeled]).coef_))


def _tuned_logistic(X: FloatArray, y: FloatArray, seed: int) -> Any:
    """L1 logistic regression, unfitted, with the C that predicts held-out rows best."""
    from thresher.rivals.tuned import SparseLogisticRegressionCV, l1_logistic

    tuned = SparseLogisticRegressionCV(cv=N_FOLDS, standardize=False, random_state=seed)
    return l1_logistic(tuned.fit(X, y).C_, tuned._randomness)


# Each with the package that it comes from, as Python imports it.
_ALL = (
    (
        "skglm",
        Method(
            name="skglm-mcp",
            title="Logistic regression with a concave penalty (skglm)",
            learn=learn_mcp,
            is_active=False,
            is_sparse=True,
            claim="nothing about planted rows",
            imports=IMPORTS,
        ),
    ),
    (
        "abess",
        Method(
            name="abess",
            title="Best subset of features (abess)",
            learn=TableFit(best_subset),
            is_active=False,
            is_sparse=True,
            claim="nothing about planted rows",
            imports=IMPORTS,
        ),
    ),
    (
        "cleanlab",
        Method(
            name="confident-learning",
            title="Confident learning (cleanlab), L1 logistic regression",
            learn=TableFit(confident_learning),
            is_active=False,
            is_sparse=False,
            claim="labels that are wrong at random within a class",
            imports=IMPORTS,
        ),
    ),
    (
        "skactiveml",
        Method(
            name="uncertainty-sampling",
            title="Uncertainty sampling (scikit-activeml)",
            learn=learn_uncertain,
            is_active=True,
            is_sparse=False,
            claim="few labels where they are true",
            imports=IMPORTS,
        ),
    ),
)
METHODS = tuple(method for package, method in _ALL if find_spec(package) is not None)
MISSING = {method.name: package for package, method in _ALL if find_spec(package) is None}
