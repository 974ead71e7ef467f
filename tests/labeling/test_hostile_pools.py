"""R1 for pools: every hostile table ends in a typed error or in a model with finite scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from estimators.hostile import FOR_ROWS, Case
from thresher import ActiveClassifier
from thresher.errors import LearningStopped

# A frame without a scikit-learn estimator can have names of any type.
ACCEPTED = {"names of two types"}


@pytest.mark.parametrize("case", FOR_ROWS, ids=str)
def test_a_hostile_pool_is_refused_or_learned(case: Case) -> None:
    if case.error is not None and case.in_rows and case.name not in ACCEPTED:
        with pytest.raises((TypeError, ValueError)):
            ActiveClassifier(case.table(), random_state=0)
        return
    pool, labels = case.table(), np.asarray(case.y).tolist()
    learner = ActiveClassifier(pool, label_budget=25, batch_size=25, random_state=0)
    with warnings.catch_warnings(action="ignore"):
        while (question := learner.ask()) is not None:
            learner.tell([labels[row] for row in learner._pool.positions(question.ids)])
    try:
        assert np.isfinite(learner.decision_function(pool)).all()
    except LearningStopped:  # too few rows for two classes
        assert len(set(labels)) < 2 or learner.n_labels_ < 25
