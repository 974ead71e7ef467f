"""Sessions whose refits take milliseconds: most of their time is the estimate of the error."""

from __future__ import annotations

import pytest

from thresher.labeling.judging import ErrorEstimate, LabeledSample, exact_interval


@pytest.fixture(autouse=True)
def _quick_estimates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every random label agreed with the model, unless a test is marked as slow."""

    def agree(sample: LabeledSample, _: object) -> ErrorEstimate:
        return exact_interval(0, len(sample.random))

    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(LabeledSample, "error", agree)
