"""The surface of the package: what `thresher` offers, and when it imports large libraries."""

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


def test_large_libraries_are_imported_when_they_are_needed() -> None:
    """scikit-learn with the first estimator, and Matplotlib not even with the displays."""
    code = (
        "import sys, thresher; dir(thresher); assert 'sklearn' not in sys.modules; "
        "thresher.HalfspaceClassifier; assert 'sklearn' in sys.modules; "
        "import thresher.displays; assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
