"""Arrays of other libraries for tests: one that is always at hand, and those of a GPU.

`array_api_strict` runs on the CPU and refuses whatever the array standard does not promise; its
second device refuses to be mixed with arrays of the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thresher.arrays import is_foreign

LIBRARIES = [
    "array_api_strict",
    pytest.param("torch", marks=pytest.mark.gpu),
    pytest.param("cupy", marks=pytest.mark.gpu),
]


def put(library: str, values: Any) -> Any:
    """The values as an array of this library, on a GPU if it has one; skips where there is none."""
    xp = pytest.importorskip(library)
    values = np.asarray(values, dtype=float)
    if library == "array_api_strict":
        return xp.asarray(values, device=xp.Device("device1"))
    if library == "torch":
        if not xp.cuda.is_available():
            pytest.skip("Torch finds no GPU")
        return xp.asarray(values, device="cuda")
    try:
        return xp.asarray(values)
    except Exception as error:  # CuPy without a driver has errors of several kinds
        pytest.skip(f"CuPy finds no GPU: {error}")


def same_place(one: Any, other: Any) -> bool:
    """Whether two arrays are of the same foreign library and on the same device."""
    return is_foreign(one) and type(one) is type(other) and one.device == other.device
