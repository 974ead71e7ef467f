"""A poisoned table, classifiers fitted to it, and no windows."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from estimators.small import QUICK
from thresher import HalfspaceClassifier, HalfspaceClassifierCV
from thresher.simulate import PoisonedTable, poison


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.fixture(scope="session")
def poisoned() -> PoisonedTable:
    """The breast cancer data as a data frame, with a tenth of planted rows."""
    data = load_breast_cancer(as_frame=True)
    labels = np.asarray(data.target_names)[data.target]
    return poison(data.data, labels, attack="on-support-tilt", fraction=0.1, random_state=0)


@pytest.fixture(scope="session")
def classifier(poisoned: PoisonedTable) -> HalfspaceClassifier:
    """Fitted to the data frame: its features have names."""
    return HalfspaceClassifier(10, 0.1, random_state=0).fit(poisoned.X, poisoned.y)


@pytest.fixture(scope="session")
def nameless() -> HalfspaceClassifier:
    """Fitted to 60 columns without names, and using 45 of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60))
    y = (X[:, :30] @ rng.standard_normal(30) > 0).astype(int)
    return HalfspaceClassifier(45, 0.02, random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def chosen(poisoned: PoisonedTable) -> HalfspaceClassifierCV:
    """Chosen by cross-validation, in two phases."""
    search = HalfspaceClassifierCV((3, 6), (0.1,), cv=2, schedule=QUICK, random_state=0)
    return search.fit(poisoned.X, poisoned.y)
