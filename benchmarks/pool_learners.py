"""What buys labels in the pool study: `ActiveClassifier` and the usual rules, on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from thresher import ActiveClassifier
from thresher.estimators.penalized import l1_logistic, with_short_indices
from thresher.labeling import ErrorEstimate
from thresher.labeling.capture import N_FIRST
from thresher.simulate.poisoning import PoisonedSplit
from thresher.validation import is_sparse

BATCH = 10
N_MEMBERS = 5  # of a committee
Places = NDArray[np.intp]
Model = Callable[[], Any]  # an unfitted classifier


@dataclass(frozen=True)
class State:
    """What is known of a learner when it has bought a number of labels."""

    n_labels: int
    predicted: Any
    estimate: ErrorEstimate | None = None


def thresher_states(
    split: PoisonedSplit,
    noise_rate: float,
    seed: int,
    budgets: Sequence[int],
    audit_fraction: float | None = None,
) -> Iterator[State]:
    """`ActiveClassifier` at every budget, as a user would call it."""
    chosen: dict[str, Any] = {} if audit_fraction is None else {"audit_fraction": audit_fraction}
    learner = ActiveClassifier(
        split.X, noise_rate=noise_rate, label_budget=budgets[-1], random_state=seed, **chosen
    )
    with warnings.catch_warnings(action="ignore"):
        while (question := learner.ask()) is not None:
            learner.tell(split.y[question.ids])
            if learner.n_labels_ in budgets:
                predicted = learner.predict(split.X_test)
                yield State(learner.n_labels_, predicted, learner.error_estimate_)


def first_rows(split: PoisonedSplit, noise_rate: float, seed: int) -> Places:
    """The random rows that `ActiveClassifier` begins with: its rivals begin with the same."""
    learner = ActiveClassifier(split.X, noise_rate=noise_rate, random_state=seed)
    ids: list[int] = []
    while len(ids) < N_FIRST and (question := learner.ask()) is not None:
        ids += question.ids.tolist()
        learner.tell([None] * len(question.ids))
    return np.array(ids, dtype=np.intp)


@dataclass(frozen=True)
class Rule:
    """A rule for the next rows: the scores that models give them, smallest first.

    Parameters
    ----------
    model : makes the final model
    urgency : of each row, from the rows, the labeled places, their labels and a generator
    """

    model: Model
    urgency: Callable[[Any, Places, Any, np.random.Generator], Any]

    def states(
        self, split: PoisonedSplit, first: Places, seed: int, budgets: Sequence[int]
    ) -> Iterator[State]:
        """The rule at every budget."""
        rows, test_rows = scaled(split.X, split.X_test)
        rng = np.random.default_rng([seed, 1])
        labeled, labels = first, np.asarray(split.y)
        while True:
            if labeled.size in budgets:
                model = self.model().fit(rows[labeled], labels[labeled])
                yield State(labeled.size, model.predict(test_rows))
            if labeled.size >= budgets[-1]:
                return
            urgency = self._urgency(rows, labeled, labels[labeled], rng)
            urgency[labeled] = np.inf
            n_rows = min(BATCH, min(b for b in budgets if b > labeled.size) - labeled.size)
            labeled = np.append(labeled, np.argsort(urgency, kind="stable")[:n_rows])

    def _urgency(self, rows: Any, labeled: Places, labels: Any, rng: np.random.Generator) -> Any:
        if np.unique(labels).size < 2:
            return rng.random(rows.shape[0])
        return self.urgency(rows, labeled, labels, rng)


def scaled(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Standardized columns; counts in sparse rows as they are, which was better on Reuters."""
    if is_sparse(X):
        rows, test_rows = (with_short_indices(part.astype(np.float64)) for part in (X, X_test))
        return rows, test_rows
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test)


def l2_logistic() -> Any:
    """Scikit-learn's logistic regression."""
    return LogisticRegression(max_iter=300)


def _margin(model: Model) -> Rule:
    def urgency(rows: Any, labeled: Places, labels: Any, _: np.random.Generator) -> Any:
        return np.abs(model().fit(rows[labeled], labels).decision_function(rows))

    return Rule(model, urgency)


def _committee_urgency(rows: Any, labeled: Places, labels: Any, rng: np.random.Generator) -> Any:
    """How clear the vote is of models fitted to resampled labels; of equal ones, the margin."""
    votes, margins = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for _ in range(N_MEMBERS):
        drawn = rng.integers(labels.size, size=labels.size)
        while np.unique(labels[drawn]).size < 2:
            drawn = rng.integers(labels.size, size=labels.size)
        scores = l2_logistic().fit(rows[labeled[drawn]], labels[drawn]).decision_function(rows)
        votes += np.sign(scores)
        margins += scores
    return np.abs(votes) + np.abs(margins) / (1 + np.abs(margins).max())


RULES = {
    "margin-l1": _margin(lambda: l1_logistic(1.0, 0)),
    "margin-l2": _margin(l2_logistic),
    "committee": Rule(l2_logistic, _committee_urgency),
    "random": Rule(l2_logistic, lambda rows, _, __, rng: rng.random(rows.shape[0])),
}


def _scikit_activeml(strategy: str) -> Rule:
    """A strategy of scikit-activeml, with logistic regression; the library must be installed."""

    def urgency(rows: Any, labeled: Places, labels: Any, rng: np.random.Generator) -> Any:
        pool, classifier = (import_module(f"skactiveml.{name}") for name in ("pool", "classifier"))
        known = np.full(rows.shape[0], np.nan)
        known[labeled] = labels
        model = classifier.SklearnClassifier(l2_logistic(), classes=np.unique(labels))
        query = getattr(pool, strategy)(random_state=int(rng.integers(2**31)))
        chosen = query.query(X=rows, y=known, clf=model, batch_size=BATCH)
        found = np.full(rows.shape[0], np.inf)
        found[chosen] = np.arange(BATCH)
        return found

    return Rule(l2_logistic, urgency)


# Two that did well in a short trial on another split; not part of every run of the study.
PEER_RULES = {
    "skactiveml-badge": _scikit_activeml("Badge"),
    "skactiveml-uncertainty": _scikit_activeml("UncertaintySampling"),
}
