"""The model that the labels so far give, with its error and its probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thresher.estimators.model import HalfspaceModel, Label
from thresher.estimators.pools import scores_of_pool
from thresher.labeling.capture import fit_to_pool
from thresher.labeling.fitting import Fitting, LinearFit
from thresher.labeling.judging import ErrorEstimate, LabeledSample
from thresher.labeling.scaled_pool import ScaledPool
from thresher.oracles import LargePool
from thresher.validation import FloatArray, is_sparse

BLOCK_ENTRIES = 2**22  # of sparse rows that are made dense at a time


@dataclass(frozen=True, eq=False)
class LearnedModel:
    """A fit to labeled rows of a pool; everything is computed when it is first needed.

    Parameters
    ----------
    sample : the labeled rows
    fitting : how to fit them
    pool : all rows, scaled
    classes : the two labels
    is_trusted : (n,) which rows of the pool are trusted
    feature_names : of the pool, or None
    """

    sample: LabeledSample
    fitting: Fitting
    pool: ScaledPool
    classes: list[Label]
    is_trusted: NDArray[np.bool_]
    feature_names: list[str] | None = None

    @cached_property
    def fit(self) -> LinearFit:
        """The fit to all labels, but for those of planted rows that would capture it."""
        return fit_to_pool(self.sample, self.fitting, self.pool, self.is_trusted)[0]

    @cached_property
    def error(self) -> ErrorEstimate:
        """See `LabeledSample.error`."""
        return self.sample.error(self.fitting)

    @cached_property
    def slope(self) -> float:
        """See `LabeledSample.slope`."""
        return self.sample.slope(self.fitting)

    @cached_property
    def halfspace(self) -> HalfspaceModel:
        """The model without the pool."""
        weights, offset = self.pool.in_clipped_columns(self.fit.coef, self.fit.offset)
        support = np.flatnonzero(weights)
        scaling = self.pool.scaling.take(support)
        return HalfspaceModel(
            n_features=weights.size,
            feature_names=self.feature_names,
            classes=self.classes,
            support=support,
            weights=weights[support],
            offset=offset,
            center=scaling.center,
            scale=scaling.scale,
            reach=scaling.reach,
            provenance={"thresher": version("thresher"), "n_labels": int(self.sample.signs.size)},
            certificates=[],
        )

    def scores(self, X: Any) -> FloatArray:
        """The score of each row; sparse rows are made dense in parts."""
        if isinstance(X, LargePool):
            return scores_of_pool(self.halfspace, X)
        if not is_sparse(X):
            return self.halfspace.decision_function(X)
        rows, step = X.tocsr(), max(1, BLOCK_ENTRIES // max(1, X.shape[1]))
        starts = range(0, max(1, rows.shape[0]), step)
        parts = [self.halfspace.decision_function(rows[i : i + step]) for i in starts]
        return np.concatenate(parts)

    def probabilities(self, X: Any) -> FloatArray:
        """The probabilities of the two classes, one row for each row of X."""
        log_odds = np.clip(self.slope * self.scores(X), -500, 500)
        positive = 1 / (1 + np.exp(-log_odds))
        return np.stack([1 - positive, positive], axis=1)

    def label_probabilities(self) -> FloatArray:
        """How probable the label of each labeled row is, by a fit without it."""
        agreement = self.sample.signs * self.sample.held_out_scores(self.fitting)
        return expit(self.slope * agreement)

    def changed_by(self, places: Sequence[int]) -> float:
        """The share of the pool whose predictions would differ without some of the labels."""
        earlier = self.sample.without(places)
        if not earlier.has_both_classes:
            return 1.0
        before = earlier.fit(self.fitting).scores(self.pool.rows) > 0
        return float(np.mean(before != (self.fit.scores(self.pool.rows) > 0)))
