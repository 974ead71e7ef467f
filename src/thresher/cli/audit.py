"""`thresher audit`: which rows of a file look planted, why, and what is proven about the rest."""

from __future__ import annotations

import argparse

from thresher.cli.examining import add_table_options, examined, write_report
from thresher.cli.values import new_file_ending_in
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher audit` takes."""
    parser.usage = "thresher audit FILE [options]"
    add_table_options(parser)
    add = parser.add_argument
    weights = new_file_ending_in(".csv")
    add("--out", type=weights, metavar="WEIGHTS.csv", help="write a weight for every row")


def _run(options: argparse.Namespace) -> None:
    """Examine, tell, write."""
    findings = examined(options)
    from thresher.findings.terminal import describe_audit  # here, so that --help stays quick

    print(describe_audit(findings))
    if options.out is not None:
        from thresher.findings.csv_files import save_weights

        save_weights(findings, options.out)
        print(f"\nWeights: {options.out}")
    write_report(findings, options)


VERB = Verb(
    name="audit",
    summary="say which rows of a table look planted, why, and what is proven about the rest",
    example="thresher audit thresher-demo/poisoned.csv --out weights.csv",
    add_options=_add_options,
    run=_run,
)
