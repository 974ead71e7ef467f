"""The surface of the package: what `thresher` offers, and when it imports scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import pytest

import thresher


def test_dir_lists_what_is_public_and_nothing_else() -> None:
    assert dir(thresher) == sorted(thresher.__all__)


@pytest.mark.parametrize("name", thresher.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(thresher, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'thresher' has no attribute 'Halfspace'"):
        thresher.Halfspace  # noqa: B018


def test_scikit_learn_is_imported_with_the_first_estimator() -> None:
    code = (
        "import sys, thresher; dir(thresher); assert 'sklearn' not in sys.modules; "
        "thresher.HalfspaceClassifier; assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
