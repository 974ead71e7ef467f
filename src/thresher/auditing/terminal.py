"""What `thresher learn` and `thresher audit` print."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from thresher.auditing.evidence import Group
from thresher.auditing.examination import Findings
from thresher.auditing.proof import assumptions, not_proven, proven, verdict
from thresher.auditing.tables import (
    Table,
    counted,
    table_of_contrasts,
    table_of_features,
    table_of_suspects,
)
from thresher.rendering.text import Column, format_columns
from thresher.wording import shortened

MAX_FEATURES, MAX_ROWS = 20, 15  # shown one a line
MAX_IDS = 1000  # shown as a list
MAX_CELL = 30  # characters


def describe_learning(findings: Findings) -> str:
    """What `thresher learn` prints: the model, its error, the suspects, the proof."""
    parts = (_table, _features, _held_out, _suspects, _suspect_ids, _proof)
    return "\n\n".join(filter(None, (part(findings) for part in parts)))


def describe_audit(findings: Findings, *, with_ids: bool) -> str:
    """What `thresher audit` prints: the suspects, why they are, the proof."""
    ids = (_suspect_ids,) if with_ids else ()
    parts = (_table, _suspects, *ids, _groups, _proof)
    return "\n\n".join(filter(None, (part(findings) for part in parts)))


def _table(findings: Findings) -> str:
    table = findings.table
    labels = counted(findings.labels)
    of = f"labels '{table.label_name}'" if table.label_name else "labels"
    return f"{findings.name}: {table.n_rows:,} rows, {table.X.shape[1]:,} features, {of}: {labels}"


# -- the model ---------------------------------------------------------------------------------


def _features(findings: Findings) -> str:
    table = table_of_features(findings)
    head = f"The model uses {len(table.lines):,} of {findings.table.X.shape[1]:,} features"
    if not table.lines:
        return f"{head}."
    n_more = len(table.lines) - MAX_FEATURES
    parts = [f"{head} (weights of columns scaled by their medians):", _shown(table, MAX_FEATURES)]
    parts += [f"  and {n_more} more"] if n_more > 0 else []
    parts += [f"  and {float(findings.classifier.intercept_[0]):+.4g} in all cases"]
    return "\n".join(parts)


def _held_out(findings: Findings) -> str:
    point = findings.chosen
    head = (
        f"Held-out error {point.error:.1%} ± {point.standard_error:.1%}, rows counted by trust "
        f"({findings.classifier.cv} folds)"
    )
    path = findings.classifier.path_
    if len(path) == 1:
        return head
    tried = ", ".join(f"{other.sparsity}: {other.error:.1%}" for other in path)
    return (
        f"{head};\nat most {point.sparsity} features were chosen among {tried}\n"
        "(the sparsest within one standard error of the best)"
    )


# -- the rows ----------------------------------------------------------------------------------


def _suspects(findings: Findings) -> str:
    """The rows of least weight, one a line."""
    lines = _shown(table_of_suspects(findings, MAX_ROWS)) if findings.suspects.size else ""
    return f"{_wrapped(verdict(findings), indent='')}\n{lines}".rstrip()


def _suspect_ids(findings: Findings) -> str:
    """The ids of all suspects, for other programs and for looking them up; nothing without any."""
    if not findings.suspects.size:
        return ""
    ids = [str(value) for value in findings.table.ids[findings.suspects[:MAX_IDS]].tolist()]
    n_left = findings.suspects.size - len(ids)
    more = f" and {n_left:,} more" if n_left else ""
    return _wrapped(f"Their ids, least trusted first: {', '.join(ids)}{more}", indent="  ")


def _groups(findings: Findings) -> str:
    """Why the suspects stand out: directions, and the features in them."""
    if not findings.groups:
        return "No group of suspects stands out in a direction of few features."
    parts = [
        f"{number}. {_group(findings, group)}" for number, group in enumerate(findings.groups, 1)
    ]
    return "Why they are suspicious:\n\n" + "\n\n".join(parts)


def _group(findings: Findings, group: Group) -> str:
    head = (
        f"{group.rows.size:,} of them, labeled {group.label}, lie {group.ratio:.1f} times as far "
        "out as other\n   rows of that label along"
    )
    return f"{head}\n{_shown(table_of_contrasts(findings, group), indent=3)}"


# -- the proof ---------------------------------------------------------------------------------


def _proof(findings: Findings) -> str:
    """Assumed, proven, not proven."""
    return "\n\n".join(
        [
            _listed("Assumed", assumptions(findings)),
            _listed("Proven, and accepted by an independent checker", proven(findings)),
            _listed("Not proven", not_proven()),
        ]
    )


def _listed(title: str, sentences: Sequence[str]) -> str:
    lines = [_wrapped(f"- {sentence}", indent="    ", first="  ") for sentence in sentences]
    return "\n".join([f"{title}:", *lines])


def _wrapped(text: str, *, indent: str, first: str = "") -> str:
    width = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(
        text,
        width=max(width, 40),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown(table: Table, limit: int | None = None, indent: int = 2) -> str:
    """The first lines of a table, indented, with cells that fit a terminal."""
    columns = []
    for j, title in enumerate(table.head):
        cells = [shortened(line[j], MAX_CELL) for line in table.lines[:limit]]
        columns.append(Column(title, cells, "<" if j == 0 or j in table.words else ">"))
    return textwrap.indent(format_columns(columns), " " * indent)
