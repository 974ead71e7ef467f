"""Which rows to ask about next."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.labeling.fitting import ridge
from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.transcript import Batch, Transcript
from thresher.labeling.trust import LEAST_TRUST, trust_in_labeled
from thresher.validation import FloatArray

N_FIRST = 20  # questions that are random in any case
FEW_OF_A_CLASS = 5  # labels: with fewer, half of the questions look for more of that class
LONG_SEARCH = 60  # labels of one class after which distrusted rows are asked about as well


@dataclass(frozen=True, eq=False)
class Questioner:
    """Chooses rows of a pool: at random first, then those that the current model is least sure of.

    Departure: Algorithm 1 draws rows at random within a band, with replacement, and applies
    Algorithm 2 in every band anew.

    Parameters
    ----------
    pool : the scaled rows
    trust : (n,) of each row; those with at most a half are not asked about
    batch_size : rows chosen together
    audit_fraction : least share of the questions that are random
    """

    pool: ScaledPool
    trust: FloatArray
    batch_size: int
    audit_fraction: float

    def next_batch(self, transcript: Transcript) -> Batch:
        """The next rows in order of importance, none if no row is left."""
        rng = np.random.default_rng([transcript.seed, len(transcript.batches)])
        candidates = self._candidates(transcript)
        n_rows = min(self.batch_size, candidates.size)
        if self._is_random(transcript):
            n_left = N_FIRST - transcript.n_asked
            drawn = rng.permutation(candidates)[: min(n_rows, n_left) if n_left > 0 else n_rows]
            return Batch(tuple(drawn.tolist()), (True,) * drawn.size)
        return self._informative(transcript, candidates, n_rows, rng)

    def _candidates(self, transcript: Transcript) -> NDArray[np.intp]:
        """Rows that were not asked about: trusted ones, unless those seem to be of one class."""
        is_free = np.ones(self.trust.size, dtype=np.bool_)
        is_free[[*transcript.asked(), *transcript.answers.by_row]] = False
        is_trusted = is_free & (self.trust > LEAST_TRUST)
        is_long = transcript.n_labels >= LONG_SEARCH and len(transcript.answers.classes) < 2
        return np.flatnonzero(is_free if is_long or not is_trusted.any() else is_trusted)

    def _is_random(self, transcript: Transcript) -> bool:
        if len(transcript.answers.classes) < 2:
            return True
        return transcript.n_asked < N_FIRST and not transcript.initial

    def _informative(
        self, transcript: Transcript, candidates: NDArray[np.intp], n_rows: int, rng: Generator
    ) -> Batch:
        n_random = min(self._n_audits(transcript, n_rows), n_rows)
        labeled = transcript.answers.labeled
        signs = transcript.answers.signs(labeled)
        weights = trust_in_labeled(self.trust, labeled, signs)
        fit = ridge(self.pool.rows[labeled], signs, weights)
        scores = fit.scores(self.pool.rows)[candidates]
        order = np.argsort(np.abs(scores), kind="stable")
        if (rare := _rare_class(signs)) is not None:
            order = _interleaved(np.argsort(-rare * scores, kind="stable"), order)
        chosen = candidates[order[: n_rows - n_random]]
        others = rng.permutation(np.setdiff1d(candidates, chosen))[:n_random]
        is_random = (False,) * chosen.size + (True,) * others.size
        return Batch((*chosen.tolist(), *others.tolist()), is_random)

    def _n_audits(self, transcript: Transcript, n_rows: int) -> int:
        """How many of the next rows must be random for their share of all questions."""
        n_before = sum(sum(batch.is_random) for batch in transcript.batches)
        due = math.floor(self.audit_fraction * (transcript.n_asked + n_rows) + 1e-9)
        return max(due - n_before, 0)


def _rare_class(signs: FloatArray) -> float | None:
    """The sign of a class with few labels, if there is one."""
    counts = {sign: int((signs == sign).sum()) for sign in (-1.0, 1.0)}
    rare = min(counts, key=lambda sign: counts[sign])
    return rare if counts[rare] < FEW_OF_A_CLASS else None


def _interleaved(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """One of each in turn, without repetitions."""
    both = np.stack([first, second], axis=1).ravel()
    _, places = np.unique(both, return_index=True)
    return both[np.sort(places)]
