"""Tables in which nothing is planted: an audit names next to no row, or says why it cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import thresher
from auditing.clean_tables import CLEAN_TABLES

MOST_NAMED = 0.01  # of the rows
LEAST_VERDICTS = 8  # of the twelve tables


@pytest.mark.slow
def test_of_clean_tables_at_most_one_row_in_a_hundred_is_named() -> None:
    n_verdicts = 0
    for name, make in CLEAN_TABLES.items():
        X, y = make(np.random.default_rng(0))
        audit = thresher.audit(X, y)
        assert len(audit.suspects) <= MOST_NAMED * len(y), name
        n_verdicts += audit.suspicions.can_tell
        assert audit.suspicions.can_tell != ("Cannot tell" in audit.verdict)
    assert n_verdicts >= LEAST_VERDICTS


@pytest.mark.slow
def test_rows_repeated_by_nature_are_listed_and_not_named() -> None:
    X, y = CLEAN_TABLES["duplicated_rows"](np.random.default_rng(0))
    audit = thresher.audit(X, y)
    assert sum(audit.duplicates["count"]) == 80
    repeated = audit.rows["repeats"] > 1
    assert (audit.rows["suspicion"][repeated] < 0.5).all()
