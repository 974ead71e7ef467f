"""The malicious oracle: clean rows, dirty rows, and labels that were fixed when a row was drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.oracles import Draw, DrawRequest
from thresher.simulate.conditional import Distribution, next_candidates
from thresher.simulate.disagreement import (
    ErrorEstimate,
    check_halfspaces,
    estimate_disagreement,
)
from thresher.simulate.ledger import Ledger
from thresher.simulate.mixture import Block, Mixture
from thresher.simulate.views import Adversary, View
from thresher.validation import (
    FloatArray,
    check_count,
    check_fraction,
    check_vector,
    generator_from,
)


class MaliciousOracle:
    """A source of rows of which an adversary owns a share: EX of the paper, with counted calls.

    Each draw is clean with probability 1 − noise_rate (a row of the distribution with its true
    label) and otherwise comes from the adversary, who sees a `View` of everything. Rows outside the
    requested band are rejected and counted. A row's label is fixed when the row is drawn.

    Parameters
    ----------
    distribution : where clean rows come from
    target : the hidden halfspace; only its direction matters
    noise_rate : probability that a draw is dirty, at least 0 and below 1
    adversary : has `corrupt(n_rows, view, rng)`; None is allowed when the noise rate is 0
    random_state : seed or `np.random.Generator`. The adversary has a stream of its own, which
        does not foretell the clean rows
    max_draws_per_request : after so many draws a request comes back with fewer rows

    Attributes
    ----------
    n_draws : instances drawn so far, rejected ones too
    n_labels : distinct ids whose label was revealed

    Raises
    ------
    AdversaryError : the adversary returned something other than finite rows and labels ±1

    Examples
    --------
    >>> from thresher.geometry import Band
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
        random_state: int | np.random.Generator | None = None,
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
        self.adversary = _check_adversary(adversary, self.noise_rate)
        self.n_draws = 0
        self._max_draws = check_count(max_draws_per_request, "max_draws_per_request")
        self._ledger = Ledger()
        rng = generator_from(random_state)
        self._mixture = Mixture(distribution, self.target, self.noise_rate, self.adversary, rng)

    def draw(self, request: DrawRequest) -> Draw:
        """Rows in the request's band, clean and dirty in random order.

        Draws are made in blocks but counted as if made one by one: the count stops with the last
        row that is wanted. Fewer rows come back when the band is so narrow that the allowed draws
        (the request's, or `max_draws_per_request`) do not suffice.
        """
        request.require_features(self.n_features)
        view = self._view(request)
        limit = min(request.max_draws or self._max_draws, self._max_draws)
        blocks: list[Block] = []
        n_kept, n_drawn = 0, 0
        while n_kept < request.n_rows and n_drawn < limit:
            n_missing = request.n_rows - n_kept
            n_block = min(
                next_candidates(n_missing, n_kept, n_drawn),
                self._mixture.max_block,
                limit - n_drawn,
            )
            block = self._mixture.draw_block(n_block, view, request.band).first(n_missing)
            blocks.append(block)
            n_kept += block.n_rows
            n_drawn += block.n_drawn
        return self._commit(blocks, n_drawn)

    def _commit(self, blocks: list[Block], n_drawn: int) -> Draw:
        self.n_draws += n_drawn
        ids = self._ledger.commit(
            np.concatenate([block.labels for block in blocks]),
            np.concatenate([block.is_clean for block in blocks]),
        )
        X = blocks[0].X if len(blocks) == 1 else np.concatenate([block.X for block in blocks])
        return Draw(ids=ids, X=X, n_drawn=n_drawn)

    def reveal(self, ids: object) -> FloatArray:
        """The labels that were fixed when these rows were drawn; the adversary is not asked.

        Raises
        ------
        UnknownId : an id that no draw has handed out
        """
        return self._ledger.reveal(ids)

    @property
    def n_labels(self) -> int:
        """How many distinct ids have had their label revealed."""
        return self._ledger.n_labels

    def is_clean(self, ids: object) -> NDArray[np.bool_]:
        """Whether each row is clean: known to the laboratory, never to a learner."""
        return self._ledger.is_clean(ids)

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
        )


def _unit_target(target: object, n_features: int) -> FloatArray:
    vector = check_vector(target, "target", length=n_features)
    norm = float(np.linalg.norm(vector))
    if norm == 0:
        raise ValueError("target must not be the zero vector")
    # A target that is normalised already keeps its bits.
    return _read_only(vector if abs(norm - 1) < 1e-12 else vector / norm)


def _read_only(vector: FloatArray) -> FloatArray:
    """A copy that an adversary cannot write into."""
    copy = vector.copy()
    copy.flags.writeable = False
    return copy


def _check_adversary(adversary: object, noise_rate: float) -> Adversary | None:
    if adversary is None and noise_rate == 0:
        return None
    if isinstance(adversary, type) or not isinstance(adversary, Adversary):
        raise TypeError(
            f"adversary must be an object with corrupt(n_rows, view, rng), got {adversary!r}"
        )
    return adversary
