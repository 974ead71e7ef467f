"""`thresher simulate`: a learner against one adversary, phase by phase."""

from __future__ import annotations

import argparse

from thresher.cli.values import new_file, new_file_ending_in, seeds
from thresher.cli.verb import Verb, refusing_misuse


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `thresher simulate`."""
    parser.usage = "thresher simulate [options]"
    add = parser.add_argument
    add("--features", type=int, default=500, metavar="D", help="number of features (default: 500)")
    sparsity = "number of relevant features (default: 10)"
    add("--sparsity", type=int, default=10, metavar="S", help=sparsity)
    dirty = "share of dirty (planted) rows (default: 0.05)"
    add("--noise-rate", type=float, default=0.05, metavar="N", help=dirty)
    assumed = "noise rate the learner assumes (default: N)"
    add("--told-noise-rate", type=float, metavar="A", help=assumed)
    names = "gaussian (default), laplace, logistic, uniform, exponential, student-t"
    add("--distribution", default="gaussian", metavar="NAME", help=names)
    adversary = "default: in-band-mass; an invalid name lists them all"
    add("--adversary", metavar="NAME", help=adversary)
    add("--strength", type=float, metavar="C", help="attack strength (default: adversary's own)")
    budget = "maximum number of labels (default: 10 x label floor)"
    add("--label-budget", type=int, metavar="M", help=budget)
    error = "error at which to stop (default: max(1%%, N/5))"
    add("--target-error", type=float, metavar="E", help=error)
    method = "default: thresher; an invalid name lists them all"
    add("--method", default="thresher", metavar="NAME", help=method)
    add("--seeds", type=seeds, default="5", help="how many, or a list: 0-9 or 1,5,7 (default: 5)")
    add("--verbose", action="store_true", help="show the phases of every seed, not just the first")
    add("--json", type=new_file, metavar="FILE", help="write JSON records, updated after each seed")
    figure = new_file_ending_in(".png")
    add("--figure", type=figure, metavar="FILE.png", help="plot error and dirty shares by phase")


def _run(options: argparse.Namespace) -> None:
    """Run the seeds and print what came out."""
    from thresher.experiments import SimulationSpec  # here, so that --help stays quick
    from thresher.experiments.simulation_output import simulate

    with refusing_misuse():
        spec = SimulationSpec(
            n_features=options.features,
            sparsity=options.sparsity,
            noise_rate=options.noise_rate,
            told_noise_rate=options.told_noise_rate,
            distribution=options.distribution,
            adversary=options.adversary or ("in-band-mass" if options.noise_rate else "none"),
            strength=options.strength,
            label_budget=options.label_budget,
            target_error=options.target_error,
            method=options.method,
        )
    files = {"json": options.json, "figure": options.figure}
    simulate(spec, options.seeds, verbose=options.verbose, **files)


VERB = Verb(
    name="simulate",
    summary="learn from simulated, poisoned rows and show every phase",
    example="thresher simulate --features 60 --sparsity 3 --seeds 2",
    add_options=_add_options,
    run=_run,
)
