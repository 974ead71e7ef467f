"""Which rows to ask about next."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.labeling.capture import N_FIRST, fit_to_pool
from thresher.labeling.fitting import Fitting
from thresher.labeling.judging import LabeledSample
from thresher.labeling.near_copies import NearCopies
from thresher.labeling.repeats import repeats_last
from thresher.labeling.scaled_pool import ScaledPool
from thresher.labeling.transcript import Batch, Transcript
from thresher.labeling.trust import LEAST_TRUST, trust_in_labeled
from thresher.validation import FloatArray

FEW_OF_A_CLASS = 5  # labels: with fewer, half of the questions look for more of that class
SHARE_FOR_OVERLOOKED = 0.3  # of a batch that is then random; more helps less than margins do
FEWEST_OF_A_CLASS = 2  # labels: with fewer, distrusted rows are asked about as well
SHARE_WITHOUT_COPIES = 0.25  # of the other rows: then undecided copies are asked about as well


@dataclass(frozen=True, eq=False)
class Questioner:
    """Chooses rows of a pool: at random first, then those that the current model is least sure of.

    Departure: Algorithm 1 draws rows at random within a band, with replacement, and applies
    Algorithm 2 in every band anew.

    Parameters
    ----------
    pool : the scaled rows
    trust : (n,) of each row; those with at most a half are not asked about
    copies : near copies of other rows; changed ones are asked about last, undecided ones late
    batch_size : rows chosen together
    audit_fraction : least share of the questions that are random
    fitting : how the current model is fitted
    """

    pool: ScaledPool
    trust: FloatArray
    copies: NearCopies
    batch_size: int
    audit_fraction: float
    fitting: Fitting

    @property
    def is_trusted(self) -> NDArray[np.bool_]:
        """(n,) which rows have enough trust to be asked about."""
        return self.trust > LEAST_TRUST

    def next_batch(self, transcript: Transcript) -> Batch:
        """The next rows in order of importance, none if no row is left."""
        rng = np.random.default_rng([transcript.seed, len(transcript.batches)])
        trusted, distrusted = self._free_rows(transcript)
        n_smaller = _size_of_smaller_class(transcript)
        is_lost = n_smaller < FEWEST_OF_A_CLASS and transcript.n_labels >= N_FIRST
        if n_smaller == 0 or (transcript.n_asked < N_FIRST and not transcript.initial):
            return self._random(transcript, trusted, distrusted if is_lost else trusted[:0], rng)
        return self._informative(transcript, trusted, distrusted if is_lost else trusted[:0], rng)

    def _free_rows(self, transcript: Transcript) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows that were not asked about: trusted ones and others."""
        is_free = np.ones(self.trust.size, dtype=np.bool_)
        is_free[[*transcript.asked(), *transcript.answers.by_row]] = False
        is_usual = self.is_trusted & ~self.copies.changed & ~self.copies.undecided
        n_known, n_usual = (~is_free).sum(), is_usual.sum()
        if n_known >= SHARE_WITHOUT_COPIES * n_usual or not (is_free & is_usual).any():
            is_usual = self.is_trusted & ~self.copies.changed
        if not (is_free & is_usual).any():
            is_usual = self.is_trusted
        return np.flatnonzero(is_free & is_usual), np.flatnonzero(is_free & ~is_usual)

    def _random(
        self,
        transcript: Transcript,
        trusted: NDArray[np.intp],
        distrusted: NDArray[np.intp],
        rng: Generator,
    ) -> Batch:
        """Random trusted rows; if there are others, one of each in turn.

        A genuine class that is small can be among those that stand out.
        """
        n_left = N_FIRST - transcript.n_asked
        n_rows = min(self.batch_size, n_left) if n_left > 0 else self.batch_size
        drawn = _in_turn(rng.permutation(trusted), rng.permutation(distrusted))[:n_rows]
        return Batch(tuple(drawn.tolist()), tuple(np.isin(drawn, trusted).tolist()))

    def _informative(
        self,
        transcript: Transcript,
        trusted: NDArray[np.intp],
        distrusted: NDArray[np.intp],
        rng: Generator,
    ) -> Batch:
        """The rows with the least sure scores, and random trusted ones."""
        candidates = np.sort(np.append(trusted, distrusted))
        n_rows = min(self.batch_size, candidates.size)
        n_random = min(self._n_audits(transcript, n_rows), n_rows)
        labeled = transcript.answers.labeled
        signs = transcript.answers.signs(labeled)
        weights = trust_in_labeled(self.trust, labeled, signs)
        random = np.searchsorted(labeled, transcript.labeled_at_random()).tolist()
        sample = LabeledSample(self.pool.rows[labeled], signs, weights, random)
        fit, overlooks_a_class = fit_to_pool(sample, self.fitting, self.pool, self.is_trusted)
        scores = fit.scores(self.pool.rows)
        if overlooks_a_class:
            n_random = max(n_random, math.ceil(SHARE_FOR_OVERLOOKED * n_rows))
        scores = (scores / self.pool.lengths)[candidates]
        order = np.argsort(np.abs(scores), kind="stable")
        if (rare := _rare_class(signs)) is not None:
            order = _in_turn(np.argsort(-rare * scores, kind="stable"), order)
        chosen = repeats_last(
            self.pool, candidates[order], n_rows - n_random, self.copies.undecided
        )
        drawn = rng.permutation(np.setdiff1d(trusted, chosen))[:n_random]
        is_random = (False,) * chosen.size + (True,) * drawn.size
        return Batch((*chosen.tolist(), *drawn.tolist()), is_random)

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


def _size_of_smaller_class(transcript: Transcript) -> int:
    answers = transcript.answers
    labels = [answers.by_row[row] for row in answers.labeled]
    return min(map(labels.count, answers.classes)) if len(answers.classes) == 2 else 0


def _in_turn(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """One of each as long as there are both, then the rest; each row where it comes first."""
    n_both = min(first.size, second.size)
    pairs = np.stack([first[:n_both], second[:n_both]], axis=1).ravel()
    both = np.concatenate([pairs, first[n_both:], second[n_both:]])
    _, places = np.unique(both, return_index=True)
    return both[np.sort(places)]
