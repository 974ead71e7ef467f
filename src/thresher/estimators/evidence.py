"""Evidence: whether rows stand out above what a table of this shape shows by chance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.learning.steps import around_class_medians
from thresher.outliers import find_weights
from thresher.solvers import worst_direction
from thresher.validation import FloatArray, Rows, is_sparse
from thresher.wording import count

N_CHANCE = 3  # tables drawn by chance
MOST_ROWS = 2000  # of a table that is compared with chance: a larger one is sampled
SEARCH_GAP = 0.2  # of the removal, and of the variance it leaves
SAFELY = 1.5  # times the distance at which the gain equals chance: seen in 22 of 24 drawn tables
CLEARLY = 1.0  # standard errors by which trust must lower the error on held-out rows
LEAST_DISTANCE = 0.05  # in standard deviations, which a sentence rounds to tenths
MANY_ROWS = 1000  # in a table of so many, trust was seen to protect models, and not to harm them


@dataclass(frozen=True)
class Evidence:
    """Whether planted rows show, in the variance they cause or in the model they make.

    Parameters
    ----------
    n_rows, n_columns : of the table that the filter looked at
    outlier_fraction : share of the rows that the filter may remove
    gain : share of the largest variance, over directions of few features, that goes away when the
        filter removes that many rows; NaN if it was not needed
    gain_by_chance : the largest such share in tables without planted rows: normal, with the same
        covariance
    distance : from the median of its class, in standard deviations, at which that many planted rows
        would have shown, in a direction over as many columns as are searched for; NaN if it was not
        needed
    improvement : by how many standard errors trust lowers the error of penalized fits on trusted
        held-out rows
    n_lost : number of rows that were left out because rows that share most of their entries have
        the other label, or because they repeat one row
    improvement_of_most : as `improvement`, on all held-out rows alike except those of least trust,
        as many as can be planted
    n_distinct : number of different rows, with those that were left out

    Examples
    --------
    >>> Evidence(100, 2000, 0.05, 0.3, 0.4, 6.0, 0.2).stands_out
    False
    >>> Evidence(100, 2000, 0.05, 0.3, 0.4, 6.0, 0.2).sentence()
    'Nothing stands out above what 100 rows and 2,000 columns show by chance. Had 5 planted...'
    >>> Evidence(100, 2000, 0.05, 0.3, 0.4, 6.0, 1.7, n_lost=3).sentence()
    'Left out: 3 rows, because near copies have the other label or one row is repeated very...'
    """

    n_rows: int
    n_columns: int
    outlier_fraction: float
    gain: float
    gain_by_chance: float
    distance: float
    improvement: float
    n_lost: int = 0
    improvement_of_most: float = 0.0
    n_distinct: int = 0

    @property
    def stands_out(self) -> bool:
        """Whether rows stand out in any way."""
        return self.is_clear or bool(self.n_lost)

    @property
    def is_clear(self) -> bool:
        """Whether rows stand out among those that were not left out."""
        return self.improvement > CLEARLY or self.gain > self.gain_by_chance

    @property
    def helps(self) -> bool:
        """Whether penalized fits, and comparisons of fits, use the trust.

        Honest rows that are hard to predict lose trust as well, and the others are easier to
        predict without them. So in a small table a better prediction of trusted rows is not enough:
        all rows together must be predicted better as well, without the least trusted ones, as many
        as can be planted, which a good model gets wrong.

        Departure: Algorithm 2 uses its weights whatever they do.

        Examples
        --------
        >>> Evidence(100, 20, 0.05, 0.3, 0.2, 4.0, improvement=3.0).helps
        False
        >>> Evidence(100, 20, 0.05, 0.3, 0.2, 4.0, improvement=3.0, improvement_of_most=1.5).helps
        True
        """
        if self.n_distinct >= MANY_ROWS:
            return self.is_clear
        return min(self.improvement, self.improvement_of_most) > CLEARLY

    def sentence(self) -> str:
        """What was seen, in words."""
        said = [] if self.n_lost and not self.is_clear else [self._of_all()]
        if self.n_lost:
            lost = count(self.n_lost, "row")
            said.insert(
                0,
                f"Left out: {lost}, because near copies have the other label or one row is "
                "repeated very often, and other rows do not confirm their labels.",
            )
        return " ".join(said)

    def _of_all(self) -> str:
        if self.improvement > CLEARLY:
            return (
                "Rows stand out: without them, models predict the trusted rows better "
                f"(by {self.improvement:.1f} standard errors)."
            )
        if self.is_clear:
            return (
                f"Rows stand out: removing {self.outlier_fraction:.1%} of them takes away "
                f"{self.gain:.1%} of the largest variance (by chance: {self.gain_by_chance:.1%})."
            )
        if self.outlier_fraction == 0:
            return "The filter looked for nothing, since the noise rate is 0."
        said = (
            f"Nothing stands out above what {self.n_rows:,} rows and {self.n_columns:,} columns "
            "show by chance."
        )
        if not self.distance >= LEAST_DISTANCE:  # NaN, or all rows of a class are equal
            return said
        n_planted = max(1, round(self.outlier_fraction * self.n_rows))
        its, it = ("its", "it") if n_planted == 1 else ("their", "they")
        return (
            f"{said} Had {count(n_planted, 'planted row')} shared a direction over several columns "
            f"at {self.distance:.1f} standard deviations from {its} class, {it} would have been "
            "seen."
        )


def compare_with_chance(
    rows: Rows, signs: FloatArray, *, l1_ratio: float, outlier_fraction: float, seed: int
) -> tuple[float, float, float]:
    """The gain of the filter, that by chance, and the distance at which planted rows would show.

    Chance means normal rows with the same covariance, and as many. Planted rows that share a
    direction at distance D add outlier_fraction·D² to its variance V, and removing them takes that
    away: they show if it is a larger share of V + outlier_fraction·D² than by chance.

    Parameters
    ----------
    rows : (n, d) scaled rows, dense or sparse
    signs : (n,) of -1 and +1
    l1_ratio : of the directions, relative to their length
    outlier_fraction : share of the rows that may be removed, above 0
    seed : of the sample and of chance

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, signs = rng.standard_normal((300, 20)), np.repeat([1.0, -1.0], 150)
    >>> asked = {"l1_ratio": 2.0, "outlier_fraction": 0.1, "seed": 0}
    >>> gain, by_chance, distance = compare_with_chance(rows, signs, **asked)
    >>> gain < by_chance
    True
    >>> rows[:30, :2] += distance
    >>> gain, by_chance, _ = compare_with_chance(rows, signs, **asked)
    >>> gain > by_chance
    True
    """
    rng = np.random.default_rng(seed)
    view = _seen_from_classes(rows, signs, rng)
    asked = {"l1_radius": l1_ratio, "outlier_fraction": outlier_fraction}
    gain, _ = _gain(view, **asked)
    factor = np.linalg.cholesky(_second_moment(view) + 1e-9 * np.eye(view.shape[1])).T
    drawn = [_gain(rng.standard_normal(view.shape) @ factor, **asked) for _ in range(N_CHANCE)]
    by_chance = max(share for share, _ in drawn)
    added = max(variance for _, variance in drawn) * by_chance / max(1 - by_chance, 1e-9)
    return gain, by_chance, SAFELY * float(np.sqrt(added / outlier_fraction))


def _seen_from_classes(rows: Rows, signs: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The rows, or a sample of them, less the medians of their classes."""
    if signs.size > MOST_ROWS:
        places = np.sort(rng.choice(signs.size, MOST_ROWS, replace=False))
        rows, signs = rows[places], signs[places]
    return around_class_medians(rows.toarray() if is_sparse(rows) else rows, signs)


