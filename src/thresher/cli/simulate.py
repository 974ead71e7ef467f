"""`thresher simulate`: a learner against one adversary, phase by phase."""

from __future__ import annotations

import argparse

from thresher.cli.values import new_file, new_file_ending_in, seeds
from thresher.cli.verb import Verb, refusing_misuse


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `thresher simulate` takes."""
    parser.usage = "thresher simulate [options]"
    add = parser.add_argument
    add("--features", type=int, default=500, metavar="D", help="length of a row (500)")
    add("--sparsity", type=int, default=10, metavar="S", help="features that matter (10)")
    add("--noise-rate", type=float, default=0.05, metavar="N", help="dirty share (0.05)")
    add("--told-noise-rate", type=float, metavar="N", help="what the learner believes (the truth)")
    names = "gaussian, laplace, logistic, uniform, exponential or student-t"
    add("--distribution", default="gaussian", metavar="NAME", help=names)
    add("--adversary", metavar="NAME", help="in-band-mass, none, ...; a wrong name lists all")
    add("--strength", type=float, metavar="C", help="of the adversary (its own default)")
    add("--label-budget", type=int, metavar="M", help="most labels to pay (10 x the floor)")
    add("--target-error", type=float, metavar="E", help="where to stop (1%%, or noise/5)")
    add("--method", default="thresher", metavar="NAME", help="who learns; a wrong name lists all")
    add("--seeds", type=seeds, default="5", help="how many, or which: 0-9 or 1,5,7 (5)")
    add("--verbose", action="store_true", help="tell the phases of every seed, not of the first")
    add("--json", type=new_file, metavar="FILE", help="write the records, seed by seed")
    picture = new_file_ending_in(".png")
    add("--figure", type=picture, metavar="FILE.png", help="draw error and dirt by phase")


def _run(options: argparse.Namespace) -> None:
    """Run the seeds and tell about them."""
    from thresher.experiments import SimulationSpec  # here, so that --help stays quick
    from thresher.experiments.simulation_output import Output, simulate

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
    output = Output(verbose=options.verbose, json=options.json, figure=options.figure)
    simulate(spec, options.seeds, output)


VERB = Verb(
    name="simulate",
    summary="learn from rows that a simulated adversary poisons, and tell phase by phase",
    example="thresher simulate --features 60 --sparsity 3 --seeds 2",
    add_options=_add_options,
    run=_run,
)
