"""How often someone may ask."""

from __future__ import annotations

from thresher.label_page import rates as rates_module
from thresher.label_page.rates import Rate, Rates


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_allowed_and_then_the_steady_rate() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=10, burst=3), clock=clock)
    assert [rates.wait("ann") == 0 for _ in range(5)] == [True, True, True, False, False]
    clock.now = 0.1
    assert [rates.wait("ann") == 0 for _ in range(2)] == [True, False]


def test_a_bucket_never_holds_more_than_a_burst() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=10, burst=2), clock=clock)
    rates.wait("ann")
    clock.now = 1e6
    assert [rates.wait("ann") == 0 for _ in range(3)] == [True, True, False]


def test_callers_do_not_share_and_are_forgotten(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(rates_module, "N_REMEMBERED", 5)
    rates = Rates(Rate(per_second=0.001, burst=1), clock=Clock())
    assert [rates.wait(str(i)) for i in range(20)] == [0.0] * 20
    assert len(rates._callers) == 5