def _gain(rows: FloatArray, *, l1_radius: float, outlier_fraction: float) -> tuple[float, float]:
    """The share of the largest variance that removal takes away, and that variance."""
    weights = find_weights(
        rows,
        search_gap=SEARCH_GAP,
        l2_radius=1.0,
        l1_radius=l1_radius,
        outlier_fraction=outlier_fraction,
    )
    before, after = (
        worst_direction(moment, l2_radius=1.0, l1_radius=l1_radius, tolerance=SEARCH_GAP).lower
        for moment in (_second_moment(rows), _second_moment(rows, weights))
    )
    return (1 - after / before if before > 0 else 0.0), float(before)


def _second_moment(rows: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    weighted = rows if weights is None else rows * weights[:, np.newaxis]
    moment: FloatArray = weighted.T @ rows / len(rows)
    return moment


def improvement(
    without: NDArray[np.bool_],
    with_trust: NDArray[np.bool_],
    signs: FloatArray,
    trust: FloatArray,
    groups: NDArray[np.intp] | None = None,
) -> float:
    """By how many standard errors trust lowers the error on held-out rows, counted by their trust.

    The first two arguments say which rows were wrong when they were held out. The rows are paired,
    and each class counts by its size. Rows with the same number in `groups` are copies of one, and
    say no more about chance than that one does.

    Examples
    --------
    >>> signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    >>> wrong = np.array([True, True, False, True, False, False])
    >>> round(improvement(wrong, np.zeros(6, dtype=bool), signs, np.ones(6)), 2)
    2.6
    """
    difference, mean, variance = without.astype(float) - with_trust, 0.0, 0.0
    numbers = np.arange(signs.size) if groups is None else groups
    for sign in (-1.0, 1.0):
        own = signs == sign
        weights = trust[own] / (trust[own].sum() or 1.0)
        mine = float(weights @ difference[own])
        mean += own.mean() * mine
        deviations = np.bincount(numbers[own], weights * (difference[own] - mine))
        variance += own.mean() ** 2 * float(deviations @ deviations)
    return float(mean / np.sqrt(variance)) if variance > 0 else 0.0
