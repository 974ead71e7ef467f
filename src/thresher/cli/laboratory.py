"""`thresher demo`, `plan`, `simulate` and `arena`: the verbs that need no table of yours."""

import argparse
import json
from dataclasses import asdict
from inspect import signature
from pathlib import Path

from thresher.cli.values import (
    folder,
    new_file,
    new_file_ending_in,
    scheduler_address,
    seeds,
    whole_number,
)
from thresher.cli.verb import Misuse, Verb, add_verbs, chosen, refusing_misuse
from thresher.rendering.text import say

# What the verbs call is imported when they run, so that --help and --version stay quick.


# -- demo --------------------------------------------------------------------------------------


def _add_demo_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=whole_number(0), default=0, metavar="K", help="random seed (default: 0)")
    out = "folder for tables, report and picture (default: thresher-demo)"
    add("--out", type=folder, default=Path("thresher-demo"), metavar="DIR", help=out)


def _demo(options: argparse.Namespace) -> None:
    """Poison a real table, compare three classifiers, and find the planted rows.

    Example: thresher demo
    """
    from thresher.demo import run_demo

    run_demo(seed=options.seed, out=options.out)


# -- plan --------------------------------------------------------------------------------------


def _add_plan_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    features, error = "number of features", "target error rate"
    add("--features", dest="n_features", type=int, required=True, metavar="D", help=features)
    add("--sparsity", type=int, required=True, metavar="S", help="number of relevant features")
    add("--error", dest="target_error", type=float, required=True, metavar="E", help=error)
    planted = "share of planted rows (default: 0)"
    add("--noise-rate", type=float, default=0.0, metavar="N", help=planted)
    failure = "accepted probability of missing the target (default: 0.05)"
    add("--failure-probability", type=float, default=0.05, metavar="P", help=failure)
    add("--json", action="store_true", help="print JSON instead of a table")


def _plan(options: argparse.Namespace) -> None:
    """Estimate the draws and labels needed, and check the noise rate against known limits.

    Example: thresher plan --features 500 --sparsity 10 --error 0.01
    """
    from thresher.learning import plan

    with refusing_misuse():
        answer = plan(**chosen(options, signature(plan).parameters))
    if options.json:
        names = ("noise_limit", "label_floor", "possible", "message", "pool_labels")
        say(json.dumps(asdict(answer) | {name: getattr(answer, name) for name in names}))
    else:
        say(answer)


# -- simulate ----------------------------------------------------------------------------------


def _add_simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "thresher simulate [options]"
    add = parser.add_argument
    features = "number of features (default: 500)"
    add("--features", dest="n_features", type=int, default=500, metavar="D", help=features)
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


def _simulate(options: argparse.Namespace) -> None:
    """Learn from simulated, poisoned rows and show every phase.

    Example: thresher simulate --features 60 --sparsity 3 --seeds 2
    """
    from thresher.experiments import SimulationSpec
    from thresher.experiments.simulation_output import simulate

    if options.noise_rate == 0 and options.adversary not in (None, "none"):
        advice = "drop --adversary, or raise --noise-rate"
        raise Misuse(f"--noise-rate 0 leaves the adversary no rows: {advice}")
    options.adversary = options.adversary or ("in-band-mass" if options.noise_rate else "none")
    with refusing_misuse():
        spec = SimulationSpec(**chosen(options, signature(SimulationSpec).parameters))
    simulate(spec, **chosen(options, ("seeds", "verbose", "json", "figure")))


# -- arena -------------------------------------------------------------------------------------


def _arena(_: argparse.Namespace) -> None:
    """Compare learners under every adversary in a sweep, and report the worst cases.

    Example: thresher arena run smoke --out arena
    """


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "thresher arena run NAME|SPEC.toml --out DIR [options]"
    add = parser.add_argument
    add("spec", metavar="NAME|SPEC.toml", help="built-in sweep or TOML file")
    out = "folder for the records; created if missing"
    add("--out", type=folder, required=True, metavar="DIR", help=out)
    workers = parser.add_mutually_exclusive_group()
    jobs = "parallel runs (default: one per core)"
    workers.add_argument("--jobs", dest="n_jobs", type=whole_number(1), metavar="N", help=jobs)
    cluster = "run on the Dask cluster at this address instead"
    workers.add_argument("--scheduler", type=scheduler_address, metavar="ADDRESS", help=cluster)
    add("--data-dir", type=folder, metavar="DIR", help="folder with real tables (.csv, .npz, ...)")
    add("--retry-failed", dest="retry", action="store_true", help="rerun what did not finish")


def _run_sweep(options: argparse.Namespace) -> None:
    """Run a sweep of experiments, or resume one.

    Example: thresher arena run smoke --out arena
    """
    from thresher.experiments.arena import load_sweeps
    from thresher.experiments.arena.run import needing

    with needing("pandas", "lab"):
        from thresher.experiments.arena.terminal import run_and_print, runnable
    with refusing_misuse():
        sweeps = runnable(load_sweeps(options.spec), options.data_dir)
    how = chosen(options, ("n_jobs", "scheduler", "data_dir", "retry"))
    for sweep in sweeps:
        run_and_print(sweep, options.out, **how)


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=folder, metavar="DIR", help="folder with the records")
    page, cells = new_file_ending_in(".html"), new_file_ending_in(".csv")
    add("--out", type=page, required=True, metavar="FILE.html", help="report to write")
    results = "also write the results as CSV, one line per setting"
    add("--csv", type=cells, metavar="FILE.csv", help=results)


def _write_report(options: argparse.Namespace) -> None:
    """Write a report on the records in a folder, even during a run.

    Example: thresher arena report arena --out arena.html
    """
    from thresher.experiments.arena.run import NAME, needing

    with needing("pandas", "lab"):
        from thresher.experiments.arena.report import load_summaries, save_report
        from thresher.experiments.arena.summary import save_csv
    records: Path = options.folder / NAME
    if not records.is_file():
        raise Misuse(f"no records: {records} does not exist; run e.g. {ARENA.example!r} first")
    summaries = load_summaries(options.folder)
    save_report(summaries, options.out)
    say(f"Report: {options.out}")
    if options.csv is not None:
        save_csv(summaries, options.csv)
        say(f"CSV: {options.csv}")


# -- the verbs ---------------------------------------------------------------------------------

DEMO = Verb("demo", _add_demo_options, _demo)
PLAN = Verb("plan", _add_plan_options, _plan)
SIMULATE = Verb("simulate", _add_simulate_options, _simulate)
ARENA_VERBS = (
    Verb("run", _add_run_options, _run_sweep),
    Verb("report", _add_report_options, _write_report),
)
ARENA = Verb("arena", lambda parser: add_verbs(parser, ARENA_VERBS), _arena)
