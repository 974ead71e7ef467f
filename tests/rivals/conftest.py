"""Fewer values of C to choose from, where a test looks at something else."""

from __future__ import annotations

import pytest

from thresher.rivals.classifiers import tuned


@pytest.fixture
def n_values() -> int:
    """As many values of C as a tuned classifier chooses from, about."""
    return 3


@pytest.fixture
def few_values_of_C(
    n_values: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Few values of C to choose from, evenly spread over all, unless the test is slow."""
    if request.node.get_closest_marker("slow") is None:
        for name in ("L1_RANGE", "L2_RANGE"):
            values = getattr(tuned, name)
            step = values.size // n_values
            monkeypatch.setattr(tuned, name, values[step // 2 :: step])
