"""The malicious oracle and its hidden target: clean rows, dirty rows, labels fixed at the draw."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.errors import AdversaryError, UnknownId
from thresher.geometry import Band
from thresher.memory import require_memory
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.oracles.requests import check_ids
from thresher.simulate.adversaries.base import Adversary, Corrupted, PastDraw, View, check_adversary
from thresher.simulate.conditional import Distribution, next_candidates, sample_in_band
from thresher.simulate.distributions import (
    ErrorEstimate,
    check_halfspaces,
    classify,
    estimate_disagreement,
)
from thresher.validation import (
    FloatArray,
    check_count,
    check_fraction,
    check_labels,
    check_rows,
    check_vector,
    generator_from,
)
from thresher.wording import count

_COPIES = 3  # of the rows while they are drawn
_SMALL = 2**26  # bytes that are taken without asking, which itself takes time
_DIRTY_ENTRIES_PER_BLOCK = 2**23  # 64 MB: an adversary builds whole rows, rejected ones too


def random_target(
    n_features: int, sparsity: int, random_state: int | Generator | None = None
) -> FloatArray:
    """A random unit vector with exactly `sparsity` non-zero entries, none of them very weak.

    The support is uniform, signs are fair, and magnitudes are uniform in [0.5, 1.5] before the
    vector is normalized.

    Parameters
    ----------
    n_features : length of the vector
    sparsity : number of non-zero entries, from 1 to `n_features`
    random_state : seed or `np.random.Generator`

    Examples
    --------
    >>> target = random_target(100, 5, random_state=0)
    >>> int(np.count_nonzero(target)), round(float(np.linalg.norm(target)), 12)
    (5, 1.0)
    """
    n_features = check_count(n_features, "n_features")
    sparsity = check_count(sparsity, "sparsity")
    if sparsity > n_features:
        raise ValueError(f"sparsity must be at most n_features = {n_features}, got {sparsity}")
    _require_memory_for(1, n_features)
    rng = generator_from(random_state)
    support = rng.choice(n_features, size=sparsity, replace=False)
    target = np.zeros(n_features)
    target[support] = rng.choice([-1.0, 1.0], size=sparsity) * rng.uniform(0.5, 1.5, size=sparsity)
    return target / np.linalg.norm(target)


def _require_memory_for(n_rows: int, n_features: int) -> None:
    n_bytes = _COPIES * 8 * n_rows * n_features
    if n_bytes > _SMALL:
        require_memory(n_bytes, f"drawing {count(n_rows, 'row')} of {n_features:,} features")


@dataclass(frozen=True, eq=False)
class _Block:
    """The kept rows of consecutive draws, in the order of the draws."""

    X: FloatArray
    labels: FloatArray
    is_clean: NDArray[np.bool_]
    positions: NDArray[np.int64]  # which of the draws each kept row was
    n_drawn: int

    @property
    def n_rows(self) -> int:
        return int(self.labels.size)

    def first(self, n_rows: int) -> "_Block":
        """The block as if drawing had stopped with the `n_rows`-th kept row."""
        if self.n_rows < n_rows:
            return self
        n = n_rows
        kept = self.X[:n], self.labels[:n], self.is_clean[:n], self.positions[:n]
        return _Block(*kept, n_drawn=int(self.positions[n - 1]) + 1)


class MaliciousOracle:
    """A source of clean and adversarial rows: the paper's EX, with counted calls.

    Each draw is clean with probability 1 − noise_rate (a row of the distribution with its true
    label) and otherwise comes from the adversary, which sees a `View` of everything. Rows outside
    the requested band are rejected and counted. A row's label is fixed when the row is drawn.

    Parameters
    ----------
    distribution : where clean rows come from
    target : the hidden halfspace; only its direction matters
    noise_rate : probability that a draw is dirty, at least 0 and below 1
    adversary : has `corrupt(n_rows, view, rng)`; None is allowed when the noise rate is 0
    random_state : seed or `np.random.Generator`. The adversary has its own random stream,
        from which the clean rows cannot be predicted
    max_draws_per_request : a request stops after this many draws, even if it has found too few rows

    Attributes
    ----------
    n_draws : instances drawn so far, including rejected ones
    n_labels : number of distinct ids whose label was revealed

    Raises
    ------
    AdversaryError : the adversary returned something other than finite rows and labels ±1
    NotEnoughMemory : the rows of a request would not fit

    Examples
    --------
    >>> from thresher.simulate import Gaussian, LabelFlip, random_target
    >>> oracle = MaliciousOracle(distribution=Gaussian(20), target=random_target(20, 3, 0),
    ...                          noise_rate=0.1, adversary=LabelFlip(), random_state=0)
    >>> draw = oracle.draw(DrawRequest(n_rows=5, band=Band(normal=np.zeros(20), width=np.inf)))
    >>> draw.X.shape, oracle.n_draws
    ((5, 20), 5)
    >>> oracle.reveal(draw.ids[[0, 0, 1]]).shape, oracle.n_labels
    ((3,), 2)
    >>> oracle.error_rate(oracle.target)
    0.0
    """

    def __init__(
        self,
        *,
        distribution: Distribution,
        target: object,
        noise_rate: float,
        adversary: Adversary | None,
        random_state: int | Generator | None = None,
        max_draws_per_request: int = 200_000_000,
    ) -> None:
        if isinstance(distribution, type) or not isinstance(distribution, Distribution):
            raise TypeError(
                "distribution must have n_features and sample(n_rows, rng), "
                f"got {type(distribution).__name__}"
            )
        self.distribution = distribution
        self.n_features = int(distribution.n_features)
        self.target = _unit_target(target, self.n_features)
        self.noise_rate = check_fraction(noise_rate, "noise_rate")
        if adversary is not None or self.noise_rate > 0:
            check_adversary(adversary)
        self.adversary = adversary
        self.n_draws = 0
        self._max_draws = check_count(max_draws_per_request, "max_draws_per_request")
        self._labels = np.zeros(0)  # by id, fixed once written
        self._is_clean = np.zeros(0, dtype=np.bool_)
        self._is_revealed = np.zeros(0, dtype=np.bool_)
        self._past: list[tuple[int, IdArray, FloatArray]] = []  # phase, ids, rows
        self._rng, self._adversary_rng = generator_from(random_state).spawn(2)

    def draw(self, request: DrawRequest) -> Draw:
        """Rows in the request's band, clean and dirty in random order.

        Draws are made in blocks but counted as if made one by one: the count stops with the last
        row that is needed. Fewer rows come back when the band is so narrow that the allowed draws
        (the request's, or `max_draws_per_request`) do not suffice.
        """
        request.require_features(self.n_features)
        _require_memory_for(request.n_rows, self.n_features)
        view = self._view(request)
        limit = min(request.max_draws or self._max_draws, self._max_draws)
        dirty_entries_per_draw = max(self.noise_rate * self.n_features, 1e-9)
        max_block = int(_DIRTY_ENTRIES_PER_BLOCK / dirty_entries_per_draw) + 1
        blocks: list[_Block] = []
        n_kept, n_drawn = 0, 0
        while n_kept < request.n_rows and n_drawn < limit:
            n_missing = request.n_rows - n_kept
            n_wanted = next_candidates(n_missing, n_kept, n_drawn)
            n_block = min(n_wanted, max_block, limit - n_drawn)
            blocks.append(self._draw_block(n_block, view, request.band).first(n_missing))
            n_kept += blocks[-1].n_rows
            n_drawn += blocks[-1].n_drawn
        drawn = self._commit(blocks, n_drawn)
        if getattr(self.adversary, "remembers", False):
            self._past.append((request.phase, drawn.ids, drawn.X))
        return drawn

    def _draw_block(self, n_drawn: int, view: View, band: Band) -> _Block:
        """What is kept of `n_drawn` draws, each dirty with the noise rate.

        Draws are independent and the adversary does not know which of them are its own, so every
        order is equally likely: the kept rows get random positions among the draws.
        """
        n_dirty = int(self._rng.binomial(n_drawn, self.noise_rate))
        clean = sample_in_band(self.distribution, n_drawn - n_dirty, band, self._rng)
        dirty, dirty_labels = self._corrupt(n_dirty, view, band)
        n_clean, n_rows = clean.shape[0], clean.shape[0] + dirty.shape[0]
        slots = self._rng.permutation(n_rows)
        X, labels = np.empty((n_rows, self.n_features)), np.empty(n_rows)
        X[slots[:n_clean]], X[slots[n_clean:]] = clean, dirty
        labels[slots[:n_clean]] = classify(clean, self.target)
        labels[slots[n_clean:]] = dirty_labels
        is_clean = np.ones(n_rows, dtype=np.bool_)
        is_clean[slots[n_clean:]] = False
        positions = np.sort(self._rng.choice(n_drawn, size=n_rows, replace=False))
        return _Block(X=X, labels=labels, is_clean=is_clean, positions=positions, n_drawn=n_drawn)

    def _corrupt(self, n_rows: int, view: View, band: Band) -> Corrupted:
        """The adversary's rows in the band and their labels, or an error that names it."""
        if n_rows == 0 or self.adversary is None:
            return np.zeros((0, self.n_features)), np.zeros(0)
        name, shape = type(self.adversary).__name__, (n_rows, self.n_features)
        answer: Any = self.adversary.corrupt(n_rows, view, self._adversary_rng)
        try:
            X, y = answer
            rows, labels = check_rows(X, "X"), check_labels(y, "y", length=n_rows)
        except (TypeError, ValueError) as error:
            raise AdversaryError(name, str(error)) from error
        if rows.shape != shape:
            raise AdversaryError(name, f"X must have shape {shape}, got {rows.shape}")
        dense: FloatArray = rows if isinstance(rows, np.ndarray) else rows.toarray()
        inside = band.admits(dense)
        return dense[inside], labels[inside]

    def _commit(self, blocks: list[_Block], n_drawn: int) -> Draw:
        """The blocks' rows with new ids, counting up, to which their labels belong from now on."""
        self.n_draws += n_drawn
        n_known = self._labels.size
        self._labels = np.concatenate([self._labels, *(block.labels for block in blocks)])
        self._is_clean = np.concatenate([self._is_clean, *(block.is_clean for block in blocks)])
        ids = np.arange(n_known, self._labels.size, dtype=np.int64)
        self._is_revealed = np.append(self._is_revealed, np.zeros(ids.size, dtype=np.bool_))
        X = blocks[0].X if len(blocks) == 1 else np.concatenate([block.X for block in blocks])
        return Draw(ids=ids, X=X, n_drawn=n_drawn)

    def reveal(self, ids: object) -> FloatArray:
        """The labels that were fixed when these rows were drawn; the adversary is not asked.

        Raises
        ------
        UnknownId : no draw has returned this id
        """
        known = self._known(ids)
        self._is_revealed[known] = True
        return self._labels[known]

    @property
    def n_labels(self) -> int:
        """The number of distinct ids whose label was revealed."""
        return int(np.count_nonzero(self._is_revealed))

    def is_clean(self, ids: object) -> NDArray[np.bool_]:
        """Whether each row is clean: known to the laboratory, never to a learner."""
        return self._is_clean[self._known(ids)]

    def fixed_labels(self, ids: object) -> FloatArray:
        """The labels of these rows without revealing them: for the laboratory, as `is_clean`."""
        return self._labels[self._known(ids)]

    def _known(self, ids: object) -> IdArray:
        checked = check_ids(ids)
        unknown = np.flatnonzero((checked < 0) | (checked >= self._labels.size))
        if unknown.size:
            raise UnknownId(int(checked[unknown[0]]), n_known=self._labels.size)
        return checked

    def error_rate(self, w: object) -> float:
        """How often `w` classifies a clean row wrongly; exact for the Gaussian."""
        return self.estimate_error(w).value

    def estimate_error(self, w: object) -> ErrorEstimate:
        """The error rate with its standard error, which is zero when the rate is exact."""
        own: Any = getattr(self.distribution, "estimate_error", None)
        if own is not None:
            estimate: ErrorEstimate = own(w, self.target)
            return estimate
        w, target = check_halfspaces(w, self.target, self.n_features)
        return estimate_disagreement(self.distribution, w, target, n_rows=200_000, random_state=0)

    def _view(self, request: DrawRequest) -> View:
        return View(
            target=self.target,
            distribution=self.distribution,
            noise_rate=self.noise_rate,
            n_features=self.n_features,
            halfspace=_read_only(request.band.normal),
            band_width=float(request.band.width),
            max_abs_entry=float(request.max_abs_entry),
            phase=request.phase,
            phase_record=request.phase_record,
            past=tuple(self._past_draw(*past) for past in self._past),
        )

    def _past_draw(self, phase: int, ids: IdArray, X: FloatArray) -> PastDraw:
        """What the adversary sees of an earlier draw; copies, but for the rows."""
        rows = X.view()
        rows.flags.writeable = False
        return PastDraw(phase, rows, self._labels[ids], self._is_clean[ids], self._is_revealed[ids])


def _unit_target(target: object, n_features: int) -> FloatArray:
    vector = check_vector(target, "target", length=n_features)
    norm = float(np.linalg.norm(vector))
    if norm == 0:
        raise ValueError("target must not be the zero vector")
    # A target that is normalized already keeps its bits.
    return _read_only(vector if abs(norm - 1) < 1e-12 else vector / norm)


def _read_only(vector: FloatArray) -> FloatArray:
    """A copy that an adversary cannot write into."""
    copy = vector.copy()
    copy.flags.writeable = False
    return copy
