"""`audit`: a first look at a table, and a second one where the first may have missed rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thresher import auditing
from thresher.auditing.data_errors import DataErrors, find_data_errors
from thresher.auditing.disagreement import View, look_at_labels
from thresher.auditing.duplicates import counts_of, equal_rows
from thresher.auditing.examination import Findings
from thresher.auditing.frames import FrameMaker, table_in_memory
from thresher.auditing.suspects import Places
from thresher.auditing.table_audit import Audit
from thresher.auditing.verdict import MOST_ERROR, Suspicions, weigh
from thresher.estimators import NoiseRate
from thresher.table_files import LabeledTable
from thresher.validation import seed_from

SECOND_LOOK = 0.1  # the noise rate of another look, if a smaller estimate leaves no row to name


def audit(
    X: Any,
    y: Any,
    *,
    noise_rate: float | None = None,
    sparsities: Sequence[int | str] | str = "auto",
    random_state: Any = 0,
) -> Audit:
    """Which rows of a labeled table are suspicious, why, and which cannot be judged.

    Three things are told apart: rows that steer a linear model, labels that disagree with models
    that have not seen them, and plain data errors.

    Parameters
    ----------
    X : array, sparse matrix, or data frame of pandas, Polars or pyarrow, also with missing values,
        categories and texts
    y : one label for each row, of two kinds
    noise_rate : largest share of rows that may be planted; estimated if None
    sparsities : numbers of features that a model may use, or "auto"
    random_state : seed or `np.random.Generator`

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")
    >>> y[:12] = np.where(y[:12] == "yes", "no", "yes")
    >>> X[50, 3] = 5000
    >>> found = audit(X, y)
    >>> found.rows["reason"][50]
    'x3 = 5000: out of range'
    """
    table = table_in_memory(X, y)
    return audit_table(
        table,
        name="Audit of a table",
        noise_rate=noise_rate,
        sparsities=sparsities,
        seed=seed_from(random_state),
        frames=FrameMaker.like(X),
    )


def _given(noise_rate: float | None) -> NoiseRate:
    assert noise_rate is not None
    message = f"noise_rate={noise_rate:g} was given, not estimated."
    return NoiseRate(noise_rate, noise_rate, noise_rate, message)


def audit_table(
    table: LabeledTable,
    *,
    noise_rate: float | None = None,
    seed: int = 0,
    frames: FrameMaker | None = None,
    **options: Any,
) -> Audit:
    """As `audit`, for a table from a file; other options are those of `examine`.

    An estimated noise rate is that of visible contradictions, and rows that steer a model need not
    contradict it. If rows stand out and none is named, a second look withstands more of them.
    """
    # Not "auto", which would learn from every fold: the model is not what an audit is about.
    options = {"final_fit": "penalized", "seed": seed, **options}
    findings = auditing.examine(table, noise_rate=noise_rate, **options)
    equal, data = equal_rows(table.X), find_data_errors(table.X)
    rate = findings.classifier.estimated_noise_rate_ or _given(noise_rate)
    views, suspicions = _judged(findings, equal, data, seed)
    frames = frames or FrameMaker()
    found = Audit(findings, views, data, equal, suspicions, rate, noise_rate, frames)
    if not _may_have_missed(found):
        return found
    findings = auditing.examine(table, noise_rate=SECOND_LOOK, **options)
    views, suspicions = _judged(findings, equal, data, seed)
    again = replace(found, findings=findings, views=views, suspicions=suspicions)
    is_few = again.n_wrong_labels <= SECOND_LOOK * table.n_rows  # not more than it withstands
    return again if again.n_wrong_labels and is_few else found


def _may_have_missed(found: Audit) -> bool:
    """Whether rows stand out, but none is named, and the estimated noise rate was small.

    If even the best model errs often, honest rows would look wrong to one that distrusts more.
    """
    is_small = found.assumed is None and found.findings.chosen.noise_rate < SECOND_LOOK
    stands_out = bool(found.findings.classifier.evidence_.stands_out)
    is_good = min(view.error for view in found.views) < MOST_ERROR
    return is_small and stands_out and is_good and not found.n_wrong_labels


def _judged(
    findings: Findings, equal: Places, data: DataErrors, seed: int
) -> tuple[tuple[View, ...], Suspicions]:
    """What models say about the labels, and how suspicious that makes each row."""
    signs, trust = findings.signs, findings.classifier.row_weights_
    scaled = findings.classifier.scaling_.apply(findings.table.X)
    views = look_at_labels(scaled, signs, trust, equal, seed)
    return views, weigh(views, data, signs, trust, counts_of(equal))
