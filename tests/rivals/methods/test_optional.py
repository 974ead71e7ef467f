"""Peers from other packages: each is tested where its package is installed, and named elsewhere."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rivals.methods.measured import by_name, error_of
from thresher.experiments import SimulationSpec
from thresher.learning import Task
from thresher.oracles import ArrayPool, Draw, DrawRequest
from thresher.rivals.methods.optional import METHODS, MISSING, POOL_PER_LABEL, learn_uncertain
from thresher.simulate import Adversary, FarClump, LabelFlip, LinfHijack

NAMED = by_name(METHODS)
PACKAGES = {
    "skglm-mcp": "skglm",
    "abess": "abess",
    "confident-learning": "cleanlab",
    "uncertainty-sampling": "skactiveml",
}


def error(name: str, adversary: Adversary | None) -> float:
    """The error of a peer, or a skipped test if it is not installed."""
    if name in MISSING:
        pytest.skip(f"{MISSING[name]} is not installed")
    return error_of(NAMED[name], adversary)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_peer_is_there_or_named_as_missing(name: str) -> None:
    is_installed = find_spec(PACKAGES[name]) is not None
    assert (name in NAMED) is is_installed
    assert (name in MISSING) is not is_installed


@pytest.mark.parametrize(
    ("name", "adversary", "bound"),
    [
        ("skglm-mcp", None, 0.03),
        ("abess", None, 0.03),
        ("confident-learning", LabelFlip(), 0.05),
        ("uncertainty-sampling", None, 0.03),
    ],
)
def test_a_peer_holds_where_its_idea_applies(
    name: str, adversary: Adversary | None, bound: float
) -> None:
    assert error(name, adversary) < bound


@pytest.mark.parametrize(
    ("name", "adversary"),
    [
        ("skglm-mcp", FarClump(strength=20.0)),
        ("abess", FarClump(strength=20.0)),
        ("confident-learning", LinfHijack()),
        ("uncertainty-sampling", LinfHijack()),
    ],
)
def test_a_peer_breaks_under_planted_rows(name: str, adversary: Adversary) -> None:
    assert error(name, adversary) > 0.15


def test_a_missing_package_is_named_by_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MISSING, "made-up", "made_up_package")
    with pytest.raises(ValueError, match="needs the package made_up_package, which is not install"):
        SimulationSpec(n_features=5, sparsity=2, method="made-up")


# -- uncertainty sampling without its package --------------------------------------------------


class MarginSampling:
    """What scikit-activeml does for us: the unlabeled rows whose score is nearest to zero."""

    def __init__(self, **_: Any) -> None: ...

    def query(self, X: Any, y: Any, classifier: Any, batch_size: int) -> Any:
        is_labeled = ~np.isnan(y)
        scores = np.abs(classifier.fit(X[is_labeled], y[is_labeled]).decision_function(X))
        return np.argsort(np.where(is_labeled, np.inf, scores), kind="stable")[:batch_size]


class Watched(ArrayPool):
    """A pool that remembers what it was asked."""

    def __init__(self, X: Any, y: Any) -> None:
        super().__init__(X, random_state=0)
        self.labels = y
        self.requests: list[DrawRequest] = []
        self.revealed: list[Any] = []

    def draw(self, request: DrawRequest) -> Draw:
        self.requests.append(request)
        return super().draw(request)

    def reveal(self, ids: Any) -> Any:
        self.revealed.append(np.asarray(ids))
        return self.labels[ids]


def test_uncertainty_sampling_draws_from_everywhere_and_buys_labels_near_its_boundary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classifier = SimpleNamespace(SklearnClassifier=lambda base, **_: base)
    monkeypatch.setitem(sys.modules, "skactiveml.classifier", classifier)
    monkeypatch.setitem(
        sys.modules, "skactiveml.pool", SimpleNamespace(UncertaintySampling=MarginSampling)
    )
    X = np.random.default_rng(0).standard_normal((500, 10))
    source = Watched(X, np.sign(X[:, 0]))
    task = Task(n_features=10, sparsity=1, noise_rate=0.0, label_budget=100)
    learn_uncertain(source, task, np.random.default_rng(0))
    (request,) = source.requests
    assert not request.band.normal.any()
    assert request.n_rows == POOL_PER_LABEL * 100
    first, chosen = source.revealed[0], np.concatenate(source.revealed[1:])
    assert (first.size, chosen.size) == (20, 80)
    assert np.unique(np.concatenate(source.revealed)).size == 100
    # 80 of the 480 others: at random, the median would be near 0.67.
    assert np.median(np.abs(X[chosen, 0])) < 0.3
