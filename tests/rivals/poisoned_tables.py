"""Small poisoned tables and their measures, for the tests of the rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.geometry import Band
from thresher.oracles import DrawRequest
from thresher.simulate import Gaussian, MaliciousOracle, random_target

SPARSITY = 5


@dataclass(frozen=True)
class PoisonedTable:
    """Labeled rows of which an adversary made some; the oracle knows which."""

    X: np.ndarray
    y: np.ndarray
    is_clean: np.ndarray
    oracle: MaliciousOracle

    def error_of(self, rival: Any) -> float:
        """How often the rival's direction is wrong on clean rows, after it was fitted here."""
        weights = rival.fit(self.X, self.y).coef_[0]
        return self.oracle.error_rate(weights) if weights.any() else 0.5


def poisoned_table(
    adversary: Any = None,
    *,
    noise_rate: float = 0.05,
    n_rows: int = 1500,
    n_features: int = 60,
    seed: int = 0,
) -> PoisonedTable:
    """Gaussian rows with the labels of a sparse target, and the adversary's among them."""
    oracle = MaliciousOracle(
        distribution=Gaussian(n_features),
        target=random_target(n_features, SPARSITY, seed),
        noise_rate=noise_rate if adversary else 0.0,
        adversary=adversary,
        random_state=seed,
    )
    everything = Band(normal=np.zeros(n_features), width=np.inf)
    draw = oracle.draw(DrawRequest(n_rows=n_rows, band=everything))
    return PoisonedTable(draw.X, oracle.reveal(draw.ids), oracle.is_clean(draw.ids), oracle)
