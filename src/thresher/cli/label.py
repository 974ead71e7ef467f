"""`thresher label`: a labeling session in the terminal, and what can be done with its folder."""

import argparse
import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.cli.label_web import add_web_options, check_web_options, serve_page
from thresher.cli.values import (
    choices,
    folder,
    new_file_ending_in,
    noise_rate,
    two_labels,
    whole_number,
)
from thresher.cli.verb import Misuse, Verb, add_verbs, chosen, refusing_misuse
from thresher.rendering.text import say
from thresher.wording import count, visible

if TYPE_CHECKING:
    from thresher.label_sessions import LabelSession

PLANNED = ("votes_per_row", "decision", "noise_rate", "sparsity", "batch_size")
CHANGEABLE = ("votes_per_row", "decision", "batch_size", "label_budget", "target_error")


# -- the session -------------------------------------------------------------------------------


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    parser.prog = parser.prog.rpartition(" ")[0]  # `thresher label`, whose own verb this is
    parser.usage = (
        f"{parser.prog} POOL --session DIR [options]\n"
        f"       {parser.prog} export DIR [options]\n"
        f"       {parser.prog} import DIR FILE.csv\n"
        f"       {parser.prog} repair DIR"
    )
    add = parser.add_argument
    add(
        "pool",
        type=Path,
        metavar="POOL",
        help="table to label: CSV, Parquet, Arrow (also folders), NPZ, ...",
    )
    own = "folder of the session; continued if it has one"
    add("--session", type=folder, required=True, metavar="DIR", help=own)
    add(
        "--classes",
        type=two_labels,
        metavar="A,B",
        help="the two labels (needed for a new session)",
    )
    add("--annotator", metavar="NAME", help="who labels (default: login name)")
    left_out = "column to leave out, such as known labels"
    add("--label", metavar="COLUMN", help=left_out)
    add("--id-column", metavar="COLUMN", help="column with row ids (default: row numbers from 0)")
    most = "maximum number of labels"
    add("--label-budget", type=whole_number(1), metavar="M", help=most)
    add("--target-error", type=float, metavar="E", help="error at which to stop")
    planted = "share of rows that may be planted (default: 0.05)"
    add("--noise-rate", type=noise_rate, metavar="N", help=planted)
    features = "maximum number of features, 'auto' or 'all'"
    add("--sparsity", type=choices, metavar="S", help=features)
    add(
        "--batch-size", type=whole_number(1), metavar="B", help="rows chosen together (default: 10)"
    )
    votes = "annotators asked about each row (default: 1)"
    add("--votes-per-row", type=whole_number(1), metavar="V", help=votes)
    decision = "which label a row gets: that of its first vote, or of most"
    add("--decision", choices=("first", "majority"), help=decision)
    add("--seed", type=whole_number(0), default=0, metavar="K", help="random seed (default: 0)")
    add_web_options(parser)


def _label(options: argparse.Namespace) -> None:
    """Label the most informative rows of a table; every answer is saved before the next row.

    Example: thresher label thresher-demo/clean.csv --label diagnosis --session cells
        --classes benign,malignant
    """
    from thresher.label_sessions.terminal import LabelTerminal  # here, so that --help stays quick

    check_web_options(options)
    annotator = options.annotator or _login_name()
    say(f"Reading {visible(options.pool)} ...")
    with _session(options) as session:
        say(f"Session: {visible(session.folder)}")
        for message in session.messages:
            say(f"Note: {message}.")
        if options.web:
            serve_page(options, session, annotator)
            return
        try:
            LabelTerminal(session, annotator).run()
        except KeyboardInterrupt:
            n_labels = session.progress().n_labels
            say(f"\n{count(n_labels, 'label')} saved in {visible(session.folder)}.")
            raise


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without users
        return "annotator"


