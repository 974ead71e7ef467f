"""The error estimate over the number of labels, as coordinates of a drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.label_sessions.state import Estimate

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 14, 56  # margins


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where it is, and what it says."""

    place: float
    text: str


@dataclass(frozen=True)
class ErrorCurve:
    """What the template draws: a line, the interval around it, and two axes.

    Examples
    --------
    >>> curve = error_curve([Estimate(10, 0.2, 0.1, 0.3), Estimate(20, 0.1, 0.05, 0.2)])
    >>> curve.line
    '344.0,77.3 628.0,140.7'
    >>> [tick.text for tick in curve.across]
    ['0', '5', '10', '15', '20']
    """

    line: str
    interval: str
    last: tuple[float, float]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def error_curve(history: Sequence[Estimate]) -> ErrorCurve | None:
    """The curve of a session, or None before there are estimates."""
    known = [(e.n_labels, e.estimate, e.low, e.high) for e in history if e.estimate is not None]
    if not known:
        return None
    most, worst = max(1, *(e[0] for e in known)), max(0.01, *(e[3] for e in known))

    def x(n_labels: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * n_labels / most

    def y(rate: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate / worst)

    def points(pairs: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x(n):.1f},{y(rate):.1f}" for n, rate in pairs)

    around = [(n, high) for n, _, _, high in known] + [(n, low) for n, _, low, _ in known[::-1]]
    return ErrorCurve(
        line=points([(n, rate) for n, rate, _, _ in known]),
        interval=points(around),
        last=(round(x(known[-1][0]), 1), round(y(known[-1][1]), 1)),
        across=tuple(Tick(round(x(n), 1), f"{n:,.0f}") for n in _steps(most, smallest=1)),
        up=tuple(Tick(round(y(r), 1), f"{100 * r:.3g}%") for r in _steps(worst, smallest=0.001)),
    )


def _steps(highest: float, smallest: float) -> list[float]:
    """Three to six round numbers, starting at 0."""
    size = 10.0 ** math.floor(math.log10(highest))
    step = next(size * f for f in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0) if highest / (size * f) < 6)
    step = max(step, smallest)
    return [step * i for i in range(math.floor(highest / step + 1e-9) + 1)]
