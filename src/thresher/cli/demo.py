"""`thresher demo`: planted rows, found and removed."""

from __future__ import annotations

import argparse
from pathlib import Path

from thresher.cli.values import new_file_ending_in, whole_number
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher demo` takes."""
    add = parser.add_argument
    add("--seed", type=whole_number(0), default=0, help="of the random data (default: 0)")
    add(
        "--out",
        type=new_file_ending_in(".png"),
        default=Path("thresher-demo.png"),
        metavar="FILE.png",
        help="where the picture goes (default: thresher-demo.png)",
    )


def _run(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from thresher.demo import run_demo  # here, so that --help and --version stay quick

    run_demo(seed=options.seed, out=options.out)


VERB = Verb(
    name="demo",
    summary="plant outliers among clean rows, remove them, and draw what happened",
    example="thresher demo --seed 1 --out thresher-demo.png",
    add_options=_add_options,
    run=_run,
)
