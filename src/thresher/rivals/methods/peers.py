"""Practical peers: the classifiers for tables, and what optional packages offer.

A peer buys all its labels at once and fits what people use on tables; only margin sampling is
active. Rows of the laboratory are isotropic and its halfspaces go through the origin. So columns
are not scaled, and a peer that must fit an intercept has it dropped from its answer.

A peer that does not take a sparsity has a second entry, "-cut", which uses the one that Thresher
knows: the s features with the largest coefficients are kept, and the fit repeated on them.

`pip install "thresher[peers]"` installs the optional packages. `METHODS` has the peers whose
package is installed; `MISSING` has the others, with their package.

Packages are imported when a peer learns: importing scikit-learn takes longer than a small run.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.geometry import Band, hard_threshold
from thresher.learning import PracticalSchedule, Task
from thresher.oracles import DrawRequest
from thresher.rivals.classifiers import CLASSIFIERS, make_classifier
from thresher.rivals.methods.method import (
    Learn,
    Method,
    Source,
    dense_rows,
    draw_sample,
    unit,
    variant,
)
from thresher.rivals.worlds import CLEAN, FLIPS
from thresher.validation import FloatArray

# The coefficients for rows, labels, a task and a seed.
Fit: TypeAlias = Callable[[FloatArray, FloatArray, Task, int], Any]
# Which rows to label next: rows, labels (NaN: unknown), an unfitted classifier, a number, a seed.
Choose: TypeAlias = Callable[[FloatArray, FloatArray, Any, int, int], NDArray[np.intp]]

IMPORTS = ("thresher.rivals.classifiers.tuned",)  # with all of scikit-learn that the peers need
# On 1,500 × 500 Gaussian entries (clean, flipped, hijacked; two seeds) the SVM's own longer list
# chose the same C, and took 2 to 14 seconds instead of one.
SVM_RANGE = np.logspace(-4, -1, 4)
N_FOLDS = 3
PENALTIES = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12)  # of skglm, over the least that leaves no feature
CONCAVITY = 10.0  # gamma of the minimax concave penalty; set by hand
POOL_PER_LABEL, FIRST_SHARE, N_BATCHES = 5, 0.2, 10  # of margin sampling


def from_table(fit: Fit) -> Learn:
    """What fits labeled rows of two classes, as a method that learns from a source.

    Its answer is the coefficients at unit length; of a single class, its label times the mean row.
    """

    def learn(source: Source, task: Task, rng: np.random.Generator) -> FloatArray:
        X, y = draw_sample(source, task)
        if np.all(y == y[0]):  # scikit-learn's classifiers need two classes
            return unit(y[0] * X.mean(axis=0))
        coef = fit(X, y, task, int(rng.integers(2**31)))
        return unit(np.asarray(coef, dtype=np.float64).ravel())

    return learn


def cut_and_refit(fit: Fit) -> Fit:
    """A fit, repeated on the s features that had the largest coefficients.

    Examples
    --------
    >>> fit = cut_and_refit(lambda X, y, task, seed: y @ X)
    >>> task = Task(n_features=3, sparsity=1, noise_rate=0.0)
    >>> fit(np.array([[1.0, 2.0, 0.0], [0.0, -3.0, 1.0]]), np.array([1.0, -1.0]), task, 0)
    array([0., 5., 0.])
    """
    return lambda X, y, task, seed: refit_largest(fit(X, y, task, seed), fit, X, y, task, seed)


def refit_largest(
    coef: Any, fit: Fit, X: FloatArray, y: FloatArray, task: Task, seed: int
) -> FloatArray:
    """The coefficients of a fit on the s features whose coefficients were largest."""
    largest = hard_threshold(np.ravel(coef), task.sparsity)
    used = np.flatnonzero(largest)
    if used.size:
        known = replace(task, n_features=used.size, sparsity=used.size)
        refitted = np.ravel(fit(X[:, used], y, known, seed))
        if refitted.any():
            largest[used] = refitted
    return largest


def fit_classifier(name: str, X: FloatArray, y: FloatArray, task: Task, seed: int) -> Any:
    """The coefficients of the classifier with that name in `CLASSIFIERS`."""
    classifier = make_classifier(
        name,
        sparsity=task.sparsity,
        noise_rate=min(CLASSIFIERS[name].margin * task.noise_rate, 0.49),
        standardize=False,
        fit_intercept=False,
        Cs=SVM_RANGE,
        random_state=seed,
    )
    return classifier.fit(X, y).coef_


def fit_mcp(X: FloatArray, y: FloatArray, task: Task, _seed: int) -> FloatArray:
    """Logistic regression with a minimax concave penalty, by skglm's coordinate descent.

    The weakest of six penalties that keeps at most s features, each fitted within the package's
    default limit on iterations. The first call of a process compiles for about twelve seconds.
    """
    skglm, solvers = import_module("skglm"), import_module("skglm.solvers")
    datafits, penalties = import_module("skglm.datafits"), import_module("skglm.penalties")
    exceptions = import_module("sklearn.exceptions")
    X = np.asfortranarray(X)  # numba warns about columns of other arrays
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
            coef = np.ravel(model.fit(X, y).coef_).astype(np.float64)
        if np.count_nonzero(coef) > task.sparsity:
            break
        best = coef
    return best


def fit_best_subset(X: FloatArray, y: FloatArray, task: Task, _seed: int) -> Any:
    """Logistic regression on the best subset of s features that abess finds (Zhu et al. 2020)."""
    size = min(task.sparsity, y.size - 1)  # with one feature per row abess does not return
    model = import_module("abess.linear").LogisticRegression(support_size=size, fit_intercept=False)
    return model.fit(X, (y > 0).astype(np.int64)).coef_


def fit_confident(X: FloatArray, y: FloatArray, _task: Task, seed: int) -> Any:
    """L1 logistic regression without the rows whose labels cleanlab finds wrong.

    Confident learning (Northcutt, Jiang and Chuang 2021) on cross-validated probabilities. Both
    fits have the same C, tuned on all rows.
    """
    from sklearn.model_selection import cross_val_predict

    from thresher.rivals.classifiers.tuned import tuned_l1_logistic

    base = tuned_l1_logistic(X, y, seed, cv=N_FOLDS)
    probabilities = cross_val_predict(base, X, y, cv=N_FOLDS, method="predict_proba")
    is_wrong = import_module("cleanlab.filter").find_label_issues(
        (y > 0).astype(np.int64), probabilities, n_jobs=1
    )
    return base.fit(X[~is_wrong], y[~is_wrong]).coef_


def learn_near_margin(
    choose: Choose, refit: Fit | None, source: Source, task: Task, rng: np.random.Generator
) -> FloatArray:
    """L1 logistic regression on labels of the rows that it is least sure of.

    It draws the most rows that Thresher draws in a phase, or five per label if that is more. A
    fifth of the labels goes to any rows of the pool, and tunes C; the others go, in batches, to the
    rows with the least |w·x + b| under the fit so far. Without a budget, it buys the number of
    labels that Thresher would.

    Parameters
    ----------
    choose : which rows to label next
    refit : the last fit, on the s features with the largest coefficients; None: no such fit
    """
    from thresher.rivals.classifiers.tuned import tuned_l1_logistic

    n_labels = task.label_budget or PracticalSchedule().n_labels(task)
    n_rows = max(POOL_PER_LABEL * n_labels, PracticalSchedule().max_unlabeled)
    everywhere = Band(np.zeros(task.n_features), np.inf)
    pool = source.draw(DrawRequest(n_rows=n_rows, band=everywhere))
    rows, n_labels = dense_rows(pool.X), min(n_labels, pool.n_rows)
    n_first = min(n_labels, max(2, round(FIRST_SHARE * n_labels)))
    labels = np.full(pool.n_rows, np.nan)
    labels[:n_first] = source.reveal(pool.ids[:n_first])
    seed = int(rng.integers(2**31))
    if np.unique(labels[:n_first]).size < 2:
        return unit(labels[0] * rows[:n_first].mean(axis=0))
    base = tuned_l1_logistic(rows[:n_first], labels[:n_first], seed, cv=N_FOLDS)
    for batch in np.array_split(np.arange(n_first, n_labels), N_BATCHES):
        if batch.size:
            chosen = choose(rows, labels, base, batch.size, seed)
            labels[chosen] = source.reveal(pool.ids[chosen])
    X, y = rows[~np.isnan(labels)], labels[~np.isnan(labels)]
    coef = np.ravel(base.fit(X, y).coef_)
    return unit(coef if refit is None else refit_largest(coef, refit, X, y, task, seed))


def nearest_rows(
    X: FloatArray, labels: FloatArray, base: Any, n_rows: int, _seed: int
) -> NDArray[np.intp]:
    """The unlabeled rows nearest to the boundary of the classifier, fitted on the labeled ones.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X = np.array([[-4.0], [4.0], [3.0], [1.0], [-2.0]])
    >>> nearest_rows(X, np.array([-1.0, 1.0, np.nan, np.nan, np.nan]), LinearSVC(), 2, 0)
    array([3, 4])
    """
    is_labeled = ~np.isnan(labels)
    scores = np.abs(base.fit(X[is_labeled], labels[is_labeled]).decision_function(X))
    return np.argsort(np.where(is_labeled, np.inf, scores), kind="stable")[:n_rows]


def choose_by_package(
    X: FloatArray, labels: FloatArray, base: Any, n_rows: int, seed: int
) -> NDArray[np.intp]:
    """The rows that scikit-activeml's margin sampling chooses."""
    classifier = import_module("skactiveml.classifier").SklearnClassifier(
        base, classes=[-1.0, 1.0], random_state=seed
    )
    sampling = import_module("skactiveml.pool").UncertaintySampling(
        method="margin_sampling", random_state=seed
    )
    chosen: NDArray[np.intp] = sampling.query(X, labels, classifier, batch_size=n_rows)
    return chosen


