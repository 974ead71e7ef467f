"""`thresher learn`, `audit` and `predict`: the verbs that work on a table of yours."""

import argparse
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.cli.values import choices, new_file_ending_in, noise_rate, separator, whole_number
from thresher.cli.verb import Misuse, Verb, chosen, refusing_misuse
from thresher.errors import DamagedFile, ThresherError
from thresher.memory import return_arrays_at_once
from thresher.rendering.text import say
from thresher.wording import count, visible

if TYPE_CHECKING:
    from thresher.auditing import Audit
    from thresher.table_files import LabeledTable, TextFormat

FORMATS = "CSV, TSV, Parquet or Arrow (also folders), svmlight, NPZ; - for stdin"
ID_HELP = "column with row ids (default: row numbers from 0)"
RAW_HELP = "no ' before text that spreadsheets would execute"


# -- learn and audit ---------------------------------------------------------------------------


def _add_table_options(parser: argparse.ArgumentParser, out: str, content: str) -> None:
    """Declare the options of `learn` and `audit`, which differ in what --out writes."""
    parser.usage = f"{parser.prog} FILE [options]"
    parser.description = f"{parser.description}\nFILE: {FORMATS}"
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    add("--label", metavar="COLUMN", help="label column (default: the last one)")
    add("--id-column", metavar="COLUMN", help=ID_HELP)
    planted = "share of rows that may be planted (default: estimated)"
    add("--noise-rate", type=noise_rate, metavar="N", help=planted)
    add_features = parser.add_mutually_exclusive_group().add_argument
    most = "maximum number of features, 'auto' or 'all'"
    add_features("--sparsity", type=choices, metavar="S", help=most)
    tried = "choose S by cross-validation (default: no limit)"
    add_features("--choose", type=choices, nargs="?", const=(), metavar="S,S,...", help=tried)
    _add_file_options(parser)
    strict = "refuse missing cells and text instead of preparing"
    add("--strict", action="store_true", help=strict)
    add("--one-hot", action="store_true", help=argparse.SUPPRESS)
    add("--seed", type=whole_number(0), default=0, metavar="K", help="random seed (default: 0)")
    add("--report", type=new_file_ending_in(".html"), metavar="FILE.html", help="write a report")
    add("--out", type=new_file_ending_in(Path(out).suffix), metavar=out, help=f"write {content}")


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    """Declare how a CSV file is written, for when it is not recognized."""
    add = parser.add_argument
    add("--sep", type=separator, metavar="C", help="separator of a CSV file, such as ';' or tab")
    add("--decimal", choices=(".", ","), metavar="C", help="decimal sign: . or ,")
    add("--encoding", metavar="NAME", help="encoding of a CSV file, such as latin-1")


def _add_audit_options(parser: argparse.ArgumentParser) -> None:
    _add_table_options(parser, "ROWS.csv", "what is known about each row")
    kept = "write the rows that are not suspects"
    parser.add_argument("--clean", type=new_file_ending_in(".csv"), metavar="KEPT.csv", help=kept)
    parser.add_argument("--raw-csv", action="store_true", help=RAW_HELP)


def _learn(options: argparse.Namespace) -> None:
    """Learn a sparse model from a table that may contain planted rows.

    Example: thresher learn thresher-demo/poisoned.csv --noise-rate 0.1 --out model.json
    """
    table = _read(options)
    from thresher.auditing import audit_table
    from thresher.auditing.text_report import describe_learning
    from thresher.estimators import save_model  # here, so that --help stays quick

    audit = audit_table(table, final_fit="auto", **_how(options))
    if options.out is not None:
        save_model(audit.findings.model(), options.out)
    _finish(audit, options, describe_learning(audit), "Model")


def _audit(options: argparse.Namespace) -> None:
    """List suspicious rows: they steer a model, disagree with it, or have data errors.

    Example: thresher audit thresher-demo/poisoned.csv --out rows.csv
    """
    table = _read(options)
    from thresher.auditing import audit_table
    from thresher.auditing.contents import save_rows
    from thresher.auditing.folders import SampledTable, save_rows_of_folder
    from thresher.auditing.text_report import describe_audit
    from thresher.table_files import copy_rows  # here, so that --help stays quick

    audit, said = audit_table(table, **_how(options)), ""
    if options.out is not None and isinstance(table, SampledTable):
        said = f"\n\n{save_rows_of_folder(audit, options.out, raw_csv=options.raw_csv)}"
    elif options.out is not None:
        save_rows(audit, options.out, raw_csv=options.raw_csv)
    if options.clean is not None:
        form = _text_format(options)
        copy_rows(options.file, audit.is_kept, options.clean, text_format=form)
    text = describe_audit(audit, is_written=options.out is not None)
    _finish(audit, options, f"{text}{said}", "Rows")


