"""What the verbs that look at a labeled table have in common: its options, and the look itself."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.cli.values import choices, new_file_ending_in, noise_rate, whole_number
from thresher.cli.verb import refusing_misuse
from thresher.memory import return_arrays_at_once

if TYPE_CHECKING:
    from thresher.auditing import Findings

FORMATS = "CSV, TSV, Parquet, Arrow, svmlight or NPZ"


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Declare the table and how to look at it."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help=FORMATS)
    add("--label", metavar="COLUMN", help="the column of labels (the last)")
    add("--id-column", metavar="COLUMN", help="a column that names the rows (their numbers)")
    add("--noise-rate", type=noise_rate, default=0.05, metavar="N", help="planted share (0.05)")
    features = parser.add_mutually_exclusive_group()
    features.add_argument(
        "--sparsity", type=choices, metavar="S", help="most features to use, or all"
    )
    features.add_argument(
        "--choose",
        type=choices,
        nargs="?",
        const=(),
        metavar="S,S,...",
        help="choose from these by cross-validation (10,40,160)",
    )
    add("--one-hot", action="store_true", help="a column of 0 and 1 for each value of a text")
    add("--seed", type=whole_number(0), default=0, metavar="K", help="of the folds (0)")
    page = new_file_ending_in(".html")
    add("--report", type=page, metavar="FILE.html", help="write a page with pictures about it all")


def examined(options: argparse.Namespace) -> Findings:
    """What is found in the file, with a progress bar while it is read and while it is learned."""
    from thresher.auditing import examine  # here, so that --help stays quick
    from thresher.auditing.reading import numbering_columns, read_with_progress

    return_arrays_at_once()
    with refusing_misuse():
        chosen = _sparsities(options)
        refuse_to_overwrite(options.file, options.out, options.report)
    table = read_with_progress(
        options.file,
        label=options.label,
        id_column=options.id_column,
        one_hot=options.one_hot,
    )
    for name in numbering_columns(table):
        warnings.warn(
            f"column {name!r} numbers the rows; unless it is a feature, say --id-column {name}",
            UserWarning,
            stacklevel=1,
        )
    return examine(
        table,
        name=options.file.name,
        noise_rate=options.noise_rate,
        seed=options.seed,
        verbose=True,
        **({"sparsities": chosen} if chosen else {}),
    )


def write_report(findings: Findings, options: argparse.Namespace) -> None:
    """Write the page, if it is wanted."""
    from thresher.auditing.report import save_report  # here, so that --help stays quick

    if options.report is not None:
        save_report(findings, options.report)


def tell_files(**files: Path | None) -> None:
    """Say which files were written, after what is printed about them.

    Examples
    --------
    >>> tell_files(Model=Path("model.json"), Report=None)
    <BLANKLINE>
    Model: model.json
    """
    written = [f"{name}: {path}" for name, path in files.items() if path is not None]
    if written:
        print("", *written, sep="\n")


def refuse_to_overwrite(read: Path, *written: Path | None) -> None:
    """Raise `ValueError` if a file that is to be read is to be written, too.

    Examples
    --------
    >>> refuse_to_overwrite(Path("mail.csv"), Path("weights.csv"), None)
    """
    for path in written:
        if path is not None and path.exists() and read.exists() and path.samefile(read):
            raise ValueError(f"{path} is read: give another name for what is written")


def _sparsities(options: argparse.Namespace) -> tuple[int | str, ...]:
    """The numbers of features to choose from; none for the usual ones."""
    if options.sparsity is not None and len(options.sparsity) > 1:
        raise ValueError("--sparsity takes one number, or all; --choose takes several")
    return options.sparsity or options.choose or ()
