"""What `thresher learn` and `thresher audit` print."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

import numpy as np

from thresher.findings.evidence import Group
from thresher.findings.examination import Findings
from thresher.findings.proof import assumptions, not_proven, proven
from thresher.findings.suspicion import NEXT_TO_NOTHING
from thresher.text_tables import Column, format_columns

MAX_FEATURES, MAX_ROWS = 20, 15  # shown one a line
MAX_IDS = 1000  # shown as a list
MAX_NAME = 32  # characters


def describe_table(findings: Findings) -> str:
    """What was read."""
    table = findings.table
    values, counts = np.unique(findings.labels, return_counts=True)
    labels = " and ".join(f"{n:,} {value}" for value, n in zip(values.tolist(), counts))
    of = f"labels '{table.label_name}'" if table.label_name else "labels"
    return f"{findings.name}: {table.n_rows:,} rows, {table.X.shape[1]:,} features, {of}: {labels}"


def describe_model(findings: Findings) -> str:
    """The features with their weights, and how the model did on held-out rows."""
    return "\n\n".join([_features(findings), _held_out(findings)])


def _features(findings: Findings) -> str:
    model = findings.classifier.best_
    order = np.argsort(-np.abs(model._weights), kind="stable")
    shown = order[:MAX_FEATURES]
    names = [_name(findings, int(model.support_[j])) for j in shown]
    weights = model._weights[shown]
    classes = findings.classifier.classes_.tolist()
    units = model.coef_[0, model.support_[shown]]
    columns = [
        Column("  feature", [f"  {name}" for name in names], "<"),
        Column("weight", [f"{weight:+.3f}" for weight in weights]),
        Column("speaks\nfor", [str(classes[int(weight > 0)])[:MAX_NAME] for weight in weights]),
        Column("weight\nper unit", [f"{unit:+.4g}" for unit in units]),
    ]
    n_used, n_all = model.support_.size, findings.table.X.shape[1]
    head = f"The model uses {n_used:,} of {n_all:,} features"
    more = f"\n  and {order.size - shown.size} more" if order.size > shown.size else ""
    offset = f"\n  and {float(model.intercept_[0]):+.4g} in all cases"
    note = " (weights of columns scaled by their medians):" if n_used else "."
    return f"{head}{note}\n{format_columns(columns)}{more}{offset}" if n_used else f"{head}{note}"


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


def describe_suspects(findings: Findings) -> str:
    """The rows of least weight, one a line, and the ids of all of them."""
    suspects, suspicion = findings.suspects, findings.suspicion
    n_nothing = int((suspicion.weight[suspects] < NEXT_TO_NOTHING).sum())
    head = (
        f"The {suspects.size:,} least trusted rows, as many as may be planted; "
        f"{n_nothing:,} of them\nhave a weight below {NEXT_TO_NOTHING}:"
    )
    return f"{head}\n{_suspect_lines(findings)}\n\n{_suspect_ids(findings)}"


def _suspect_lines(findings: Findings) -> str:
    shown = findings.suspects[:MAX_ROWS]
    suspicion = findings.suspicion
    said = findings.predictions[shown].tolist()
    against = [
        ", ".join(_name(findings, feature, 24) for feature in findings.reasons(int(row)))
        for row in shown
    ]
    columns = [
        Column("  id", [f"  {str(findings.table.ids[row])[:MAX_NAME]}" for row in shown], "<"),
        Column("label", [str(label)[:12] for label in findings.labels[shown].tolist()]),
        Column("model\nsays", [str(label)[:12] for label in said]),
        Column("trust", [f"{value:.2f}" for value in suspicion.trust[shown]]),
        Column("agree-\nment", [f"{value:.2f}" for value in suspicion.agreement[shown]]),
        Column("weight", [f"{value:.2f}" for value in suspicion.weight[shown]]),
        Column("against its label", against, "<"),
    ]
    return format_columns(columns)


def _suspect_ids(findings: Findings) -> str:
    ids = [str(value) for value in findings.table.ids[findings.suspects[:MAX_IDS]].tolist()]
    n_left = findings.suspects.size - len(ids)
    more = f" and {n_left:,} more" if n_left else ""
    text = f"Their ids, least trusted first: {', '.join(ids)}{more}"
    return _wrapped(text, indent="  ")


def describe_groups(findings: Findings) -> str:
    """Why the suspects stand out: directions, and the features in them."""
    if not findings.groups:
        return "No group of suspects stands out in a direction of few features."
    parts = [
        f"{number}. {_describe_group(findings, group)}"
        for number, group in enumerate(findings.groups, 1)
    ]
    return "Why they are suspicious:\n\n" + "\n\n".join(parts)


def _describe_group(findings: Findings, group: Group) -> str:
    head = (
        f"{group.rows.size:,} of them, labeled {group.label}, lie {group.ratio:.1f} times as far "
        "out as other\n   rows of that label along"
    )
    contrasts = group.contrasts
    columns = [
        Column(
            "   feature", [f"   {_name(findings, contrast.feature)}" for contrast in contrasts], "<"
        ),
        Column("part in\ndirection", [f"{contrast.loading:+.2f}" for contrast in contrasts]),
        Column("mean in\nthese rows", [f"{contrast.mean_here:.4g}" for contrast in contrasts]),
        Column("mean in\nother rows", [f"{contrast.mean_elsewhere:.4g}" for contrast in contrasts]),
    ]
    return f"{head}\n{format_columns(columns)}"


def describe_proof(findings: Findings) -> str:
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


def _name(findings: Findings, feature: int, length: int = MAX_NAME) -> str:
    name = findings.table.feature_names[feature]
    return name if len(name) <= length else name[: length - 1] + "…"
