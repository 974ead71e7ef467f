"""`thresher audit`: which rows of a file look planted, why, and what is proven about the rest."""

from __future__ import annotations

import argparse

from thresher.cli.examining import add_table_options, examined, tell_files, write_report
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
    from thresher.auditing.csv_files import save_weights  # here, so that --help stays quick
    from thresher.auditing.terminal import describe_audit

    if options.out is not None:
        save_weights(findings, options.out)
    write_report(findings, options)
    print(describe_audit(findings, with_ids=options.out is None))
    tell_files(Weights=options.out, Report=options.report)


VERB = Verb(
    name="audit",
    summary="say which rows of a table look planted, why, and what is proven about the rest",
    example="thresher audit thresher-demo/poisoned.csv --noise-rate 0.1 --out weights.csv",
    add_options=_add_options,
    run=_run,
)
