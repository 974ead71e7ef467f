"""What `thresher learn` and `thresher audit` print."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from thresher.auditing import contents, remarks
from thresher.auditing.examination import Findings
from thresher.auditing.table_audit import Audit
from thresher.rendering.text import Column, format_columns
from thresher.wording import one_line, some, visible

MAX_FEATURES, MAX_ROWS = 20, 15  # lines of a table
MAX_IDS = 1000
MAX_CELL = 30  # characters
MIN_LAST_CELL, MAX_LAST_CELL = 20, 160  # characters of the last column, before and after a break


def describe_learning(audit: Audit) -> str:
    """What `thresher learn` prints: the model, its error, the suspects, the proof."""
    found = audit.findings
    parts = [
        _table(found),
        _noise_rate(audit),
        _features(found),
        _held_out(found),
        _wrapped(f"{contents.outlier_removal(found)} {remarks.weak_evidence(found)}".strip()),
        _wrapped(audit.about_rows),
        *_suspects(audit),
        _proof(audit),
    ]
    return _joined(parts)


def describe_audit(audit: Audit, *, is_written: bool) -> str:
    """What `thresher audit` prints: the verdict, the suspects, why they are suspicious, the proof.

    It ends with how to get all rows, unless they are written to a file or all suspects are shown.
    """
    found = audit.findings
    parts = [
        _table(found),
        "\n".join(map(_wrapped, audit.sentences())),
        *_suspects(audit),
        _data_errors(audit),
        _groups(audit),
        _repeated(audit),
        _model_of_the_audit(found),
        _proof(audit),
        "" if is_written else _how_to_get_all(audit),
    ]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _table(findings: Findings) -> str:
    table = findings.table
    column = f"label '{visible(table.label_name)}'" if table.label_name else "label"
    return (
        f"{visible(findings.name)}: {table.n_rows:,} rows, {table.X.shape[1]:,} features, "
        f"{column}: {contents.count_labels(findings.labels)}"
    )


def _noise_rate(audit: Audit) -> str:
    """The estimated noise rate, and what it cannot see; nothing if it was given."""
    if audit.assumed is not None:
        return ""
    used = audit.findings.classifier.noise_rate_
    return _wrapped(f"{audit.about_noise_rate} The model withstands a noise rate of {used:.1%}.")


# -- the model ---------------------------------------------------------------------------------


def _features(findings: Findings) -> str:
    n_used, n_features = findings.classifier.support_.size, findings.table.X.shape[1]
    head = f"The model uses {n_used:,} of {n_features:,} features."
    if not n_used:
        return head
    return "\n".join(
        [
            f"{head} Coefficients for scaled columns, and per unit:",
            _shown(contents.features_table(findings), MAX_FEATURES, n_used),
            f"  intercept: {float(findings.classifier.intercept_[0]):+.4g}",
            *filter(None, [_wrapped(remarks.fewer_features(findings))]),
        ]
    )


def _error(findings: Findings) -> str:
    point, weighted = findings.chosen, ", rows weighted by trust" * findings.counts_by_trust
    error = f"{point.error:.1%} ± {point.standard_error:.1%}"
    return f"{error} ({findings.classifier.cv}-fold cross-validation{weighted})"


def _model_of_the_audit(findings: Findings) -> str:
    error = f"Held-out error of the model: {_error(findings)}."
    return _wrapped(f"{error} {remarks.larger_error(findings)}".strip())


def _held_out(findings: Findings) -> str:
    point, path = findings.chosen, findings.classifier.path_
    lines = [
        f"Held-out error: {_error(findings)}",
        f"Balanced held-out error: {point.balanced_error:.1%} (mean of both classes)",
        *filter(None, [_wrapped(remarks.larger_error(findings))]),
        _wrapped(contents.final_model(findings)),
    ]
    if len(path) > 1:
        tried = ", ".join(f"{other.sparsity} ({other.error:.1%})" for other in path)
        lines += [
            f"Sparsities tried, with their errors: {tried}.",
            f"Chosen: {point.sparsity}, the sparsest within one standard error of the best.",
        ]
    return "\n".join(lines)


# -- the rows ----------------------------------------------------------------------------------


def _suspects(audit: Audit) -> Iterator[str]:
    """The first suspects of every kind, and the ids of all for other programs; none without any."""
    places = audit.suspicions.suspects
    if not places.size:
        return
    shown = _shown(contents.suspicious_rows_table(audit, remarks.shown_suspects(audit, MAX_ROWS)))
    notes = [*contents.about_suspicious_rows(audit, MAX_ROWS), *remarks.meanings(audit)]
    lines = [_wrapped(note, indent="    ", first="  ") for note in notes]
    yield "\n".join(["The most suspicious rows:", shown, *lines])
    ids = some(map(visible, audit.findings.table.ids[places].tolist()), limit=MAX_IDS)
    yield _wrapped(f"Their ids, most suspicious first: {ids}", indent="  ")


def _how_to_get_all(audit: Audit) -> str:
    if audit.distinct_suspects.size <= MAX_ROWS:
        return ""
    return "--out ROWS.csv writes what is known about every row."


def _data_errors(audit: Audit) -> str:
    errors = audit.data.errors
    if not errors:
        return ""
    shown = contents.data_errors_table(audit)
    return f"Data errors:\n{_shown(shown, MAX_ROWS, len(errors))}"


def _groups(audit: Audit) -> str:
    """In what groups of suspects stand out: directions, and the features in them."""
    others = contents.describe_ungrouped(audit)
    if not audit.alike:
        return others
    parts = [
        f"{_wrapped(f'{number}. {contents.describe_group(group)}', indent='   ')}\n"
        f"{_shown(contents.contrasts_table(audit.findings, group), indent=3)}"
        for number, group in enumerate(audit.alike, 1)
    ]
    return _joined(["Groups of suspects that stand out alike:", *parts, _wrapped(others)])


def _repeated(audit: Audit) -> str:
    said = contents.describe_repeated(audit)
    return _wrapped(said) if said else ""


# -- the proof ---------------------------------------------------------------------------------


def _proof(audit: Audit) -> str:
    return "\n\n".join(_listed(*part) for part in contents.statements(audit).items())


def _listed(title: str, sentences: Sequence[str]) -> str:
    lines = [_wrapped(f"- {sentence}", indent="    ", first="  ") for sentence in sentences]
    return "\n".join([f"{title}:", *lines])


# -- layout ------------------------------------------------------------------------------------


def _wrapped(text: str, *, indent: str = "", first: str = "") -> str:
    whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(text, _width(), initial_indent=first, subsequent_indent=indent, **whole)


def _width() -> int:
    return max(min(shutil.get_terminal_size().columns, 100), 40)


def _cut(column: Column, limit: int) -> Column:
    return replace(column, cells=[one_line(cell, limit) for cell in column.cells])


def _shown(
    columns: Sequence[Column], limit: int | None = None, n_lines: int = 0, indent: int = 2
) -> str:
    """The first lines of a table, indented, with cells that fit a terminal.

    The last column has what the others leave, on several lines if need be.
    """
    *first, last = (replace(column, cells=column.cells[:limit]) for column in columns)
    short = [_cut(column, MAX_CELL) for column in first]
    taken = format_columns(short).splitlines() if short else [""]
    room = _width() - indent - max(map(len, taken)) - 2
    n_more = n_lines - limit if limit is not None else 0
    more = f"\nand {n_more:,} more" if n_more > 0 else ""
    text = format_columns(_broken(short, _cut(last, MAX_LAST_CELL), max(room, MIN_LAST_CELL)))
    return textwrap.indent(f"{text}{more}", " " * indent)


def _broken(columns: Sequence[Column], last: Column, room: int) -> list[Column]:
    """The columns with a last one whose long cells continue on lines of their own."""
    pieces = [textwrap.wrap(cell, room) or [""] for cell in last.cells]
    others = [
        replace(
            column,
            cells=[
                text
                for cell, lines in zip(column.cells, pieces)
                for text in [cell, *[""] * (len(lines) - 1)]
            ],
        )
        for column in columns
    ]
    return [*others, replace(last, cells=list(chain.from_iterable(pieces)))]
