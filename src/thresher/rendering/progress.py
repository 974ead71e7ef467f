"""Progress of long work: a bar in a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from thresher.rendering.text import say

Move: TypeAlias = Callable[[int], None]  # called with how much is done by now

LINE_EVERY = 30.0  # least number of seconds between two plain lines


def duration(seconds: float) -> str:
    """A duration in the unit that people would use.

    Examples
    --------
    >>> duration(8.2), duration(200), duration(9000)
    ('8 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.1f} h"


@dataclass
class Forecast:
    """The time left, at the pace since the first call.

    Parameters
    ----------
    total : amount of work

    Examples
    --------
    >>> forecast = Forecast(total=40)
    >>> forecast.say(n_done=10, now=0.0), forecast.say(n_done=20, now=120.0)
    ('', 'about 4 min left')
    """

    total: int
    _start: tuple[int, float] | None = field(default=None, init=False)

    def say(self, n_done: int, now: float) -> str:
        """The time left in words; empty while nothing has been done since the first call."""
        n_before, start = self._start = self._start or (n_done, now)
        if n_done <= n_before:
            return ""
        pace = (now - start) / (n_done - n_before)
        return f"about {duration(pace * max(self.total - n_done, 0))} left"


def plain_lines(what: str, total: int, clock: Callable[[], float] = time.monotonic) -> Move:
    """A function that prints a line on stderr about every half minute, for logs.

    Examples
    --------
    >>> from contextlib import redirect_stderr
    >>> seconds = iter([0.0, 20.0, 40.0])
    >>> report = plain_lines("runs", total=40, clock=lambda: next(seconds))
    >>> with redirect_stderr(sys.stdout):
    ...     for n_done in (0, 10, 20):
    ...         report(n_done)
    20 of 40 runs, about 40 s left
    """
    forecast, printed = Forecast(total), math.nan

    def report(n_done: int) -> None:
        nonlocal printed
        now = clock()
        rest = forecast.say(n_done, now)
        printed = now if math.isnan(printed) else printed
        if now - printed >= LINE_EVERY:
            printed = now
            parts = [f"{n_done:,} of {total:,} {what}", *filter(None, [rest])]
            say(", ".join(parts), file=sys.stderr)

    return report


@contextmanager
def progress(what: str, total: int, otherwise: Move | None = None) -> Iterator[Move]:
    """A function that moves a bar on stderr; call it with how much is done by now.

    Without a terminal, or without rich, it is `otherwise`, or does nothing. The first call says
    where the work begins: what was done before does not count for the pace.

    Examples
    --------
    >>> with progress("runs", total=2) as move:
    ...     move(1)
    """
    bar = _make_bar() if sys.stderr.isatty() else None
    if bar is None:
        yield otherwise or (lambda _: None)
        return
    forecast = Forecast(total)
    with bar:
        task = bar.add_task(what, total=total, rest="")

        def move(n_done: int) -> None:
            bar.update(task, completed=n_done, rest=forecast.say(n_done, time.monotonic()))

        yield move


def _make_bar() -> Any:
    """A progress bar on stderr, or None if rich is missing."""
    try:
        from rich import progress as rich
        from rich.console import Console
    except ImportError:
        return None
    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(bar_width=30),  # leaves room for the time left on 80 columns
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        # Rich's own estimate looks at the last half minute, in which no long run may end.
        rich.TextColumn("{task.fields[rest]}"),
    )
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)
