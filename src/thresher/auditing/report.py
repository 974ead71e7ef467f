"""The report about a table: one HTML file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from thresher.auditing.examination import Findings
from thresher.auditing.pictures import picture_of_features, picture_of_phases, picture_of_trust
from thresher.auditing.proof import assumptions, not_proven, proven, verdict
from thresher.auditing.suspicion import NEXT_TO_NOTHING
from thresher.auditing.tables import (
    Table,
    table_of_choices,
    table_of_contrasts,
    table_of_features,
    table_of_phases,
    table_of_suspects,
)
from thresher.files import write_text
from thresher.rendering.html import Html, cell, definitions, document, element, join, table
from thresher.rendering.svg import NO_PICTURES

MAX_ROWS = 20  # of the suspects shown one a line


def save_report(findings: Findings, path: str | Path) -> None:
    """Write the page, at once: whoever looks sees the old one or the new one."""
    write_text(path, make_page(findings))


def make_page(findings: Findings) -> str:
    """The page as HTML."""
    parts = [
        element("h1", findings.name),
        _summary(findings),
        _key_figures(findings),
        element("h2", "The model"),
        *_model(findings),
        element("h2", "The least trusted rows"),
        *_suspects(findings),
        element("h2", "Why they are suspicious"),
        *_groups(findings),
        element("h2", "What was assumed, proven, and not proven"),
        _sentences("Assumed", assumptions(findings)),
        _sentences("Proven, and accepted by an independent checker", proven(findings)),
        _sentences("Not proven", not_proven()),
        element("h2", "Phase by phase"),
        *_phases(findings),
        element("h2", "How it came about"),
        definitions(_provenance(findings)),
    ]
    body = element("article", join(filter(None, parts), between="\n"))
    return document(f"{findings.name} - Thresher", body)


# -- the first screen --------------------------------------------------------------------------


def _summary(findings: Findings) -> Html:
    return element(
        "p",
        f"A sparse linear model, learned although {100 * findings.chosen.noise_rate:.3g}% of the "
        "rows may be planted, and the rows that it trusts least. What was assumed, what is proven "
        "and what is not stands below.",
    )


def _key_figures(findings: Findings) -> Html:
    point, suspects = findings.chosen, findings.suspects
    n_nothing = int((findings.suspicion.weight[suspects] < NEXT_TO_NOTHING).sum())
    n_used = findings.classifier.support_.size
    figures = [
        (f"{findings.table.n_rows:,}", "rows"),
        (f"{n_used:,} of {findings.table.X.shape[1]:,}", "features in use"),
        (f"{point.error:.1%} ± {point.standard_error:.1%}", "held-out error, by trust"),
        (f"{n_nothing:,}", f"rows with a weight below {NEXT_TO_NOTHING}"),
    ]
    cards = (element("div", element("b", value), element("span", name)) for value, name in figures)
    return element("div", *cards, class_="figures")


def _sentences(title: str, sentences: Iterable[str]) -> Html:
    items = (element("li", sentence) for sentence in sentences)
    return join([element("h3", title), element("ul", *items)])


# -- the parts ---------------------------------------------------------------------------------


def _model(findings: Findings) -> Iterable[Html]:
    yield _picture(picture_of_features, findings)
    summary = element("summary", "Every feature in use")
    features = _shown(table_of_features(findings), label="features of the model")
    yield element("details", summary, features)
    if len(findings.classifier.path_) > 1:
        yield element("p", "Numbers of features that were tried on held-out rows:")
        yield _shown(table_of_choices(findings), label="choices")


def _suspects(findings: Findings) -> Iterable[Html]:
    suspects = findings.suspects
    yield element("p", verdict(findings))
    yield element(
        "p",
        "Trust is how much a row counted in learning; agreement is how well its label fits what "
        "the trusted rows teach; the weight is the agreement, halved for a row without trust.",
    )
    yield _picture(picture_of_trust, findings)
    yield _shown(table_of_suspects(findings, MAX_ROWS), label="least trusted rows")
    ids = ", ".join(str(value) for value in findings.table.ids[suspects].tolist())
    summary = element("summary", f"The ids of all {suspects.size:,}, least trusted first")
    yield element("details", summary, element("p", ids))


def _groups(findings: Findings) -> Iterable[Html]:
    if not findings.groups:
        yield element("p", "No group of them stands out in a direction of few features.")
    for group in findings.groups:
        yield element(
            "p",
            f"{group.rows.size:,} rows labeled {group.label} lie {group.ratio:.1f} times as far "
            "out as other rows of that label along a direction of these features:",
        )
        label = f"features of a group labeled {group.label}"
        yield _shown(table_of_contrasts(findings, group), label=label)


def _phases(findings: Findings) -> Iterable[Html]:
    yield element(
        "p",
        "Each phase looks at rows near the boundary of the one before, takes weight from those "
        "that stand out together, and minimizes the hinge loss of the rest.",
    )
    yield _picture(picture_of_phases, findings)
    yield _shown(table_of_phases(findings), label="phases")


def _provenance(findings: Findings) -> list[tuple[str, str]]:
    model = findings.model()
    told: dict[str, Any] = {**model.provenance, **model.provenance["parameters"]}
    names = ("thresher", "table", "label", "sparsity", "noise_rate", "random_state", "reach")
    return [(name.replace("_", " "), str(told[name])) for name in names if name in told]


def _shown(content: Table, *, label: str) -> Html:
    rows = (
        element("tr", *(cell("td", text, j in content.words) for j, text in enumerate(line)))
        for line in content.lines
    )
    return table(content.head, [element("tbody", *rows)], label=label, words=content.words)


def _picture(draw: Callable[[Findings], Html], findings: Findings) -> Html:
    try:
        return draw(findings)
    except ImportError:
        return element("p", NO_PICTURES, class_="quiet")
