"""A random order of the rows of a pool that is computed, not stored."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.oracles.requests import IdArray

Words = NDArray[np.uint64]

N_STEPS = 8  # of the network: each half is changed four times
ODD = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class RowOrder:
    """A random permutation of 0 … n − 1, in which any row's place can be computed alone.

    A Feistel network permutes the numbers of as many bits as n − 1 has; a number that it sends
    beyond n − 1 is sent on until it comes back. Nothing is stored, so the memory does not depend on
    n, and the order depends on the seed and the number of the draw alone: not on how the rows are
    split into files or partitions.

    Parameters
    ----------
    n_rows : n
    seed, draw : which of the orders

    Examples
    --------
    >>> order = RowOrder(10, seed=0, draw=0)
    >>> sorted(order.ids(np.arange(10)).tolist()) == list(range(10))
    True
    >>> order.places(order.ids(np.arange(3)))
    array([0, 1, 2])
    """

    n_rows: int
    seed: int
    draw: int

    def ids(self, places: IdArray) -> IdArray:
        """The rows at these places of the order."""
        return self._walk(places, range(N_STEPS))

    def places(self, ids: IdArray) -> IdArray:
        """Where these rows stand in the order."""
        return self._walk(ids, range(N_STEPS - 1, -1, -1))

    def _walk(self, numbers: IdArray, steps: range) -> IdArray:
        found = self._permuted(numbers.astype(np.uint64), steps)
        while (beyond := np.flatnonzero(found >= np.uint64(self.n_rows))).size:
            found[beyond] = self._permuted(found[beyond], steps)
        return found.astype(np.int64)

    def _permuted(self, numbers: Words, steps: range) -> Words:
        n_bits = max(2, (self.n_rows - 1).bit_length())
        n_low = np.uint64(n_bits // 2)
        low_mask = (np.uint64(1) << n_low) - np.uint64(1)
        high_mask = (np.uint64(1) << np.uint64(n_bits - n_bits // 2)) - np.uint64(1)
        low, high = numbers & low_mask, numbers >> n_low
        for step in steps:
            if step % 2:
                high ^= _mixed(low, self._keys[step]) & high_mask
            else:
                low ^= _mixed(high, self._keys[step]) & low_mask
        return (high << n_low) | low

    @cached_property
    def _keys(self) -> Words:
        sequence = np.random.SeedSequence([self.seed, self.draw])
        return sequence.generate_state(N_STEPS, np.uint64).astype(np.uint64)


def _mixed(words: Words, key: np.uint64) -> Words:
    """Words in which every bit depends on every bit of the word and of the key."""
    mixed = (words + np.uint64(1)) * ODD ^ key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    return mixed ^ (mixed >> np.uint64(31))
