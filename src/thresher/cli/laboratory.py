"""`thresher demo`, `plan`, `simulate` and `arena`: the verbs that need no table of yours."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.cli.values import (
    folder,
    new_file,
    new_file_ending_in,
    scheduler_address,
    seeds,
    whole_number,
)
from thresher.cli.verb import Misuse, Verb, add_verbs, refusing_misuse

if TYPE_CHECKING:
    from thresher.experiments.arena import Sweep

# What the verbs call is imported when they run, so that --help and --version stay quick.

ARENA_EXAMPLE = "thresher arena run smoke --out arena"


# -- demo --------------------------------------------------------------------------------------


def _add_demo_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=whole_number(0), default=0, metavar="K", help="random seed (default: 0)")
    out = "folder for tables, report and picture (default: thresher-demo)"
    add("--out", type=folder, default=Path("thresher-demo"), metavar="DIR", help=out)


def _demo(options: argparse.Namespace) -> None:
    from thresher.demo import run_demo

    run_demo(seed=options.seed, out=options.out)


# -- plan --------------------------------------------------------------------------------------


def _add_plan_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--features", type=int, required=True, metavar="D", help="number of features")
    add("--sparsity", type=int, required=True, metavar="S", help="number of relevant features")
    add("--error", type=float, required=True, metavar="E", help="target error rate")
    planted = "share of planted rows (default: 0)"
    add("--noise-rate", type=float, default=0.0, metavar="N", help=planted)
    failure = "accepted probability of missing the target (default: 0.05)"
    add("--failure-probability", type=float, default=0.05, metavar="P", help=failure)
    add("--json", action="store_true", help="print JSON instead of a table")


def _plan(options: argparse.Namespace) -> None:
    from thresher.learning import plan

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


# -- simulate ----------------------------------------------------------------------------------


def _add_simulate_options(parser: argparse.ArgumentParser) -> None:
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


def _simulate(options: argparse.Namespace) -> None:
    from thresher.experiments import SimulationSpec
    from thresher.experiments.simulation_output import simulate

    if options.noise_rate == 0 and options.adversary not in (None, "none"):
        raise Misuse(
            "--noise-rate 0 leaves the adversary no rows: drop --adversary, or raise --noise-rate"
        )
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


# -- arena -------------------------------------------------------------------------------------


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "thresher arena run NAME|SPEC.toml --out DIR [options]"
    add = parser.add_argument
    add("spec", metavar="NAME|SPEC.toml", help="built-in sweep or TOML file")
    out = "folder for the records; created if missing"
    add("--out", type=folder, required=True, metavar="DIR", help=out)
    workers = parser.add_mutually_exclusive_group()
    jobs = "parallel runs (default: one per core)"
    workers.add_argument("--jobs", type=whole_number(1), metavar="N", help=jobs)
    cluster = "run on the Dask cluster at this address instead"
    workers.add_argument("--scheduler", type=scheduler_address, metavar="ADDRESS", help=cluster)
    add("--data-dir", type=folder, metavar="DIR", help="folder with real tables (.csv, .npz, ...)")
    add("--retry-failed", action="store_true", help="rerun what did not finish")


def _run_sweep(options: argparse.Namespace) -> None:
    from thresher.experiments.arena import load_sweeps
    from thresher.experiments.arena.terminal import run_and_print

    with refusing_misuse():
        sweeps = _runnable(load_sweeps(options.spec), options.data_dir)
    for sweep in sweeps:
        run_and_print(
            sweep,
            options.out,
            n_jobs=options.jobs,
            scheduler=options.scheduler,
            data_dir=options.data_dir,
            retry=options.retry_failed,
        )


def _runnable(sweeps: "list[Sweep]", data_dir: Path | None) -> "list[Sweep]":
    """The sweeps without the tables that are missing; a sweep with nothing left is an error."""
    from thresher.experiments.arena.runner import missing_tables

    kept = []
    for sweep in sweeps:
        missing = missing_tables(sweep, data_dir)
        rest = sweep.without_tables(missing) if missing else sweep
        if rest.entries:
            kept.append(rest)
            continue
        tables = ", ".join(missing)
        remark = f"sweep {sweep.name} needs --data-dir DIR, a folder with the tables {tables}"
        if len(sweeps) == 1:
            raise Misuse(remark)
        print(f"thresher: skipped: {remark}", file=sys.stderr)
    return kept


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=folder, metavar="DIR", help="folder with the records")
    page, cells = new_file_ending_in(".html"), new_file_ending_in(".csv")
    add("--out", type=page, required=True, metavar="FILE.html", help="report to write")
    results = "also write the results as CSV, one line per setting"
    add("--csv", type=cells, metavar="FILE.csv", help=results)


def _write_report(options: argparse.Namespace) -> None:
    from thresher.experiments.arena.record_file import NAME
    from thresher.experiments.arena.report import load_summaries, save_report
    from thresher.experiments.arena.summary import save_csv

    records: Path = options.folder / NAME
    if not records.is_file():
        raise Misuse(f"no records: {records} does not exist; run e.g. {ARENA_EXAMPLE!r} first")
    summaries = load_summaries(options.folder)
    save_report(summaries, options.out)
    print(f"Report: {options.out}")
    if options.csv is not None:
        save_csv(summaries, options.csv)
        print(f"CSV: {options.csv}")


# -- the verbs ---------------------------------------------------------------------------------

DEMO = Verb(
    name="demo",
    summary="poison a real table, compare three classifiers, and find the planted rows",
    example="thresher demo",
    add_options=_add_demo_options,
    run=_demo,
)
PLAN = Verb(
    name="plan",
    summary="estimate the draws and labels needed, and check the noise rate against known limits",
    example="thresher plan --features 500 --sparsity 10 --error 0.01",
    add_options=_add_plan_options,
    run=_plan,
)
SIMULATE = Verb(
    name="simulate",
    summary="learn from simulated, poisoned rows and show every phase",
    example="thresher simulate --features 60 --sparsity 3 --seeds 2",
    add_options=_add_simulate_options,
    run=_simulate,
)
ARENA_VERBS = (
    Verb(
        name="run",
        summary="run a sweep of experiments, or resume one",
        example=ARENA_EXAMPLE,
        add_options=_add_run_options,
        run=_run_sweep,
    ),
    Verb(
        name="report",
        summary="write a report on the records in a folder, even during a run",
        example="thresher arena report arena --out arena.html",
        add_options=_add_report_options,
        run=_write_report,
    ),
)
ARENA = Verb(
    name="arena",
    summary="compare learners under every adversary in a sweep, and report the worst cases",
    example=ARENA_EXAMPLE,
    add_options=lambda parser: add_verbs(parser, ARENA_VERBS),
    run=lambda _: None,  # one of its own verbs is run instead
)
