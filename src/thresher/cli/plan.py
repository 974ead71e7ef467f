"""`thresher plan`: what active learning would cost."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from thresher.cli.verb import Verb, refusing_misuse


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--features", type=int, required=True, metavar="D", help="number of features")
    add("--sparsity", type=int, required=True, metavar="S", help="number of relevant features")
    add("--error", type=float, required=True, metavar="E", help="target error rate")
    add(
        "--noise-rate",
        type=float,
        default=0.0,
        metavar="N",
        help="share of planted rows (default: 0)",
    )
    add(
        "--failure-probability",
        type=float,
        default=0.05,
        metavar="P",
        help="accepted probability of missing the target (default: 0.05)",
    )
    add("--json", action="store_true", help="print JSON instead of a table")


def _run(options: argparse.Namespace) -> None:
    from thresher.learning import plan  # here, so that --help stays quick

    with refusing_misuse():
        answer = plan(
            n_features=options.features,
            sparsity=options.sparsity,
            target_error=options.error,
            noise_rate=options.noise_rate,
            failure_probability=options.failure_probability,
        )
    if options.json:
        names = ("noise_limit", "label_floor", "possible", "message")
        print(json.dumps(asdict(answer) | {name: getattr(answer, name) for name in names}))
    else:
        print(answer)


VERB = Verb(
    name="plan",
    summary="estimate the draws and labels needed, and check the noise rate against known limits",
    example="thresher plan --features 500 --sparsity 10 --error 0.01",
    add_options=_add_options,
    run=_run,
)
