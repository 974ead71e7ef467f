"""Memory is estimated where the arrays are."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from elsewhere import LIBRARIES, put
from thresher import HalfspaceClassifier, device_memory, remove_outliers
from thresher.device_memory import free_on_device
from thresher.errors import NotEnoughMemory
from thresher.solvers import worst_direction
from thresher.streaming import StreamedRows


def test_what_does_not_fit_on_the_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_memory, "free_on_device", lambda _: 10**3)
    given = put("array_api_strict", np.eye(10))
    message = r"10 features needs about .* GB of memory on the GPU, but only 1e-06 GB is free"
    with pytest.raises(NotEnoughMemory, match=message):
        remove_outliers(given, l2_radius=1.0, l1_radius=2.0, outlier_fraction=0.1)
    with pytest.raises(NotEnoughMemory, match="on the GPU"):
        worst_direction(given, l2_radius=1.0, l1_radius=2.0)
    with pytest.raises(NotEnoughMemory, match="learning from 10 rows of 10 features needs"):
        HalfspaceClassifier().fit(given, [0, 1] * 5)


def test_a_device_that_does_not_say_is_not_asked_again() -> None:
    assert free_on_device(put("array_api_strict", np.eye(2))) is None


@pytest.mark.parametrize("library", LIBRARIES[1:])
def test_a_gpu_says_what_is_free(library: str) -> None:
    example = put(library, np.zeros(1))
    free = free_on_device(example)
    assert free is not None
    assert 0 < free <= 2**50
    assert free_on_device(StreamedRows(np.eye(3), example)) == free


def test_what_torch_holds_and_does_not_use_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        memory_reserved=lambda device: 70 + device,
        memory_allocated=lambda _: 50,
        mem_get_info=lambda _: (1000, 2000),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert free_on_device(SimpleNamespace(is_cuda=True, device=3)) == 1023


def test_what_cupy_holds_and_does_not_use_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = SimpleNamespace(
        get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 20),
        cuda=SimpleNamespace(runtime=SimpleNamespace(memGetInfo=lambda: (1000, 2000))),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert free_on_device(SimpleNamespace(get=None, device=nullcontext())) == 1020
