"""What was assumed, what was proven and what was not, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thresher.auditing.examination import Findings
from thresher.auditing.suspicion import NEXT_TO_NOTHING
from thresher.learning import PhaseOutcome
from thresher.validation import is_sparse


@dataclass(frozen=True)
class RemainingVariance:
    """A proven limit on the variance that rows show in a direction of few features.

    Parameters
    ----------
    upper : the limit for the mean over all rows, each counted by its trust
    optimum : what no weights could go below that take away at most `outlier_fraction` of the rows
    outlier_fraction : that share
    share_taken : what was taken away in fact
    n_features : of a direction, at most
    holds_for_trust : whether it holds for rows counted by their trust, or by their weights in the
        first phase only

    Examples
    --------
    >>> limit = RemainingVariance(upper=4.0, optimum=3.9, outlier_fraction=0.1, share_taken=0.2,
    ...                           n_features=11, holds_for_trust=True)
    >>> limit.of_trusted_rows
    5.0
    """

    upper: float
    optimum: float
    outlier_fraction: float
    share_taken: float
    n_features: int
    holds_for_trust: bool

    @property
    def of_trusted_rows(self) -> float:
        """The limit for the mean over trust, instead of over all rows."""
        return self.upper / (1 - self.share_taken) if self.share_taken < 1 else np.inf


def remaining_variance(findings: Findings) -> RemainingVariance:
    """The limit that the first phase proved: it looked at every row.

    Later phases only take trust away, and less weight has less variance, so the limit holds for
    rows counted by their trust, too. That is checked here all the same.
    """
    first: PhaseOutcome = findings.classifier.phases_[0]
    weights, trust = np.zeros(findings.table.n_rows), findings.suspicion.trust
    weights[first.row_ids] = first.row_weights
    holds = bool(np.all(trust <= weights + 1e-12))
    unit = first.phase.l2_radius**2 * findings.table.n_rows / first.row_ids.size
    n_features = int((first.phase.removal_l1_radius / first.phase.l2_radius) ** 2 + 1e-9)
    return RemainingVariance(
        upper=first.variance_upper / unit,
        optimum=first.optimum_lower / unit,
        outlier_fraction=first.phase.outlier_fraction,
        share_taken=1 - float((trust if holds else weights).mean()),
        n_features=max(1, min(n_features, findings.table.X.shape[1])),
        holds_for_trust=holds,
    )


def verdict(findings: Findings) -> str:
    """Whether rows look planted, in a sentence that leads to the list of suspects."""
    suspects = findings.suspects
    if not suspects.size:
        return "No row is suspected: none may be planted at this noise rate."
    n_planted = int((findings.suspicion.weight[suspects] < NEXT_TO_NOTHING).sum())
    names = {0: "No row looks", 1: "1 row looks"}
    looks = names.get(n_planted, f"{n_planted:,} rows look")
    return (
        f"{looks} planted (weight below {NEXT_TO_NOTHING}). "
        f"The {suspects.size:,} least trusted, as many as may be:"
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
        f"Rows counted by {counted} have no variance above {limit.of_trusted_rows:.2f} in any "
        f"direction, of length 1, of up to {limit.n_features} features ({_scale(findings)}).",
        f"For comparison: weights that take away at most {limit.outlier_fraction:.3g} of the rows "
        f"leave at least {limit.optimum:.2f}, as a mean over all rows. Those used take away "
        f"{limit.share_taken:.3g} and leave at most {limit.upper:.2f}.",
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
    return "columns scaled so that none has more than 1, rows seen from the middle of their class"


def not_proven() -> list[str]:
    """What nobody should read into it."""
    return [
        "That every suspect is planted: if fewer rows are, the most unusual clean ones are listed "
        "in their place.",
        "That every planted row is a suspect: one that looks like a clean row of its class is "
        "trusted, and does little harm.",
        "The error on new rows: the held-out error counts rows by trust. It may be smaller, and "
        "larger where planted rows kept their trust.",
    ]
