"""`thresher learn`: a model from a file, with what it is worth and which rows it distrusts."""

from __future__ import annotations

import argparse

from thresher.cli.examining import add_table_options, examined, tell_files, write_report
from thresher.cli.values import new_file_ending_in
from thresher.cli.verb import Verb


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher learn` takes."""
    parser.usage = "thresher learn FILE [options]"
    add_table_options(parser)
    add = parser.add_argument
    model = new_file_ending_in(".json")
    add("--out", type=model, metavar="MODEL.json", help="write the model, for `thresher predict`")


def _run(options: argparse.Namespace) -> None:
    """Learn, tell, write."""
    findings = examined(options)
    from thresher.auditing.terminal import describe_learning
    from thresher.estimators import save_model  # here, so that --help stays quick

    if options.out is not None:
        save_model(findings.model(one_hot=options.one_hot), options.out)
    write_report(findings, options)
    print(describe_learning(findings))
    tell_files(Model=options.out, Report=options.report)


VERB = Verb(
    name="learn",
    summary="learn a sparse model from a table of which some rows may be planted",
    example="thresher learn thresher-demo/poisoned.csv --noise-rate 0.1 --out model.json",
    add_options=_add_options,
    run=_run,
)