def with_cut(method: Method, learn: Learn) -> tuple[Method, Method]:
    """A peer that does not take a sparsity, and the same peer cut to it, which learns like this."""
    return method, variant(method, "cut", "cut to s features", learn)


def _of_classifier(name: str) -> tuple[Method, ...]:
    """A classifier for tables as a method, and cut to s features if it takes no sparsity."""
    row, fit = CLASSIFIERS[name], partial(fit_classifier, name)
    method = Method(name, row.title, from_table(fit), row.claim, IMPORTS, row.world)
    return (method,) if row.needs_sparsity else with_cut(method, from_table(cut_and_refit(fit)))


_PEERS = (
    *(method for name in CLASSIFIERS for method in _of_classifier(name)),
    *with_cut(
        Method(
            name="margin-sampling",
            title="Margin sampling, L1 logistic regression",
            learn=partial(learn_near_margin, nearest_rows, None),
            claim="few labels, if they are true",
            imports=IMPORTS,
            world=CLEAN.at_most(0.009, beats="l1-logistic"),
        ),
        partial(learn_near_margin, nearest_rows, partial(fit_classifier, "l1-logistic")),
    ),
    Method(
        name="skglm-mcp",
        title="Logistic regression with a concave penalty (skglm)",
        learn=from_table(fit_mcp),
        claim="no planted rows",
        imports=(*IMPORTS, "skglm"),
        world=CLEAN.at_most(0.006, beats="averaging"),
    ),
    Method(
        name="abess",
        title="Best subset of features (abess)",
        learn=from_table(fit_best_subset),
        claim="no planted rows",
        imports=(*IMPORTS, "abess"),
        world=CLEAN.at_most(0.008, beats="averaging"),
    ),
    *with_cut(
        Method(
            name="confident-learning",
            title="Confident learning (cleanlab), L1 logistic regression",
            learn=from_table(fit_confident),
            claim="labels that are wrong at random within a class",
            imports=(*IMPORTS, "cleanlab"),
            world=FLIPS.at_most(0.078, beats="linear-svm"),
        ),
        from_table(cut_and_refit(fit_confident)),
    ),
    Method(
        name="uncertainty-sampling",
        title="Uncertainty sampling (scikit-activeml)",
        learn=partial(learn_near_margin, choose_by_package, None),
        claim="few labels, if they are true",
        imports=(*IMPORTS, "skactiveml"),
        world=CLEAN.at_most(0.009, beats="l1-logistic"),
    ),
)
MISSING = {
    peer.name: module for peer in _PEERS for module in peer.imports if find_spec(module) is None
}
METHODS = tuple(peer for peer in _PEERS if peer.name not in MISSING)
