"""`thresher arena`: sweeps of experiments, and reports about them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.cli.values import folder, new_file_ending_in, scheduler_address, whole_number
from thresher.cli.verb import Misuse, Verb, add_verbs, refusing_misuse

if TYPE_CHECKING:
    from thresher.experiments.arena import Sweep

EXAMPLE = "thresher arena run smoke --out arena"


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options of `thresher arena run`."""
    parser.usage = "thresher arena run NAME|SPEC.toml --out DIR [options]"
    add = parser.add_argument
    add("spec", metavar="NAME|SPEC.toml", help="built-in sweep or TOML file")
    add(
        "--out",
        type=folder,
        required=True,
        metavar="DIR",
        help="folder for the records; created if missing",
    )
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument(
        "--jobs", type=whole_number(1), metavar="N", help="parallel runs (default: one per core)"
    )
    workers.add_argument(
        "--scheduler",
        type=scheduler_address,
        metavar="ADDRESS",
        help="run on the Dask cluster at this address instead",
    )
    add("--data-dir", type=folder, metavar="DIR", help="folder with real tables (.csv, .npz, ...)")
    add("--retry-failed", action="store_true", help="rerun what did not finish")


def _run_sweep(options: argparse.Namespace) -> None:
    """Run what is missing from the folder, and print the worst cases."""
    from thresher.experiments.arena import load_sweeps  # here: --help stays quick
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


def _runnable(sweeps: list[Sweep], data_dir: Path | None) -> list[Sweep]:
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
    """The options of `thresher arena report`."""
    add = parser.add_argument
    add("folder", type=folder, metavar="DIR", help="folder with the records")
    add(
        "--out",
        type=new_file_ending_in(".html"),
        required=True,
        metavar="FILE.html",
        help="report to write",
    )
    add(
        "--csv",
        type=new_file_ending_in(".csv"),
        metavar="FILE.csv",
        help="also write the results as CSV, one line per setting",
    )


def _write_report(options: argparse.Namespace) -> None:
    """Write the page about the records of a folder."""
    from thresher.experiments.arena.record_file import NAME  # here: --help stays quick
    from thresher.experiments.arena.report import load_summaries, save_report
    from thresher.experiments.arena.summary import save_csv

    records: Path = options.folder / NAME
    if not records.is_file():
        raise Misuse(f"no records: {records} does not exist; run e.g. {EXAMPLE!r} first")
    summaries = load_summaries(options.folder)
    save_report(summaries, options.out)
    print(f"Report: {options.out}")
    if options.csv is not None:
        save_csv(summaries, options.csv)
        print(f"CSV: {options.csv}")


VERBS = (
    Verb(
        name="run",
        summary="run a sweep of experiments, or resume one",
        example=EXAMPLE,
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
VERB = Verb(
    name="arena",
    summary="compare learners under every adversary in a sweep, and report the worst cases",
    example=EXAMPLE,
    add_options=lambda parser: add_verbs(parser, VERBS),
    run=lambda _: None,  # one of its own verbs is run instead
)
