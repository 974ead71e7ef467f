"""Measures the performance bars: `python -m benchmarks [--full] [name ...]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.ratio import Ratio
from benchmarks.report import table, write_record

NAMES = ("removal", "direction", "hinge", "interrupts", "engine", "estimator", "gpu")
LONGER_WHEN_FULL = {"direction"}
RECORD = Path(__file__).parent / "results" / "latest.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the record; 0 if every bound is kept, else 1."""
    arguments = _parser().parse_args(argv)
    ratios: list[Ratio] = []
    try:
        for name in arguments.names or NAMES:
            ratios += _measured(name, arguments.full)
    finally:  # what was measured is kept if a later benchmark fails or is interrupted
        print(table(ratios))
        write_record(ratios, arguments.out)
    return 0 if all(ratio.holds for ratio in ratios) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the performance bars, each ratio side by side in one run.",
        epilog="example: python -m benchmarks removal direction",
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", type=_name, help=f"any of: {', '.join(NAMES)}"
    )
    parser.add_argument("--full", action="store_true", help="the sizes that take minutes, too")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record is written")
    return parser


def _name(text: str) -> str:
    if text not in NAMES:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(NAMES)}, got {text!r}")
    return text


def _measured(name: str, full: bool) -> list[Ratio]:
    print(f"{name} ...", file=sys.stderr, flush=True)
    start = time.perf_counter()
    ratios = _measure_of(name, full)()
    seconds = time.perf_counter() - start
    print(f"{name}: {len(ratios)} ratios in {seconds:.0f} s", file=sys.stderr, flush=True)
    return ratios


def _measure_of(name: str, full: bool) -> Callable[[], list[Ratio]]:
    measure: Callable[..., list[Ratio]] = import_module(f"benchmarks.{name}").measure
    return partial(measure, full=True) if full and name in LONGER_WHEN_FULL else measure


if __name__ == "__main__":
    sys.exit(main())
