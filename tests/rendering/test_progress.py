"""How far long work has come, told where there is no terminal."""

from __future__ import annotations

import pytest

from thresher.rendering.progress import Forecast, duration, plain_lines, progress


def clock(*seconds: float):
    times = iter(seconds)
    return lambda: next(times)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99.4, "99 s"), (100, "2 min"), (5999, "100 min"), (7200, "2.0 h")],
)
def test_a_time_is_told_in_its_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_what_was_done_before_does_not_count_for_the_pace() -> None:
    forecast = Forecast(total=40)
    assert forecast.say(20, now=1000.0) == ""
    assert forecast.say(22, now=1010.0) == "about 90 s left"


def test_there_is_no_forecast_before_anything_is_done() -> None:
    forecast = Forecast(total=40)
    assert (forecast.say(5, now=0.0), forecast.say(5, now=60.0)) == ("", "")


def test_plain_lines_come_about_every_half_minute(capsys) -> None:
    tell = plain_lines("runs", total=40, clock=clock(0, 10, 29, 31, 50, 62))
    for n_done in (0, 1, 2, 10, 12, 20):
        tell(n_done)
    assert capsys.readouterr().err.splitlines() == [
        "10 of 40 runs, about 93 s left",
        "20 of 40 runs, about 62 s left",
    ]


def test_without_a_terminal_the_other_function_is_called(capsys) -> None:
    heard: list[int] = []
    with progress("runs", 3, otherwise=heard.append) as move:
        move(0)
        move(2)
    assert heard == [0, 2]
    assert capsys.readouterr().err == ""
