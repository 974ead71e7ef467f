"""How often someone may ask: a bucket of requests that refills steadily."""

import time
from collections.abc import Callable
from dataclasses import dataclass

N_REMEMBERED = 10_000  # callers; the longest silent are forgotten


@dataclass(frozen=True)
class Rate:
    """Requests per second in the long run, and how many may come at once."""

    per_second: float
    burst: int


class Rates:
    """The rates of many callers, each by a name.

    Examples
    --------
    >>> rates = Rates(Rate(per_second=2, burst=1), clock=lambda: 0.0)
    >>> rates.wait("ann"), rates.wait("ann"), rates.wait("ben")
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: Rate, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._callers: dict[str, tuple[float, float]] = {}  # what is left, and when it was counted

    def wait(self, name: str) -> float:
        """Seconds until the caller may ask; 0 if now, which counts as a request."""
        now = self._clock()
        left, since = self._callers.pop(name, (float(self._rate.burst), now))
        left = min(self._rate.burst, left + (now - since) * self._rate.per_second)
        missing = max(0.0, 1.0 - left)
        self._callers[name] = (left if missing else left - 1.0, now)
        if len(self._callers) > N_REMEMBERED:
            del self._callers[next(iter(self._callers))]
        return missing / self._rate.per_second