def _read(options: argparse.Namespace) -> "LabeledTable":
    """Read the file with a progress bar, and say what was done with its columns."""
    from thresher.auditing.examination import numbering_columns
    from thresher.auditing.predictions import read_with_progress
    from thresher.auditing.preparation_report import describe_preparation
    from thresher.estimators.model_file import check_savable
    from thresher.table_files import name_of, refuse_controls

    return_arrays_at_once()
    if options.sparsity is not None and len(options.sparsity) > 1:
        raise Misuse("--sparsity takes one number, 'auto' or 'all'; use --choose for several")
    cleaned = getattr(options, "clean", None)
    _refuse_to_overwrite(options.file, out=options.out, report=options.report, clean=cleaned)
    if cleaned is not None and str(options.file) == "-":
        raise Misuse("--clean reads FILE again, so it needs a file, not standard input")
    if cleaned is not None and options.file.is_dir():
        raise Misuse("--clean needs a file, not a folder; pass --out to get the trust of each row")
    if options.one_hot:
        remark = "--one-hot is not needed any more: text columns become categories without it"
        warnings.warn(remark, UserWarning, stacklevel=1)
    columns = chosen(options, ("label", "id_column", "strict"))
    table = read_with_progress(options.file, text_format=_text_format(options), **columns)
    if options.out is not None and options.out.suffix.lower() == ".json":  # before the work
        refuse_controls(table, name_of(options.file))
        check_savable(table.feature_names, table.classes, table.preparation)
    for name in numbering_columns(table):
        remark = f"column {name!r} looks like row numbers; if so, pass --id-column {name}"
        warnings.warn(remark, UserWarning, stacklevel=1)
    if prepared := describe_preparation(table):
        say(f"{prepared}\n")
    return table


def _how(options: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `audit_table`."""
    from thresher.table_files import name_of  # here, so that --help stays quick

    name = visible(Path(name_of(options.file)).name)
    how = {"name": name, "verbose": True, **chosen(options, ("noise_rate", "seed"))}
    sparsities = options.sparsity or options.choose
    return {**how, **({"sparsities": sparsities} if sparsities else {})}


def _text_format(options: argparse.Namespace) -> "TextFormat":
    from thresher.table_files import TextFormat  # here, so that --help stays quick

    with refusing_misuse():
        return TextFormat(options.sep, options.decimal, options.encoding)


def _finish(audit: "Audit", options: argparse.Namespace, text: str, kind: str) -> None:
    """Write the report if asked to, print the text, and name the files."""
    if options.report is not None:
        from thresher.auditing.html_report import save_report

        save_report(audit, options.report)
    say(text)
    files = {
        kind: options.out,
        "Cleaned": getattr(options, "clean", None),
        "Report": options.report,
    }
    said = {name: f"{name}: {visible(path)}" for name, path in files.items() if path is not None}
    if "Cleaned" in said:
        n_kept = int(audit.is_kept.sum())
        n_dropped = audit.is_kept.size - n_kept
        said["Cleaned"] += f" ({count(n_kept, 'row')} kept, {n_dropped:,} dropped)"
    if said:
        say("\n".join(["", *said.values()]))


def _refuse_to_overwrite(source: Path, **written: Path | None) -> None:
    """Raise `Misuse` if an option would overwrite the file that is read."""
    for option, path in written.items():
        if path is not None and path.exists() and source.exists() and path.samefile(source):
            raise Misuse(f"--{option} would overwrite the input {source}")


# -- predict -----------------------------------------------------------------------------------


def _add_predict_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "thresher predict MODEL.json FILE --out PREDICTIONS.csv [options]"
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL.json", help="written by 'thresher learn --out'")
    add(
        "file",
        type=Path,
        metavar="FILE",
        help=f"table with the model's features; {FORMATS}",
    )
    content = "write id, score (above 0: second label) and prediction"
    kind = new_file_ending_in(".csv")
    add("--out", type=kind, required=True, metavar="PREDICTIONS.csv", help=content)
    add("--id-column", metavar="COLUMN", help=ID_HELP)
    add("--label", metavar="COLUMN", help="column of true labels, to print the error rate")
    chance = "add a column with the probability of the second label"
    add("--proba", action="store_true", help=chance)
    _add_file_options(parser)
    add("--raw-csv", action="store_true", help=RAW_HELP)


def _predict(options: argparse.Namespace) -> None:
    """Predict the labels of a table with a learned model.

    Example: thresher predict model.json thresher-demo/clean.csv --out answers.csv
    """
    from thresher.auditing.predictions import predict_file
    from thresher.estimators import load_model
    from thresher.preparation import IDS  # here, so that --help stays quick

    _refuse_to_overwrite(options.file, out=options.out)
    if not options.model.exists():
        learn = "thresher learn FILE --out MODEL.json"
        raise ThresherError(f"{options.model}: no such model file; write one with '{learn}'")
    try:
        model = load_model(options.model)
    except DamagedFile:
        _refuse_swapped(options)
        raise
    how = chosen(options, ("id_column", "label", "proba", "raw_csv"))
    form = _text_format(options)
    say(predict_file(model, options.file, options.out, text_format=form, **how))
    second = visible(repr(model.classes[1]))
    say(f"Predictions: {visible(options.out)} (a score above 0 means {second})")
    left_out = () if model.preparation is None else model.preparation.left_out
    ids = [column.name for column in left_out if column.reason == IDS]
    if ids and options.id_column is None:
        how_to = f"pass --id-column {shlex.quote(ids[0])}"
        say(f"Rows are numbered from 0. To name them by {ids[0]!r}, {how_to}.")


def _refuse_swapped(options: argparse.Namespace) -> None:
    """Raise `Misuse` if the first file is not a model, but looks like a table."""
    from thresher.table_files.reading import READERS

    if options.model.name.lower().endswith(tuple(READERS)):
        first = options.file if options.file.suffix.lower() == ".json" else "MODEL.json"
        right = f"thresher predict {first} {options.model} --out {options.out}"
        raise Misuse(f"{options.model} is a table, not a model; the model comes first: '{right}'")


LEARN = Verb("learn", lambda parser: _add_table_options(parser, "MODEL.json", "the model"), _learn)
AUDIT = Verb("audit", _add_audit_options, _audit)
PREDICT = Verb("predict", _add_predict_options, _predict)
