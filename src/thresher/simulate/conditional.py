"""Rows of a distribution, given that some of their features satisfy a condition.

Rejection is cheap when the condition looks at few features: those are drawn first, and the other
features only for the accepted rows. For a product distribution this gives the same law as plain
rejection.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.geometry import Band
from thresher.validation import FloatArray

Condition: TypeAlias = Callable[[FloatArray], NDArray[np.bool_]]

ENTRIES_PER_CHUNK = 2**20  # 8 MB of candidates at a time stay in cache and bound the memory
_MAX_CANDIDATES_PER_ROW = 1_000_000


@runtime_checkable
class Distribution(Protocol):
    """Anything that rows can be sampled from; the oracle needs nothing else.

    Examples
    --------
    >>> class Dice:
    ...     n_features = 2
    ...     def sample(self, n_rows, rng):
    ...         return rng.choice([-1.0, 1.0], size=(n_rows, 2))
    >>> isinstance(Dice(), Distribution)
    True
    """

    @property
    def n_features(self) -> int:
        """The number of features of every row."""
        ...  # pragma: no cover

    def sample(self, n_rows: int, rng: Generator) -> FloatArray:
        """An array of `n_rows` independent rows."""
        ...  # pragma: no cover


def sample_given(
    distribution: Distribution,
    n_candidates: int,
    features: NDArray[np.intp],
    accepts: Condition,
    rng: Generator,
) -> FloatArray:
    """Draw independent rows and keep those that satisfy a condition on some of their features.

    Parameters
    ----------
    n_candidates : number of rows drawn
    features : the features that the condition looks at
    accepts : takes the (n, len(features)) entries and returns which rows to keep

    Examples
    --------
    >>> from thresher.simulate import Uniform
    >>> rng = np.random.default_rng(0)
    >>> rows = sample_given(Uniform(5), 1000, np.array([3]), lambda part: part[:, 0] > 0, rng)
    >>> rows.shape[1], bool((rows[:, 3] > 0).all())
    (5, True)
    """
    is_cheap = has_independent_features(distribution)
    n_columns = features.size if is_cheap else distribution.n_features
    kept = [np.zeros((0, n_columns))]
    for n_chunk in chunk_sizes(n_candidates, n_columns):
        if is_cheap:
            block = part = sample_features(distribution, n_chunk, features, rng)
        else:
            block = distribution.sample(n_chunk, rng)
            part = block[:, features]
        kept.append(block[accepts(part)])
    accepted = np.concatenate(kept)
    if not is_cheap:
        return accepted
    rows = distribution.sample(accepted.shape[0], rng)
    rows[:, features] = accepted
    return rows


def has_independent_features(distribution: Distribution) -> bool:
    """Whether the distribution can draw some features without the others (`sample_features`)."""
    return hasattr(distribution, "sample_features")


def sample_features(
    distribution: Distribution,
    n_rows: int,
    features: NDArray[np.intp],
    rng: Generator,
) -> FloatArray:
    """The given features of `n_rows` independent rows, without the others where possible."""
    own: Any = getattr(distribution, "sample_features", None)
    if own is None:
        return distribution.sample(n_rows, rng)[:, features]
    part: FloatArray = own(n_rows, features, rng)
    return part


def sample_n_given(
    distribution: Distribution,
    n_rows: int,
    features: NDArray[np.intp],
    accepts: Condition,
    rng: Generator,
) -> FloatArray:
    """Exactly `n_rows` independent rows that satisfy the condition.

    Raises
    ------
    ValueError : the condition is so rare that a million candidates per row were not enough
    """
    pieces: list[FloatArray] = [np.zeros((0, distribution.n_features))]
    n_kept, n_tried = 0, 0
    while n_kept < n_rows:
        if n_tried >= _MAX_CANDIDATES_PER_ROW * n_rows:
            raise ValueError(
                f"{n_rows} rows needed, but only {n_kept} of {n_tried} candidates satisfy the "
                "condition"
            )
        n_candidates = next_candidates(n_rows - n_kept, n_kept, n_tried)
        pieces.append(sample_given(distribution, n_candidates, features, accepts, rng))
        n_tried += n_candidates
        n_kept += pieces[-1].shape[0]
    return np.concatenate(pieces)[:n_rows]


def sample_in_band(
    distribution: Distribution, n_candidates: int, band: Band, rng: Generator
) -> FloatArray:
    """Draw independent rows and keep those in the band.

    A distribution's own `sample_in_band` is used if it has one.

    Examples
    --------
    >>> from thresher.simulate import Laplace
    >>> band = Band(normal=np.array([0.0, 1.0, 0.0]), width=0.1)
    >>> rows = sample_in_band(Laplace(3), 1000, band, np.random.default_rng(0))
    >>> bool(band.admits(rows).all())
    True
    """
    own: Any = getattr(distribution, "sample_in_band", None)
    if own is not None:
        rows: FloatArray = own(n_candidates, band, rng)
        return rows
    features = np.flatnonzero(band.normal)
    normal = band.normal[features]
    rows = sample_given(
        distribution, n_candidates, features, lambda part: np.abs(part @ normal) <= band.width, rng
    )
    return within_band(rows, band)


def within_band(rows: FloatArray, band: Band) -> FloatArray:
    """The rows without those that rounding has pushed over the band's edge.

    Examples
    --------
    >>> within_band(np.array([[0.5], [0.6]]), Band(normal=np.ones(1), width=0.5))
    array([[0.5]])
    """
    inside = np.abs(rows @ band.normal) <= band.width
    return rows if inside.all() else rows[inside]


def next_candidates(n_missing: int, n_kept: int, n_tried: int) -> int:
    """The number of candidates to try next, from the share that was kept so far.

    Five percent more than expected, because a short block costs another round. If nothing was kept
    yet, four times the number already tried.

    Examples
    --------
    >>> next_candidates(n_missing=100, n_kept=50, n_tried=100)
    226
    """
    if n_tried == 0:
        return n_missing
    if n_kept == 0:
        return min(4 * n_tried, 2**20)
    if n_kept == n_tried:
        return n_missing
    return min(int(1.05 * n_missing * n_tried / n_kept) + 16, 2**20)


def chunk_sizes(n_rows: int, n_columns: int) -> list[int]:
    """Row counts that add up to `n_rows`, each a chunk of bounded size.

    Examples
    --------
    >>> chunk_sizes(10_000, n_columns=200)
    [5242, 4758]
    """
    step = max(ENTRIES_PER_CHUNK // max(n_columns, 1), 1)
    return [min(step, n_rows - start) for start in range(0, n_rows, step)]
