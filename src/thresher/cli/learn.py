"""`thresher learn`: a model from a file, with what it is worth and which rows it distrusts."""

from __future__ import annotations

import argparse

from thresher.cli.examining import add_table_options, examined
from thresher.cli.values import new_file_ending_in
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher learn` takes."""
    parser.usage = "thresher learn FILE [options]"
    add_table_options(parser)
    add = parser.add_argument
    model = new_file_ending_in(".json")
    add("--out", type=model, metavar="MODEL.json", help="write the model, for `thresher predict`")
    page = new_file_ending_in(".html")
    add("--report", type=page, metavar="FILE.html", help="write a page with pictures about it all")


def _run(options: argparse.Namespace) -> None:
    """Learn, tell, write."""
    findings = examined(options)
    from thresher.findings import terminal  # here, so that --help stays quick

    tell = (
        terminal.describe_table,
        terminal.describe_model,
        terminal.describe_suspects,
        terminal.describe_proof,
    )
    print("\n\n".join(describe(findings) for describe in tell))
    if options.out is not None:
        from thresher.estimators import save_model

        save_model(findings.model(one_hot=options.one_hot), options.out)
        print(f"\nModel: {options.out}")
    if options.report is not None:
        from thresher.findings.report import save_report

        save_report(findings, options.report)
        print(f"\nReport: {options.report}")


VERB = Verb(
    name="learn",
    summary="learn a sparse model from a table of which some rows may be planted",
    example="thresher learn thresher-demo/poisoned.csv --out model.json",
    add_options=_add_options,
    run=_run,
)
