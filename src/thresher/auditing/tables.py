"""What is told in tables, as words and numbers; the terminal and the report show the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.evidence import Group
from thresher.auditing.examination import Findings


@dataclass(frozen=True)
class Table:
    """Titles, and lines of as many cells; the first column has names.

    Parameters
    ----------
    head : titles, whose lines are separated by line breaks
    lines : the cells
    words : which other columns have words instead of numbers

    Examples
    --------
    >>> Table(["feature", "weight"], [["words", "+0.5"]]).words
    ()
    """

    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    words: Sequence[int] = ()


def counted(labels: NDArray[Any]) -> str:
    """How often each label occurs, in words.

    Examples
    --------
    >>> counted(np.array(["a", "b", "a"]))
    'a (2) and b (1)'
    """
    values, counts = np.unique(labels, return_counts=True)
    return " and ".join(f"{value} ({n:,})" for value, n in zip(values.tolist(), counts))


def table_of_features(findings: Findings) -> Table:
    """Every feature that the model uses, the largest weight first."""
    model, names = findings.classifier.best_, findings.table.feature_names
    classes = findings.classifier.classes_.tolist()
    lines = [
        [
            names[model.support_[j]],
            f"{model._weights[j]:+.3f}",
            str(classes[int(model._weights[j] > 0)]),
            f"{model.coef_[0, model.support_[j]]:+.4g}",
        ]
        for j in np.argsort(-np.abs(model._weights), kind="stable")
    ]
    return Table(["feature", "weight", "speaks for", "weight\nper unit"], lines, words=(2,))


def table_of_choices(findings: Findings) -> Table:
    """The numbers of features that were tried on held-out rows."""
    lines = [
        [
            f"{point.sparsity}{' (chosen)' if point == findings.chosen else ''}",
            f"{point.error:.2%}",
            f"{point.standard_error:.2%}",
        ]
        for point in findings.classifier.path_
    ]
    return Table(["at most", "error", "standard\nerror"], lines)


def table_of_suspects(findings: Findings, limit: int) -> Table:
    """The rows of least weight, the most suspicious first."""
    suspicion, names = findings.suspicion, findings.table.feature_names
    predictions = findings.predictions
    lines = [
        [
            str(findings.table.ids[row]),
            str(findings.labels[row]),
            str(predictions[row]),
            f"{suspicion.trust[row]:.2f}",
            f"{suspicion.agreement[row]:.2f}",
            f"{suspicion.weight[row]:.2f}",
            ", ".join(names[feature] for feature in findings.reasons(int(row))),
        ]
        for row in findings.suspects[:limit]
    ]
    head = ["id", "label", "model\nsays", "trust", "agree-\nment", "weight", "against its label"]
    return Table(head, lines, words=(1, 2, 6))


def table_of_contrasts(findings: Findings, group: Group) -> Table:
    """The features in which a group of suspects stands out."""
    lines = [
        [
            findings.table.feature_names[contrast.feature],
            f"{contrast.loading:+.2f}",
            f"{contrast.mean_here:.4g}",
            f"{contrast.mean_elsewhere:.4g}",
        ]
        for contrast in group.contrasts
    ]
    return Table(["feature", "part in\ndirection", "mean in\nthese rows", "mean in\nothers"], lines)


def table_of_phases(findings: Findings) -> Table:
    """What each phase looked at, took away and proved."""
    lines = [
        [
            str(outcome.phase.index),
            f"{outcome.n_kept:,}",
            f"{outcome.weight_removed:.1%}",
            f"{outcome.variance_upper / outcome.phase.l2_radius**2:.2f}",
            outcome.removal_status,
            f"{outcome.loss:.4f}",
            f"{outcome.loss_gap:.1e}",
            outcome.loss_status,
        ]
        for outcome in findings.classifier.phases_
    ]
    head = ["phase", "rows", "weight\nremoved", "variance\nat most", "removal"]
    return Table([*head, "hinge\nloss", "proven\ngap", "minimum"], lines, words=(4, 7))
