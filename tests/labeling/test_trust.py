from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.trust import LEAST_TRUST, trust_in_pool


def pool_with_far_rows(distance: float) -> np.ndarray:
    """Heavy-tailed rows of which the first 20 are planted at this distance, in five columns."""
    rows = np.random.default_rng(0).standard_t(2, size=(600, 10))
    rows[:20, :5] = distance
    return rows


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_rows_are_distrusted_for_what_clipping_would_hide(container: Any) -> None:
    lost = {}
    for distance in (4.0, 25.0):  # the same rows when clipped at three scales
        rows = container(pool_with_far_rows(distance))
        is_lost = trust_in_pool(rows, ScaledPool.of(rows), noise_rate=0.05) <= LEAST_TRUST
        lost[distance] = int(is_lost[:20].sum())
        assert is_lost[20:].mean() < 0.1
    assert lost[4.0] < lost[25.0]
    assert lost[25.0] >= 19  # one of them is close to the limit: rounding decides


def test_without_noise_every_row_is_trusted() -> None:
    rows = pool_with_far_rows(25.0)
    assert (trust_in_pool(rows, ScaledPool.of(rows), noise_rate=0.0) == 1).all()
