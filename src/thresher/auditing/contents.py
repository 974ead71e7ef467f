"""What a report says, whatever its format: its sentences, and its tables column by column."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.duplicates import repeated
from thresher.auditing.examination import Findings, RemainingVariance, remaining_variance
from thresher.auditing.suspects import Group
from thresher.auditing.table_audit import Audit
from thresher.auditing.verdict import SUSPECT
from thresher.estimators.adversary import most_planted
from thresher.files import write_csv
from thresher.rendering.text import Column, plain_number
from thresher.validation import is_sparse
from thresher.wording import count, visible

TRUSTED = 0.5  # from this trust on, a suspect is likely to puzzle a reader

# -- the rows ----------------------------------------------------------------------------------


def save_rows(audit: Audit, path: str | Path, *, raw_csv: bool = False) -> None:
    """Write a CSV file with one line per row, in table order; see `write_csv` about `raw_csv`."""
    columns = audit.columns(np.arange(audit.findings.table.n_rows))
    cells = (list(map(_written, values)) for values in columns.values())
    write_csv(path, list(columns), zip(*cells), raw_csv=raw_csv)


def _written(value: Any) -> str:
    # Nine digits: enough that no two rows tie by rounding alone.
    return f"{value:.9g}" if isinstance(value, np.floating) else str(value)


# -- what an audit says ------------------------------------------------------------------------


def suspicious_rows_table(audit: Audit, places: NDArray[np.intp]) -> list[Column]:
    """The rows at these positions; of equal rows, one line and how many there are."""
    columns = audit.columns(places)
    times = ["" if n == 1 else f"{n:,} times" for n in columns["repeats"]]
    return [
        Column("id", [str(value) for value in columns["id"]], "<"),
        Column("label", [str(value) for value in columns["label"]], "<"),
        Column("predicted", [str(value) for value in columns["predicted"]], "<"),
        Column("trust", [f"{value:.2f}" for value in columns["trust"]]),
        Column("suspicion", [f"{value:.2f}" for value in columns["suspicion"]]),
        *([Column("repeats", times, "<")] if any(times) else []),
        Column("reason", [reason.partition("; ")[0] for reason in columns["reason"]], "<"),
    ]


def about_suspicious_rows(audit: Audit, n_shown: int) -> list[str]:
    """What a reader of the table of suspicious rows must know: lines left out, and trust."""
    distinct, suspects = audit.distinct_suspects, audit.suspicions.suspects
    said = []
    if n_more := max(distinct.size - n_shown, 0):
        said.append(f"and {n_more:,} more")
    if distinct.size < suspects.size:
        said.append(
            f"Equal rows share a line: {count(suspects.size, 'suspect')} on "
            f"{count(distinct.size, 'line')}."
        )
    trust = audit.findings.classifier.row_weights_
    if (trust[audit.suspicions.data_error >= SUSPECT] >= TRUSTED).any():
        said.append(
            "A data error alone does not lower trust, which is about steering the model: values "
            "that are far out are clipped before learning."
        )
    return said


def data_errors_table(audit: Audit) -> list[Column]:
    """The columns in which values are wrong, and how."""
    errors, table = audit.data.errors, audit.findings.table
    examples = [
        "" if error.column < 0 else plain_number(float(table.X[error.rows[0], error.column]))
        for error in errors
    ]
    return [
        Column("column", [audit.column_name(error.column) for error in errors], "<"),
        Column("rows", [f"{error.rows.size:,}" for error in errors]),
        Column("for example", examples),
        Column("problem", [audit.problem(error) for error in errors], "<"),
    ]


def describe_repeated(audit: Audit) -> str:
    """How many rows stand in the table more than once; empty if none does."""
    groups = repeated(audit.equal)
    if not groups:
        return ""
    labels = audit.findings.labels
    n_mixed = sum(np.unique(labels[group]).size > 1 for group in groups)
    mixed = f"; in {count(n_mixed, 'group')} the labels differ" if n_mixed else ""
    n_rows = sum(group.size for group in groups)
    return (
        f"{count(n_rows, 'row')} are in {count(len(groups), 'group')} of equal rows, the largest "
        f"of {groups[0].size:,}{mixed}. Repeating alone makes no row a suspect."
    )


# -- other tables ------------------------------------------------------------------------------


def features_table(findings: Findings) -> list[Column]:
    """Every feature that the model uses, the largest coefficient first."""
    model, per_unit = findings.model(), findings.classifier.coef_[0]
    order = np.argsort(-np.abs(model.weights), kind="stable")
    names = findings.table.feature_names
    return [
        Column("feature", [names[model.support[j]] for j in order], "<"),
        Column("coefficient", [f"{model.weights[j]:+.3f}" for j in order]),
        Column("favors", [str(model.classes[int(model.weights[j] > 0)]) for j in order], "<"),
        Column("coefficient\nper unit", [f"{per_unit[model.support[j]]:+.4g}" for j in order]),
    ]


def choices_table(findings: Findings) -> list[Column]:
    """The numbers of features that were tried on held-out rows."""
    path, chosen = findings.classifier.path_, findings.chosen
    mark = {chosen.sparsity: " (chosen)"}
    return [
        Column("features", [f"{p.sparsity}{mark.get(p.sparsity, '')}" for p in path], "<"),
        Column("error", [f"{point.error:.2%}" for point in path]),
        Column("standard\nerror", [f"{point.standard_error:.2%}" for point in path]),
        Column("balanced\nerror", [f"{point.balanced_error:.2%}" for point in path]),
    ]


def contrasts_table(findings: Findings, group: Group) -> list[Column]:
    """The features in which a group of suspects stands out."""
    names, contrasts = findings.table.feature_names, group.contrasts
    return [
        Column("feature", [names[contrast.feature] for contrast in contrasts], "<"),
        Column("loading", [f"{contrast.loading:+.2f}" for contrast in contrasts]),
        Column("mean in\nthe group", [_mean(contrast.mean_here) for contrast in contrasts]),
        Column("mean in\nother rows", [_mean(contrast.mean_elsewhere) for contrast in contrasts]),
    ]


def _mean(value: float) -> str:
    return plain_number(float(f"{value:.4g}"))


def phases_table(findings: Findings) -> list[Column]:
    """What each phase looked at, removed and proved."""
    phases = findings.classifier.phases_
    variances = (p.variance_upper / p.phase.l2_radius**2 for p in phases)
    return [
        Column("phase", [str(p.phase.index) for p in phases], "<"),
        Column("rows", [f"{p.n_kept:,}" for p in phases]),
        Column("weight\nremoved", [f"{p.weight_removed:.1%}" for p in phases]),
        Column("variance\nbound", [f"{variance:.2f}" for variance in variances]),
        Column("outlier\nremoval", [p.removal_status for p in phases], "<"),
        Column("hinge\nloss", [f"{p.loss:.4f}" for p in phases]),
        Column("proven\ngap", [f"{p.loss_gap:.1e}" for p in phases]),
        Column("loss\nminimization", [p.loss_status for p in phases], "<"),
    ]


# -- sentences ---------------------------------------------------------------------------------


def count_labels(labels: NDArray[Any]) -> str:
    """How often each label occurs.

    Examples
    --------
    >>> count_labels(np.array(["a", "b", "a"]))
    'a (2), b (1)'
    """
    values, counts = np.unique(labels, return_counts=True)
    return ", ".join(f"{visible(value)} ({n:,})" for value, n in zip(values.tolist(), counts))


def outlier_removal(findings: Findings) -> str:
    """Whether the removal of outliers saw more than chance; empty if it was not asked."""
    evidence = findings.classifier.evidence_
    if evidence is None:
        return ""
    said = f"Outlier removal: {evidence.sentence()}"
    if evidence.is_clear and not evidence.helps:
        fits = f"penalized fits use {_all_rows(findings)}"
        if findings.classifier.penalized_fit_ is None:
            fits += ". The final model is not one of them: it is a halfspace, which uses its trust"
        said += f" In a table of this size, that is not enough: {fits}."
    elif evidence.stands_out:
        said += " They count less in learning, or not at all; that alone makes none a suspect."
    return said


def _all_rows(findings: Findings) -> str:
    some_are_lost = bool(findings.classifier.evidence_.n_lost)
    return "all rows that were not left out" if some_are_lost else "all rows"


def describe_group(group: Group) -> str:
    """Where a group of suspects lies, in a sentence that leads to its features."""
    return (
        f"{group.rows.size:,} suspects labeled {visible(group.label)} lie {group.ratio:.1f} times "
        "as far out as other rows with that label, in this direction:"
    )


def describe_ungrouped(audit: Audit) -> str:
    """How many suspects are in no group; empty if all are in one."""
    n_suspects = audit.suspicions.suspects.size
    n_others = n_suspects - sum(group.rows.size for group in audit.alike)
    if not n_others:
        return ""
    if n_others == n_suspects:
        return "The suspects do not stand out together in a direction of few features."
    others = "other suspect does" if n_others == 1 else "other suspects do"
    return f"The {n_others:,} {others} not stand out together in a direction of few features."


def statements(audit: Audit) -> dict[str, Sequence[str]]:
    """What is assumed, proven and not proven."""
    findings = audit.findings
    noise_rate, n_rows = findings.chosen.noise_rate, findings.table.n_rows
    n_planted = most_planted(noise_rate, n_rows)
    are = "is" if n_planted == 1 else "are"
    not_proven = _not_proven(findings, audit.suspicions.suspects.size > 0)
    return {
        "Assumed": [
            f"At most {n_planted:,} of {n_rows:,} rows {are} planted, with any features and "
            f"labels: the noise rate of {100 * noise_rate:.3g}%, in whole rows. More could steer "
            "the model.",
            "One linear boundary separates most of the other rows.",
        ],
        "Proven, and verified by an independent checker": proven(findings),
        "Not proven": [*not_proven, *_not_bounded(findings)],
    }


def proven(findings: Findings) -> list[str]:
    """What the independent checker verified."""
    bound, phases = remaining_variance(findings), findings.classifier.phases_
    weighted = "trust-weighted variance"
    if not bound.holds_for_trust:
        weighted = "variance, with rows weighted as in the first phase,"
    scaling = "columns are scaled to a variance of at most 1 around the class medians"
    if is_sparse(findings.table.X):
        scaling = "columns are scaled so that nonzero entries are about 1"
    missed = [str(p.phase.index) for p in phases if not p.is_certified]
    many = "s" if len(missed) > 1 else ""
    return [
        f"In every unit direction over at most {bound.n_features} features"
        f"{_with_intercept(findings)}{_among(findings)}, the "
        f"{weighted} is at most {bound.of_trusted_rows:.2f} ({scaling}).",
        *_what_removal_can_do(findings, bound),
        "In every phase, the hinge loss of the trusted rows is within "
        f"{max(p.loss_gap for p in phases):.2g} of its minimum.",
        *_about_the_model(findings),
    ] + [
        f"Phase{many} {', '.join(missed)} of {len(phases)} missed the requested precision: the "
        "bounds above hold, but better solutions may exist."
    ] * bool(missed)


def _with_intercept(findings: Findings) -> str:
    """Why there is one more than the sparsity, where their number is limited."""
    bound, classifier = remaining_variance(findings), findings.classifier
    is_limited = bound.n_features < classifier.columns_.size
    has_ones = classifier.best_estimator_.fit_intercept
    return (
        " (one more than the model may use, for its intercept)" if is_limited and has_ones else ""
    )


def _what_removal_can_do(findings: Findings, bound: RemainingVariance) -> list[str]:
    """How much any removal could lower the variance, unless the filter had nothing to remove."""
    return [
        "For comparison, averaged over all rows: removing at most "
        f"{bound.outlier_fraction:.1%} of the weight{_twice(findings)} cannot bring the "
        f"variance below {bound.optimum:.2f}; the first phase removed "
        f"{bound.removed_at_first:.1%}{_before(findings)}{_later(bound)} and got it down to "
        f"{bound.upper:.2f} or less.{_given_back(findings)}"
    ] * (bound.outlier_fraction > 0)


def _twice(findings: Findings) -> str:
    """Why more than the noise rate may be removed, if it may."""
    fraction, rate = remaining_variance(findings).outlier_fraction, findings.chosen.noise_rate
    if not math.isclose(fraction, 2 * rate, rel_tol=0.01):
        return ""
    return " (twice the noise rate, because rows are examined twice)"


def _before(findings: Findings) -> str:
    """That this counts rows that the first phase did not see, if there are any."""
    evidence = findings.classifier.evidence_
    return ", rows left out before it included," if evidence and evidence.n_lost else ""


def _later(bound: RemainingVariance) -> str:
    """What all phases removed, where that is what the bound is about."""
    return f" (all phases together: {bound.share_removed:.1%})" if bound.holds_for_trust else ""


def _given_back(findings: Findings) -> str:
    """That removed rows are trusted all the same, because nothing stands out."""
    evidence, bound = findings.classifier.evidence_, remaining_variance(findings)
    if evidence is None or evidence.is_clear or not bound.removed_at_first:
        return ""
    if evidence.n_lost:
        return " Because no other rows stand out above chance, all others have full trust again."
    return " Because nothing stands out above chance, the removed rows have full trust again."


def _among(findings: Findings) -> str:
    """Of which columns the phases speak, if not of all."""
    n_seen, n_columns = findings.classifier.columns_.size, findings.table.X.shape[1]
    return "" if n_seen == n_columns else f" of the {n_seen:,} most promising columns"


def final_model(findings: Findings) -> str:
    """What kind of model was chosen."""
    fit = findings.classifier.penalized_fit_
    if fit is None:
        return "The final model is the last halfspace of Algorithm 1."
    if not fit.coef.any():
        only = findings.classifier.classes_[int(fit.offset > 0)]
        return f"The final model predicts {only} for every row: it uses no feature."
    kind = "logistic regression" if fit.penalty == "L1" else "a support vector machine"
    kind = f"{kind} with an {fit.penalty} penalty"
    rows = "trusted rows" if findings.counts_by_trust else _all_rows(findings)
    if fit.n_averaged > 1:
        return (
            f"The final model is an average of {fit.n_averaged} fits of {kind}, on {rows}: so few "
            "rows of so many columns hardly tell which of them is best. It has no certificate."
        )
    certified = "" if fit.is_certified else " It is not certified: the solver stopped early."
    return f"The final model is {kind}, on {rows}.{certified}"


def _about_the_model(findings: Findings) -> list[str]:
    """What is proven about the final model: its distance from optimal, and what can be hidden."""
    fit, bound = findings.classifier.penalized_fit_, findings.adversary_bound
    said = []
    if fit is not None and fit.is_certified:
        said.append(
            f"The penalized loss of the final model ({fit.penalty} penalty) is within "
            f"{math.ceil(1e4 * fit.gap) / 1e4:.2%} of its minimum over the rows it is fitted to."
        )
    return said + ([bound.sentence()] if bound is not None and bound.is_useful else [])


def _not_bounded(findings: Findings) -> list[str]:
    """That nothing is proven about other models, if the bound says nothing useful."""
    bound = findings.adversary_bound
    if bound is None or bound.is_useful:
        return []
    return [
        "That no similar model is much better on the clean rows: "
        f"{count(bound.n_planted, 'planted row')} could hide one, and the bound cannot rule it out."
    ]


def _not_proven(findings: Findings, has_suspects: bool) -> list[str]:
    """What a reader might take for proven."""
    said = ["That every suspect is planted. Honest rows can be as unusual."] * has_suspects
    held_out = (
        "The held-out error weights rows by trust, so it can be too low; if planted rows kept "
        "their trust, it can be too high."
        if findings.counts_by_trust
        else f"The held-out error counts {_all_rows(findings)} alike, so planted rows can make it "
        "too high."
    )
    return [
        *said,
        "That every planted row is a suspect. A planted row that looks like a clean row of its "
        "class is trusted, and does little harm.",
        f"The error on new rows. {held_out}",
    ]
