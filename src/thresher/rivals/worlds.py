"""Worlds in which the claims of methods are tested: each where its idea applies.

A method meant for label noise, or for a dense target and many rows, is not refuted by planted rows
in 500 features. Its entry names the world that it is made for, and
tests/rivals/methods/test_worlds.py checks on seeds 0 to 2 that it does well there. The bounds come
from other seeds: 1.5 times the second largest error on seeds 100 to 109, rounded up to 0.001. The
worlds are small. No method wins against Thresher in its own world: only `zeng-shen` ties with it.
What `beats` names is another rival.
"""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, kw_only=True)
class World:
    """A simulated world, and what a method must reach in it.

    Parameters
    ----------
    n_features, sparsity, label_budget : sizes; equal features and sparsity mean a dense target
    noise_rate : probability that a draw is planted
    adversary, strength : by name, as in a sweep; None: no planted rows, and the usual strength
    distribution : of clean rows, by name
    margin : least distance of clean rows from the target's boundary
    max_error : the method's median error is at most this
    beats : the name of another rival whose error is larger there

    Examples
    --------
    >>> CLEAN.at_most(0.05, beats="averaging").max_error
    0.05
    """

    n_features: int
    sparsity: int
    label_budget: int
    noise_rate: float = 0.0
    adversary: str | None = None
    strength: float | None = None
    distribution: str = "gaussian"
    margin: float = 0.0
    max_error: float = 0.5
    beats: str | None = None

    def at_most(self, max_error: float, *, beats: str | None = None) -> Self:
        """The same world, with what a method must reach in it."""
        return replace(self, max_error=max_error, beats=beats)


CLEAN = World(n_features=60, sparsity=3, label_budget=500)
FLIPS = replace(CLEAN, noise_rate=0.1, adversary="label-flip")
HIJACK = replace(CLEAN, noise_rate=0.05, adversary="linf-hijack")
FEW_PLANTED = replace(HIJACK, noise_rate=0.005)
CLUMP = replace(CLEAN, noise_rate=0.02, adversary="far-clump", strength=20.0)
MARGIN = replace(HIJACK, noise_rate=0.1, margin=0.5)
# Every feature matters, and there are 250 rows for each.
DENSE = World(n_features=12, sparsity=12, label_budget=3000)
DENSE_FLIPS = replace(DENSE, noise_rate=0.1, adversary="label-flip")
DENSE_TILT = replace(DENSE, noise_rate=0.05, adversary="on-support-tilt", strength=8.0)
DENSE_LAPLACE = replace(
    DENSE, noise_rate=0.05, adversary="far-clump", strength=8.0, distribution="laplace"
)
