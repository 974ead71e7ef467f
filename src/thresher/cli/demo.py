"""`thresher demo`: real rows, an attack, and who is fooled by it."""

from __future__ import annotations

import argparse
from pathlib import Path

from thresher.cli.values import folder, whole_number
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher demo` takes."""
    add = parser.add_argument
    add("--seed", type=whole_number(0), default=0, help="of splits and attacks (default: 0)")
    add(
        "--out",
        type=folder,
        default=Path("thresher-demo"),
        metavar="DIR",
        help="where tables, report and picture go (default: thresher-demo)",
    )


def _run(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from thresher.demo import run_demo  # here, so that --help and --version stay quick

    run_demo(seed=options.seed, out=options.out)


VERB = Verb(
    name="demo",
    summary="poison a real table, and see whom it fools and which rows are found",
    example="thresher demo",
    add_options=_add_options,
    run=_run,
)
