"""`thresher demo`: three classifiers on a poisoned table."""

from __future__ import annotations

import argparse
from pathlib import Path

from thresher.cli.values import folder, whole_number
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=whole_number(0), default=0, metavar="K", help="random seed (default: 0)")
    add(
        "--out",
        type=folder,
        default=Path("thresher-demo"),
        metavar="DIR",
        help="folder for tables, report and picture (default: thresher-demo)",
    )


def _run(options: argparse.Namespace) -> None:
    from thresher.demo import run_demo  # here, so that --help and --version stay quick

    run_demo(seed=options.seed, out=options.out)


VERB = Verb(
    name="demo",
    summary="poison a real table, compare three classifiers, and find the planted rows",
    example="thresher demo",
    add_options=_add_options,
    run=_run,
)
