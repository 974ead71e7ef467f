"""`HalfspaceClassifier`: the passive learner as a scikit-learn estimator."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thresher import memory
from thresher.arrays import DeviceRows, stored
from thresher.device_memory import require_memory_beside
from thresher.estimators.base import FitReport, FittedHalfspace, with_callbacks
from thresher.estimators.calibration import fit_slope
from thresher.estimators.checks import (
    Settings,
    check_sample_weight,
    check_table_where_it_is,
    check_two_classes,
    class_weights,
    noise_rate_of,
)
from thresher.estimators.columns import ColumnScaling, HomogeneousRows
from thresher.estimators.comparison import Comparison
from thresher.estimators.contradictions import NoiseRate
from thresher.estimators.copies import Copies
from thresher.estimators.disputes import TrainingTable, settle
from thresher.estimators.folds import usual_folds
from thresher.estimators.penalized_fit import PenalizedFit
from thresher.estimators.pools import in_memory
from thresher.estimators.screening import watched_columns
from thresher.estimators.trust import trust_by_variance, trust_of_rows, warn_of_distrusted_classes
from thresher.geometry import hard_threshold
from thresher.learning import PhaseOutcome, PracticalSchedule, Task, learn_from_table
from thresher.validation import FloatArray, Rows, is_sparse

COPIES = 3.0  # of the table that a fit needs at its peak: scaled, in the band, centered, weighed
DEVICE_COPIES = 6  # the same on a device


class HalfspaceClassifier(FittedHalfspace):
    """A sparse linear classifier that planted training rows can hardly steer.

    The passive form of Algorithm 1. Each phase looks at the rows near the current boundary, gives
    them trust weights that leave no sparse direction with suspicious variance, and minimizes the
    hinge loss of the trusted rows. Columns are scaled by medians first, so that a few absurd values
    change nothing. The final model is the last halfspace, or a penalized fit to the trusted rows,
    whichever predicts trusted held-out rows better. If no rows stand out, all are trusted.

    Parameters
    ----------
    sparsity : int, "auto" or "all", default=10
        Largest number of features in the model. Values above the number of columns mean all. With
        "auto", halfspaces have up to 40 features, and a penalized fit as many as suit it: hundreds,
        if the table has far more columns than rows.
    noise_rate : float or None, default=0.05
        Largest share of planted rows to withstand, below 0.5. None: the upper end of the interval
        that `estimate_noise_rate` finds, at least .02.
    final_fit : "auto", "hinge" or "penalized", default="auto"
        The final model. "hinge": the last halfspace of Algorithm 1. "penalized": L1 logistic
        regression or an L2 support vector machine, with the penalty chosen on held-out rows; rows
        count by their trust if that helps (`evidence_.helps`; departure). "auto": the better of the
        two on held-out rows.
    class_weight : dict, "balanced" or None, default=None
        What an error on each class costs, as in scikit-learn: in the losses, on held-out rows and
        in the calibration of probabilities. "balanced" gives both classes the same weight. Trust
        does not depend on it, apart from the rows left out for their losses.
    max_columns : int or None, default=400
        Largest number of columns that the phases look at, at least `sparsity`. A wider table is cut
        down to the columns whose class means differ most, after clipping, so that planted rows can
        hardly hide a useful one; a quarter are those that matter most to an undefended fit
        (departure). None: all columns.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Departure: the paper's halfspaces pass through the origin. A
        column of ones is treated like the others, but is not counted as a feature. Without it, the
        boundary passes through the point where every scaled column is zero.
    scale : bool, default=True
        Scale each column by its median and median absolute deviation; see `ColumnScaling` for
        columns of counts and sparse matrices. Without it, columns should already have mean 0 and
        variance 1; a table far larger or smaller is divided by one number.
    reach : float, default=2.0
        With `scale`, clip scaled values to [-reach, reach], in training and prediction.
    label_aware : bool, default=True
        Use the labels to judge rows. Variance is also measured around the median of each class;
        each phase leaves out the rows with the largest losses, somewhat fewer than could be
        planted; and a row never regains trust in a later phase. Without it, rows are judged by
        their features alone: the corollary of the paper.
    schedule : PracticalSchedule, default=None
        The constants of every phase. The default is `PracticalSchedule(outlier_margin=1.0,
        max_dirty_share=0.5)`, or `PracticalSchedule()` if not `label_aware`. Fields about buying
        labels or drawing rows (`use_every_row`, `reuse_labels`, `min_unlabeled`, …) have no effect.
    random_state : int, RandomState, Generator or None, default=None
        Randomness of the folds, of the weak models and of the tables drawn by chance. In a small
        table it can decide whether rows lose trust: set it for results that can be repeated.

    Attributes
    ----------
    coef_ : (1, n_features) coefficients, in the units of the columns of X
    intercept_ : (1,)
    support_ : indices of the features with a non-zero coefficient
    classes_ : the two labels; the second is the positive class
    row_weights_ : (n_rows,) the trust in each training row, from 0 to 1; see `trust_of_rows`. Less
        for rows whose label contradicts the others, and all ones if nothing stands out, unless
        `final_fit="hinge"`; 0 for rows of no weight, and for rows that an equal row with the other
        label and more trust contradicts
    final_fit_ : "hinge" or "penalized", the final model
    penalized_fit_ : the `PenalizedFit` if that is the final model, with its duality gap unless it
        is an average; else None
    evidence_ : the `Evidence`, with a sentence on what stands out; None if `final_fit="hinge"`
    probability_slope_ : the log odds of the second class are this times `decision_function`
    columns_ : indices of the columns that the phases looked at, and that their certificates are
        about
    phases_ : one `PhaseOutcome` per phase, with its certificates; halfspaces have one entry for
        each of `columns_`, and a last one for the intercept
    n_iter_ : number of phases
    noise_rate_ : the noise rate that was used
    estimated_noise_rate_ : the `NoiseRate`, with an interval, if `noise_rate` is None; else None
    n_features_in_, feature_names_in_ : as in scikit-learn
    scaling_ : the `ColumnScaling` used in predictions

    Notes
    -----
    For a row whose scaled values lie within the reach, `decision_function` is X·coef_ + intercept_.
    With weights, or if rows are repeated, `phases_` and `evidence_` count copies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 30))
    >>> y = np.where(X[:, 3] - X[:, 5] > 0, "yes", "no")
    >>> model = HalfspaceClassifier(sparsity=2, noise_rate=0.02, random_state=0).fit(X, y)
    >>> model.support_, model.score(X, y) > 0.98
    (array([3, 5]), True)
    """

    _always_uses_trust = False  # by the final model if rows stand out, whether or not it helps

    def __init__(
        self,
        sparsity: int | str = 10,
        noise_rate: float | None = 0.05,
        *,
        final_fit: str = "auto",
        class_weight: Any = None,
        max_columns: int | None = 400,
        fit_intercept: bool = True,
        scale: bool = True,
        reach: float = 2.0,
        label_aware: bool = True,
        schedule: PracticalSchedule | None = None,
        random_state: Any = None,
    ) -> None:
        self.sparsity = sparsity
        self.noise_rate = noise_rate
        self.final_fit = final_fit
        self.class_weight = class_weight
        self.max_columns = max_columns
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.reach = reach
        self.label_aware = label_aware
        self.schedule = schedule
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a table in which some rows may be planted.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d). An array of CuPy or Torch is worked
            on where it is, with all its columns and "hinge" as the final fit; what is fitted are
            NumPy arrays. Of a pool larger than memory (`ParquetPool`, `DaskPool`), a uniform sample
            is fitted, whose rows are `sample_ids_`
        y : (n,) labels of two classes; of a pool, the name of the column with the labels
        sample_weight : (n,) a weight of k means k copies of the row, and 0 none; the noise rate is
            a share of the total weight. Weights that are not integers are rounded to copies in
            proportion, about four for the median weight

        Raises
        ------
        TypeError, ValueError
            A parameter is out of range, X has non-finite entries, or y does not have two classes.
        NotEnoughMemory
            The fit would need too much memory; the message says how many rows would fit.
        """
        settings = Settings.of(self)
        X, y = in_memory(self, X, y)
        rows, labels = check_table_where_it_is(self, X, y)
        settings = settings.for_rows(rows)
        weights, copies = check_sample_weight(sample_weight, len(labels)), None
        if weights is not None or settings.final_fit != "hinge":  # only folds depend on the order
            copies = Copies.of(rows, labels, weights)
        table = TrainingTable(rows, labels, copies=copies)
        self.estimated_noise_rate_ = None
        if self.noise_rate is None:
            seen = X if copies is None else stored(table.rows)
            self.estimated_noise_rate_ = NoiseRate.seen_by(self, seen, table.labels)
            settings = replace(settings, noise_rate=self.estimated_noise_rate_.to_withstand)
        report = FitReport(self, X, y)
        learn = partial(self._learn, observe=lambda learned: report.task_ended("phase", learned))
        if settings.final_fit == "hinge":
            learn(table.rows, table.labels, settings)
            self._calibrate(self._scores(table.rows), table.labels)
        else:
            folds = usual_folds(table.labels, settings.seed, copies)
            table = self._finish(replace(table, folds=folds), settings, learn)
        self._warn_of_distrusted_classes(table.labels)
        self._count_once(table.copies)
        report.fit_ended()
        return self

    # -- phases ------------------------------------------------------------------------------

    def _learn(
        self,
        rows: Rows,
        labels: Any,
        settings: Settings,
        places: NDArray[np.intp] | slice = slice(None),
        observe: Callable[[Callable[[], dict[str, Any]]], bool] = lambda _: False,
    ) -> None:
        """Learn a halfspace from a checked table, or from some of its rows.

        After each phase, `observe` gets a function that returns the fitted attributes as of now,
        and returns whether to stop.
        """
        if is_sparse(rows) or not settings.scale:
            rows, labels, places = rows[places], labels[places], slice(None)
        self.classes_, signs = check_two_classes(labels[places])
        _require_memory_for(rows)
        self.scaling_ = (
            ColumnScaling.of(rows, settings.reach, places)
            if settings.scale
            else ColumnScaling.common(rows)
        )
        self.columns_ = watched_columns(
            rows, signs, settings.max_columns, self.scaling_, places, settings.seed
        )
        costs = class_weights(settings.class_weight, labels[places])
        schedule = replace(
            settings.schedule_for(rows).for_table(signs.size, label_aware=settings.label_aware),
            positive_weight=float(costs[np.argmax(signs)] / costs[np.argmin(signs)]),
        )
        phases: list[PhaseOutcome] = []

        def phase_ended(outcome: PhaseOutcome) -> bool:
            phases.append(outcome)
            return observe(lambda: self._learned(phases, signs.size, settings))

        learn_from_table(
            self._homogeneous(rows, settings.fit_intercept, places),
            signs,
            _task(settings, self.columns_.size),
            schedule,
            seed=settings.seed,
            observe=phase_ended,
        )
        self.__dict__.update(self._learned(phases, signs.size, settings))

    def _homogeneous(
        self, rows: Rows, with_ones: bool, places: NDArray[np.intp] | slice = slice(None)
    ) -> HomogeneousRows:
        """What the phases look at: the watched columns, without a copy if that is all."""
        if self.columns_.size == rows.shape[1]:
            return HomogeneousRows(rows, self.scaling_, with_ones, places)
        part, scaling = rows[places][:, self.columns_], self.scaling_.take(self.columns_)
        return HomogeneousRows(part, scaling, with_ones)

    def _learned(
        self, phases: Sequence[PhaseOutcome], n_rows: int, settings: Settings
    ) -> dict[str, Any]:
        """The fitted attributes after these phases."""
        halfspace, n_columns = phases[-1].halfspace, self.columns_.size
        # The place of the intercept can go to a feature; then the smallest one is dropped.
        weights = hard_threshold(halfspace[:n_columns], min(settings.sparsity, n_columns))
        offset = float(halfspace[-1]) if settings.fit_intercept else 0.0
        return {
            "phases_": tuple(phases),
            "n_iter_": len(phases),
            "row_weights_": trust_of_rows(phases, n_rows),
            "final_fit_": "hinge",
            "penalized_fit_": None,
            "evidence_": None,
            "probability_slope_": None,
            "noise_rate_": settings.noise_rate,
            **self._coefficients(weights, offset, self.columns_),
        }

    def _coefficients(
        self, weights: FloatArray, offset: float, columns: NDArray[np.intp]
    ) -> dict[str, Any]:
        """A model over some scaled columns, also in the units of the columns of X."""
        scaling, used = self.scaling_.take(columns), np.flatnonzero(weights)
        coef = np.zeros((1, self.scaling_.scale.size))
        coef[0, columns] = weights / scaling.scale
        return {
            "support_": columns[used],
            "coef_": coef,
            "intercept_": np.array([offset - weights @ (scaling.center / scaling.scale)]),
            "_weights": weights[used],
            "_offset": offset,
        }

    # -- the final model ---------------------------------------------------------------------

    def _finish(
        self, table: TrainingTable, settings: Settings, learn: Callable[..., None]
    ) -> TrainingTable:
        """Choose between the halfspace and a penalized fit to the rows it trusts.

        Returns the table without the rows that lose a dispute.
        """

        choice = self.sparsity, settings.noise_rate

        def make(_: Any, noise_rate: float) -> Any:
            return clone(self).set_params(noise_rate=noise_rate)

        def compare(table: TrainingTable) -> Comparison:
            left = table.noise_rate_left(settings.noise_rate)
            learn(table.rows, table.labels, replace(settings, noise_rate=left))
            return Comparison(make, [choice], table, settings.final_fit, fitted=self)

        table, compared = settle(table, compare, settings.noise_rate)
        for _ in compared.fit_halfspaces(n_jobs=None):
            pass
        compared.fit_best(compared.path()[0])
        return table

    def _take_penalized(self, fit: PenalizedFit) -> None:
        """Make a penalized fit the final model, as a unit vector like a halfspace."""
        unit, offset = fit.coef / fit.length, fit.offset / fit.length
        model = self._coefficients(unit, offset, fit.columns)
        self.__dict__.update(model, final_fit_="penalized", penalized_fit_=fit)

    def _calibrate(self, scores: FloatArray, labels: Any) -> None:
        """Set the slope of `predict_proba` by the scores of trusted rows, NaN if never held out."""
        trust = np.maximum(self.row_weights_, trust_by_variance(self.phases_, len(labels)))
        weights = trust * class_weights(self.class_weight, labels)
        self.probability_slope_ = fit_slope(scores, self._signs(labels), weights)

    def _warn_of_distrusted_classes(self, labels: Any) -> None:
        warn_of_distrusted_classes(
            self.row_weights_,
            self._signs(labels),
            self.classes_.tolist(),
            noise_rate_of(self),
        )

    def _count_once(self, copies: Copies | None) -> None:
        """Say what is known of each row of the table, instead of each copy."""
        if copies is not None:
            self.row_weights_ = copies.means(self.row_weights_)
            self.phases_ = copies.in_table(self.phases_)

    def _signs(self, labels: Any) -> FloatArray:
        return np.where(labels == self.classes_[1], 1.0, -1.0)


def _task(settings: Settings, n_features: int) -> Task:
    """What to learn; the column of ones, if there is one, adds a feature of its own."""
    n_ones = int(settings.fit_intercept)
    return Task(
        n_features=n_features + n_ones,
        sparsity=min(settings.sparsity, n_features) + n_ones,
        noise_rate=settings.noise_rate,
    )


def _require_memory_for(rows: Rows) -> None:
    """Raise `NotEnoughMemory` if the copies of the table that a fit makes would not fit."""
    n_rows, n_features = rows.shape
    if isinstance(rows, DeviceRows):
        what = f"learning from {n_rows} rows of {n_features} features"
        require_memory_beside(rows.array, DEVICE_COPIES * rows.nbytes, what)
        return
    n_entries = rows.nnz if is_sparse(rows) else n_rows * n_features
    n_bytes = max(1, int(COPIES * (12 if is_sparse(rows) else 8) * n_entries))
    n_fitting = int(min(memory.available_memory() / n_bytes, 1) * n_rows)
    memory.require_memory(
        n_bytes,
        f"learning from {n_rows} rows of {n_features} features (about {n_fitting} rows would fit)",
    )
