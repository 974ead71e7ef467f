"""Trust: what every class keeps of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thresher.errors import DistrustedClass
from thresher.estimators.trust import keep_every_class, warn_of_distrusted_classes

TRUST = hnp.arrays(np.float64, st.integers(2, 20), elements=st.floats(0, 1))


def labels_for(trust: np.ndarray) -> np.ndarray:
    return np.where(np.arange(trust.size) % 3 == 0, "rare", "usual")


@given(TRUST)
def test_no_class_loses_more_than_half_of_its_rows(trust: np.ndarray) -> None:
    labels = labels_for(trust)
    kept = keep_every_class(trust, labels)
    for label in np.unique(labels):
        own = labels == label
        assert kept[own].sum() >= 0.5 * own.sum() - 1e-9


@given(TRUST)
def test_trust_is_only_raised_and_stays_a_share(trust: np.ndarray) -> None:
    kept = keep_every_class(trust, labels_for(trust))
    assert (kept >= trust - 1e-12).all()
    assert (kept <= 1).all()


@given(TRUST)
def test_a_class_that_keeps_half_of_its_rows_is_left_alone(trust: np.ndarray) -> None:
    trust = 0.5 + trust / 2
    assert np.allclose(keep_every_class(trust, labels_for(trust)), trust, rtol=0, atol=1e-15)


@given(TRUST)
def test_the_order_of_rows_within_a_class_stays(trust: np.ndarray) -> None:
    labels = labels_for(trust)
    kept = keep_every_class(trust, labels)
    for label in np.unique(labels):
        own = labels == label
        ordered = kept[own][np.argsort(trust[own], kind="stable")]
        assert (np.diff(ordered) >= -1e-15).all()


def test_one_class_does_not_pay_for_the_other() -> None:
    trust = np.array([0.0, 0.0, 0.9, 0.3])
    kept = keep_every_class(trust, np.array([0, 0, 1, 1]))
    assert kept == pytest.approx([0.5, 0.5, 0.9, 0.3])


def test_the_argument_is_left_alone() -> None:
    trust = np.zeros(4)
    keep_every_class(trust, np.array([0, 0, 1, 1]))
    assert not trust.any()


@pytest.mark.parametrize(
    ("trust", "n_rows", "is_warned"),
    [(1.0, 5, False), (0.8, 5, True), (0.8, 50, False), (0.2, 50, True)],
)
def test_a_class_is_warned_about_if_it_lost_trust(trust, n_rows, is_warned) -> None:
    signs = np.where(np.arange(100) < n_rows, 1.0, -1.0)
    found = np.where(signs > 0, trust, 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_distrusted_classes(found, signs, ["usual", "other"], 0.1)
    assert [warning.category for warning in caught] == [DistrustedClass] * is_warned
