"""Small learning problems, and drivers of the engine, for the tests of `thresher.learning`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.learning import ActiveLearner, PracticalSchedule
from thresher.oracles import Draw, DrawRequest
from thresher.simulate import Gaussian, MaliciousOracle, random_target

SMALL = PracticalSchedule(min_unlabeled=200, max_unlabeled=200)


class Table:
    """Gaussian rows with the labels of a sparse target, by row number."""

    def __init__(
        self, n_rows: int = 1000, n_features: int = 20, sparsity: int = 3, seed: int = 0
    ) -> None:
        self.target = random_target(n_features, sparsity, seed)
        self.X = np.random.default_rng([seed, 7]).standard_normal((n_rows, n_features))
        self.y = np.where(self.X @ self.target >= 0, 1.0, -1.0)
        self.asked: list[int] = []

    @property
    def csr(self) -> sp.csr_array:
        """The same rows, sparse."""
        return sp.csr_array(self.X)

    def reveal(self, ids: Any) -> np.ndarray:
        """The labels of some rows, which are written down as asked for."""
        self.asked.extend(np.asarray(ids).tolist())
        return self.y[ids]


class RecordingPool:
    """A source that remembers the requests it got and the draws it gave."""

    def __init__(self, source: Any) -> None:
        self.source, self.n_features = source, source.n_features
        self.requests: list[DrawRequest] = []
        self.draws: list[Draw] = []

    def draw(self, request: DrawRequest) -> Draw:
        """What the source draws."""
        self.requests.append(request)
        self.draws.append(self.source.draw(request))
        return self.draws[-1]


def oracle(
    n_features: int = 40,
    sparsity: int = 3,
    noise_rate: float = 0.0,
    adversary: Any = None,
    seed: int = 0,
) -> MaliciousOracle:
    """A Gaussian oracle with a random target."""
    return MaliciousOracle(
        distribution=Gaussian(n_features),
        target=random_target(n_features, sparsity, seed),
        noise_rate=noise_rate,
        adversary=adversary,
        random_state=seed,
    )


def active(pool: Any, **changes: Any) -> ActiveLearner:
    """A learner of small size."""
    options = {"sparsity": 3, "noise_rate": 0.02, "label_budget": 90, "schedule": SMALL}
    return ActiveLearner(pool, **{**options, "random_state": 5, **changes})


def finish(learner: ActiveLearner, reveal: Callable[[Any], Any]) -> ActiveLearner:
    """The learner, after every question was answered."""
    while (question := learner.ask()) is not None:
        learner.tell(reveal(question.ids))
    return learner


def drive(engine: Any, source: Any, reveal: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """Every request that the bare engine yields, and the history that it returns."""
    requests: list[Any] = []
    answer = None
    while True:
        try:
            request = engine.send(answer)
        except StopIteration as end:
            return requests, end.value
        requests.append(request)
        is_draw = isinstance(request, DrawRequest)
        answer = source.draw(request) if is_draw else reveal(request.ids)