def _session(options: argparse.Namespace) -> "LabelSession":
    """The session in the folder, or a new one."""
    from thresher.label_sessions import LabelSession  # here, so that --help stays quick

    if options.sparsity is not None and len(options.sparsity) > 1:
        raise Misuse("--sparsity takes one number, 'auto' or 'all'")
    if (options.session / "journal.txt").exists():
        return _continued(options)
    if options.classes is None:
        raise Misuse("--classes is needed for a new session, such as --classes ham,spam")
    given: dict[str, Any] = {
        name: value
        for name, value in chosen(options, (*PLANNED, "label_budget", "target_error")).items()
        if value is not None
    }
    if options.sparsity is not None:
        given["sparsity"] = options.sparsity[0]
    names = chosen(options, ("classes", "label", "id_column"))
    with refusing_misuse():
        return LabelSession.create(
            options.session, options.pool, random_state=options.seed, **names, **given
        )


def _continued(options: argparse.Namespace) -> "LabelSession":
    from thresher.label_sessions import LabelSession

    session = LabelSession.open(options.session, options.pool)
    try:
        if options.classes is not None and [*options.classes] != session.classes:
            known = ",".join(map(str, session.classes))
            raise Misuse(f"the session has the labels {known}; drop --classes")
        given = chosen(options, CHANGEABLE).items()
        with refusing_misuse():
            session.change_plan(**{name: value for name, value in given if value is not None})
    except BaseException:
        session.close()
        raise
    return session


# -- its folder --------------------------------------------------------------------------------


def _add_export_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} DIR [options]"
    add = parser.add_argument
    add("session", type=Path, metavar="DIR", help="folder of the session")
    table, model = new_file_ending_in(".csv"), new_file_ending_in(".json")
    add("--labels", type=table, metavar="LABELS.csv", help="write the label of each row")
    add("--votes", type=table, metavar="VOTES.csv", help="write every vote with its annotator")
    add("--model", type=model, metavar="MODEL.json", help="write the model for 'thresher predict'")
    add("--raw-csv", action="store_true", help="no ' before text that spreadsheets would execute")


def _export(options: argparse.Namespace) -> None:
    """Write the labels, votes or model of a session.

    Example: thresher label export cells --labels labels.csv --model cells.json
    """
    from thresher.label_sessions import LabelSession
    from thresher.label_sessions.exchange import few_labels, write_labels, write_votes
    from thresher.label_sessions.opening import read_folder

    if not (options.labels or options.votes or options.model):
        raise Misuse("nothing to write: pass --labels, --votes or --model")
    state = read_folder(options.session)  # also while people are labeling
    if options.labels is not None:
        n_labels = write_labels(options.labels, state, raw_csv=options.raw_csv)
        say(f"Labels: {visible(options.labels)} ({n_labels:,})")
    if options.votes is not None:
        n_votes = write_votes(options.votes, state, raw_csv=options.raw_csv)
        say(f"Votes: {visible(options.votes)} ({n_votes:,})")
    if options.model is not None:
        with LabelSession.open(options.session) as session:
            session.save_model(options.model)
        say(f"Model: {visible(options.model)}")
        if remark := few_labels(state.labels.values()):
            say(f"Warning: {remark}.")


def _add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} DIR FILE.csv"
    add = parser.add_argument
    add("session", type=Path, metavar="DIR", help="folder of the session")
    add("file", type=Path, metavar="FILE.csv", help="table with the columns row_id and label")


def _import(options: argparse.Namespace) -> None:
    """Take known labels into a session; they cost nothing, and importing twice is importing once.

    Example: thresher label import cells labels.csv
    """
    from thresher.label_sessions import LabelSession

    with LabelSession.open(options.session) as session:
        done = session.import_labels(options.file)
    changed = f"{done.n_changed:,} changed, " if done.n_changed else ""
    say(f"{count(done.n_new, 'label')} imported, {changed}{done.n_known:,} already known")


def _add_repair_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} DIR"
    parser.add_argument("session", type=Path, metavar="DIR", help="folder of the session")


def _repair(options: argparse.Namespace) -> None:
    """Save every valid vote of a damaged journal; the damaged file is kept beside it.

    Example: thresher label repair cells
    """
    from thresher.label_sessions.repair import repair

    say(repair(options.session))


LABEL_VERBS = (
    Verb("session", _add_session_options, _label),
    Verb("export", _add_export_options, _export),
    Verb("import", _add_import_options, _import),
    Verb("repair", _add_repair_options, _repair),
)


LABEL = Verb("label", lambda parser: add_verbs(parser, LABEL_VERBS, first_is_default=True), _label)
