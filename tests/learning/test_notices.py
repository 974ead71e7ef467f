"""Warnings point at the code that called Thresher (from deep inside: see the estimators' tests)."""

from __future__ import annotations

import pytest

from thresher.learning.notices import warn_caller


def test_a_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match="a word") as caught:
        warn_caller("a word", UserWarning)
    assert caught[0].filename == __file__
