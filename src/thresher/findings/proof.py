"""What was assumed, what was proven and what was not, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.findings.examination import Findings
from thresher.learning import PhaseOutcome
from thresher.validation import is_sparse


@dataclass(frozen=True)
class RemainingVariance:
    """A proven limit on the variance that rows show in a direction of few features.

    Parameters
    ----------
    upper : the limit, in columns scaled such that one of them alone shows about 1
    optimum : what no choice of weights could have gone below
    n_features : of a direction, at most
    holds_for_trust : whether it holds for rows counted by their trust, or by their weights in the
        first phase only

    Examples
    --------
    >>> RemainingVariance(upper=4.3, optimum=3.9, n_features=11, holds_for_trust=True).upper
    4.3
    """

    upper: float
    optimum: float
    n_features: int
    holds_for_trust: bool


def remaining_variance(findings: Findings) -> RemainingVariance:
    """The limit that the first phase proved: it looked at every row.

    Later phases only take trust away, and less weight has less variance, so the limit holds for
    rows counted by their trust, too. That is checked here all the same.
    """
    first: PhaseOutcome = findings.classifier.phases_[0]
    weights = np.zeros(findings.table.n_rows)
    weights[first.row_ids] = first.row_weights
    unit = first.phase.l2_radius**2
    n_features = int((first.phase.removal_l1_radius / first.phase.l2_radius) ** 2 + 1e-9)
    return RemainingVariance(
        upper=first.variance_upper / unit,
        optimum=first.optimum_lower / unit,
        n_features=max(1, min(n_features, findings.table.X.shape[1])),
        holds_for_trust=bool(np.all(findings.suspicion.trust <= weights + 1e-12)),
    )


def assumptions(findings: Findings) -> list[str]:
    """What was taken for granted."""
    rate, n_rows = findings.chosen.noise_rate, findings.table.n_rows
    return [
        f"At most {100 * rate:.3g}% of the rows are planted ({findings.suspects.size:,} of "
        f"{n_rows:,}), their features and their labels. More of them may steer the model.",
        "One linear boundary separates most of the other rows.",
    ]


def proven(findings: Findings) -> list[str]:
    """What the independent checker accepted."""
    limit = remaining_variance(findings)
    counted = "their trust" if limit.holds_for_trust else "the weights of the first phase"
    phases = findings.classifier.phases_
    certified = [outcome for outcome in phases if outcome.is_certified]
    gap = max(outcome.loss_gap for outcome in phases)
    said = [
        f"With rows counted by {counted}, no combination of up to {limit.n_features} features has "
        f"a variance above {limit.upper:.2f} ({_scale(findings)}).",
        f"No other weights that take away as little could have brought it below "
        f"{limit.optimum:.2f}.",
        f"In every phase the hinge loss of the trusted rows is within {gap:.2g} of the least.",
    ]
    if len(certified) < len(phases):
        missed = [str(o.phase.index) for o in phases if not o.is_certified]
        said.append(
            f"Phase {', '.join(missed)} of {len(phases)} missed its goal: the bounds above hold, "
            "but better answers may exist."
        )
    return said


def _scale(findings: Findings) -> str:
    if is_sparse(findings.table.X):
        return "columns scaled so that an entry that is not zero counts about 1"
    return "columns scaled so that one alone has about 1, rows seen from the middle of their class"


def not_proven() -> list[str]:
    """What nobody should read into it."""
    return [
        "That every suspect is planted: if fewer rows are, the most unusual clean ones are "
        "listed in their place.",
        "That every planted row is a suspect: one that looks like a clean row of its class is "
        "trusted, and is harmless.",
        "The error on new rows: the held-out error counts rows by trust, and is somewhat smaller.",
    ]
