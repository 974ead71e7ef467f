"""Warnings about fits to folds."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.errors import UncertifiedPhase
from thresher.estimators.cross_validation import FoldResult, warn_of_uncertified


def test_at_most_five_fits_are_named() -> None:
    results = [FoldResult(f"fold {k}", 0.1, (1,), np.zeros(2)) for k in range(1, 8)]
    with pytest.warns(UncertifiedPhase, match=r"in 7 of 7 .* fold 5 \(phases 1\); and 2 more$"):
        warn_of_uncertified(results)
