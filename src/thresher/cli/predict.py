"""`thresher predict`: what a model says about the rows of a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from thresher.cli.examining import FORMATS, refuse_to_overwrite
from thresher.cli.values import new_file_ending_in
from thresher.cli.verb import Verb, refusing_misuse


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher predict` takes."""
    parser.usage = "thresher predict MODEL.json FILE --out PREDICTIONS.csv [options]"
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL.json", help="as `thresher learn --out` writes it")
    add("file", type=Path, metavar="FILE", help=f"with the features of the model; {FORMATS}")
    add(
        "--out",
        type=new_file_ending_in(".csv"),
        required=True,
        metavar="PREDICTIONS.csv",
        help="id, score and, in the last column, the prediction of each row",
    )
    add("--id-column", metavar="COLUMN", help="a column that names the rows (their numbers)")
    add("--label", metavar="COLUMN", help="a column of true labels: tell the error, too")


def _run(options: argparse.Namespace) -> None:
    """Predict, write, tell how often each label was predicted."""
    from thresher.auditing.predicting import describe_predictions, predict_file
    from thresher.estimators import load_model  # here, so that --help stays quick

    with refusing_misuse():
        refuse_to_overwrite(options.file, options.out)
    predictions = predict_file(
        load_model(options.model),
        options.file,
        options.out,
        id_column=options.id_column,
        label=options.label,
    )
    print(describe_predictions(predictions))
    print(f"Predictions: {options.out}")


VERB = Verb(
    name="predict",
    summary="write what a model says about the rows of a table",
    example="thresher predict model.json thresher-demo/clean.csv --out answers.csv",
    add_options=_add_options,
    run=_run,
)
