"""Peers from other packages: each is tested where its package is installed, and named elsewhere."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from rivals.methods.measured import by_name, error_of
from thresher.experiments import SimulationSpec
from thresher.rivals.methods.optional import METHODS, MISSING
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
