"""The report about a table: one self-contained HTML file."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from thresher.auditing import contents, remarks
from thresher.auditing.examination import Findings
from thresher.auditing.examples import examples_of
from thresher.auditing.preparation_report import preparation_table
from thresher.auditing.table_audit import Audit
from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay
from thresher.files import write_text
from thresher.rendering import html
from thresher.rendering.html import Html, element, join, new_figure
from thresher.rendering.text import Column
from thresher.wording import count

MAX_FEATURES, MAX_ROWS = 20, 20  # bars of a picture, lines of a table
MAX_UNFOLDED = 5  # of these lines: more would be a long way to scroll on a phone


def save_report(audit: Audit, path: str | Path) -> None:
    """Write the page at once, so that a reader sees the old one or the new one."""
    write_text(path, make_page(audit))


def make_page(audit: Audit) -> str:
    """The page: the answer first, then the model, then what is proven."""
    findings = audit.findings
    parts = [
        element("h1", findings.name),
        *_answer(audit),
        element("h2", "The model"),
        *_model(audit),
        element("h2", "Trust in the rows"),
        *_trust(findings),
        element("h2", "What is assumed, proven and not proven"),
        *(
            join([element("h3", title), element("ul", *(element("li", text) for text in texts))])
            for title, texts in contents.statements(audit).items()
        ),
        element("h2", "Phase by phase"),
        *_phases(findings),
        *_columns(findings),
        element("h2", "Settings"),
        html.definitions(_settings(findings)),
    ]
    body = element("article", join(parts, between="\n"))
    return html.document(f"{findings.name} - Thresher", body)


def _cards(figures: Sequence[tuple[str, str]]) -> Html:
    cards = (element("div", element("b", value), element("span", name)) for value, name in figures)
    return element("div", *cards, class_="figures")


# -- the answer --------------------------------------------------------------------------------


def _answer(audit: Audit) -> Iterable[Html]:
    first, *others = audit.sentences()
    yield element("p", element("strong", first))
    yield from (element("p", sentence) for sentence in others)
    suspects = audit.suspicions.suspects
    figures = [
        (f"{suspects.size:,} of {audit.findings.table.n_rows:,}", "rows are suspects"),
        (count(len(audit.alike), "group"), "of suspects that stand out alike"),
        (count(len(audit.data.errors), "column"), "with data errors"),
        (f"{audit.best_view.error:.1%}", "held-out error of the audit's model"),
    ]
    yield _cards(figures)
    if suspects.size:
        yield from _suspicious(audit)
    if audit.data.errors:
        yield element("h2", "Data errors")
        yield _shown(contents.data_errors_table(audit), label="data errors")
    if audit.alike:
        yield element("h2", "Groups of suspects that stand out alike")
    for group in audit.alike:
        yield element("p", contents.describe_group(group))
        label = f"features of a group labeled {group.label}"
        yield _shown(contents.contrasts_table(audit.findings, group), label=label)
    if audit.alike and (ungrouped := contents.describe_ungrouped(audit)):
        yield element("p", ungrouped)
    if said := contents.describe_repeated(audit):
        yield element("h2", "Repeated rows")
        yield element("p", said)


def _suspicious(audit: Audit) -> Iterable[Html]:
    table = audit.findings.table
    yield element("h2", "Examples beside typical rows")
    for example in examples_of(audit):
        copies = f", {example.n_copies:,} copies" if example.n_copies > 1 else ""
        label = audit.findings.labels[example.row]
        yield element("h3", f"Row {table.ids[example.row]}, labeled {label}{copies}")
        yield element("p", audit.reason(example.row).partition("; ")[0])
        facts = [
            (name, f"{value} (typical with this label: {typical})")
            for name, value, typical in example.values
        ]
        yield html.definitions(facts)
    yield element("h2", "The most suspicious rows")
    yield element("ul", *(element("li", meaning) for meaning in remarks.meanings(audit)))
    yield from _folded(audit)
    yield from (element("p", note) for note in contents.about_suspicious_rows(audit, MAX_ROWS))
    suspects = audit.suspicions.suspects
    ids = ", ".join(str(value) for value in table.ids[suspects].tolist())
    summary = element("summary", f"All {suspects.size:,} ids, most suspicious first")
    yield element("details", summary, element("p", ids))


def _folded(audit: Audit) -> Iterable[Html]:
    """The table of suspects: some of every kind at once, the others when the reader asks."""
    shown, few = (remarks.shown_suspects(audit, limit) for limit in (MAX_ROWS, MAX_UNFOLDED))
    rest = shown[~np.isin(shown, few)]
    label = "most suspicious rows"
    yield _shown(contents.suspicious_rows_table(audit, few), label=label)
    if rest.size:
        summary = element("summary", f"Show {count(rest.size, 'more suspect')}")
        others = contents.suspicious_rows_table(audit, rest)
        yield element("details", summary, _shown(others, label=f"more of the {label}"))


# -- the parts ---------------------------------------------------------------------------------


def _model(audit: Audit) -> Iterable[Html]:
    findings = audit.findings
    model, point = findings.model(), findings.chosen
    yield _cards(
        [
            (f"{model.support.size:,} of {findings.table.X.shape[1]:,}", "features used"),
            (f"{point.error:.1%} ± {point.standard_error:.1%}", "held-out error of this model"),
            (f"{point.balanced_error:.1%}", "balanced held-out error"),
            (f"{100 * point.noise_rate:.3g}%", "of the rows may be planted"),
        ]
    )
    yield element(
        "p",
        f"{remarks.held_out_rows(findings)} {remarks.larger_error(findings)} "
        "The error at the top of the page counts all rows alike, and is of another model: "
        f"the {audit.best_view.name} by which the audit judges labels.",
    )
    yield _picture(
        partial(FeaturesDisplay.from_model, model, max_features=MAX_FEATURES),
        (9.0, 1.7 + 0.3 * max(min(model.support.size, MAX_FEATURES), 4)),
        "Bar chart: the coefficients of the features that the model uses",
    )
    summary = element("summary", "All features in the model")
    features = _shown(contents.features_table(findings), label="features of the model")
    yield element("details", summary, features)
    yield element("p", contents.final_model(findings))
    if len(findings.classifier.path_) > 1:
        yield element("p", "Numbers of features tried in cross-validation:")
        yield _shown(contents.choices_table(findings), label="numbers of features")


def _trust(findings: Findings) -> Iterable[Html]:
    yield element(
        "p",
        "Trust is how much a row deserves to count in learning, from 0 to 1. "
        f"{contents.outlier_removal(findings)} {remarks.weak_evidence(findings)}",
    )
    groups = [f"labeled {label}" for label in findings.labels.tolist()]
    yield _picture(
        partial(TrustDisplay.from_estimator, findings.classifier, groups=groups),
        (5.7, 4.0),
        "Histogram: trust in the rows",
        "Bar chart: weight that rows lost in each phase",
    )


def _phases(findings: Findings) -> Iterable[Html]:
    yield element(
        "p",
        "Each phase looks at the rows near the previous boundary, lowers the weights of rows that "
        "stand out together, and minimizes the hinge loss of the rest.",
    )
    yield _picture(
        partial(PhasesDisplay.from_estimator, findings.classifier),
        (3.85, 3.8),
        "Proven variance of each phase",
        "Hinge loss of each phase",
        "Rows of each phase",
    )
    yield _shown(contents.phases_table(findings), label="phases")
    yield element(
        "p",
        "The weight removed is a share of the rows of that phase; later phases look at fewer rows.",
    )


def _columns(findings: Findings) -> Iterable[Html]:
    if findings.table.preparation is not None:
        yield element("h2", "What was done with the columns")
        yield _shown(preparation_table(findings.table.preparation), label="columns of the file")


def _settings(findings: Findings) -> list[tuple[str, str]]:
    provenance = findings.model().provenance
    known: dict[str, Any] = {**provenance, **provenance["parameters"]}
    names = ("thresher", "table", "label", "sparsity", "noise_rate", "random_state", "reach")
    return [(name.replace("_", " "), _setting(known[name])) for name in names if name in known]


def _setting(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _shown(columns: Sequence[Column], *, label: str) -> Html:
    words = [j for j, column in enumerate(columns) if column.align == "<"]
    lines = zip(*(column.cells for column in columns))
    titles = [column.title.replace("-\n", "") for column in columns]
    names = [" ".join(title.split()) for title in titles]  # beside the cells on a narrow screen
    rows = (
        element(
            "tr",
            *(
                html.cell("td", text, j in words, data_label=name)
                for j, (text, name) in enumerate(zip(line, names))
            ),
        )
        for line in lines
    )
    body = element("tbody", *rows, class_="stack")
    return html.table(titles, [body], label=label, words=words)


# -- pictures ----------------------------------------------------------------------------------


def _picture(plot: Callable[..., Any], size: tuple[float, float], *texts: str) -> Html:
    """What is plotted in one panel for each text; what to install if matplotlib is missing."""
    try:
        figures = [new_figure(*size) for _ in texts]
    except ImportError:
        return element("p", html.NO_PICTURES, class_="quiet")
    plot(ax=[figure.subplots() for figure in figures])
    if len(figures) == 1:
        return element("figure", html.as_image(figures[0], texts[0]))
    return html.side_by_side(figures, texts)
