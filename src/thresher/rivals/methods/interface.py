"""What a method of the literature is to the arena: something that learns from the same oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from thresher.geometry import Band
from thresher.learning import Task
from thresher.oracles import Draw, DrawRequest, IdArray
from thresher.validation import FloatArray, Rows


class Source(Protocol):
    """Where rows come from, and labels for rows that were drawn; both are counted."""

    def draw(self, request: DrawRequest, /) -> Draw:
        """Rows of the band that the request asks for, with their ids."""

    def reveal(self, ids: IdArray, /) -> FloatArray:
        """The labels of these draws, -1 or +1; each new one is paid."""


Learn: TypeAlias = Callable[[Source, Task, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Method:
    """A method, and what it needs.

    Parameters
    ----------
    name : under which the arena knows it, in lower case with hyphens
    title : as a table or a figure has it, with the year
    learn : from a source, within the label budget of the task, a halfspace of unit length
    is_active : whether it asks for labels of rows near its boundary; else of any rows
    is_sparse : whether it makes use of the sparsity that it is told
    claim : what its authors promise, in a few words
    imports : modules that it needs and that take long to import, which is no part of its time

    Examples
    --------
    >>> method = Method("first-feature", "First feature", lambda *_: np.eye(1, 3)[0],
    ...                 is_active=False, is_sparse=True, claim="nothing")
    >>> method.learn(None, None, None)
    array([1., 0., 0.])
    """

    name: str
    title: str
    learn: Learn
    is_active: bool
    is_sparse: bool
    claim: str
    imports: tuple[str, ...] = ()


def draw_labeled(source: Source, task: Task, n_rows: int) -> tuple[Rows, FloatArray]:
    """Rows as they come, with their labels: what a passive method learns from.

    Examples
    --------
    >>> from thresher.simulate import Gaussian, MaliciousOracle, random_target
    >>> source = MaliciousOracle(distribution=Gaussian(5), target=random_target(5, 2, 0),
    ...                          noise_rate=0.0, adversary=None, random_state=0)
    >>> X, y = draw_labeled(source, Task(n_features=5, sparsity=2, noise_rate=0.0), n_rows=8)
    >>> X.shape, set(y) <= {-1.0, 1.0}, source.n_labels
    ((8, 5), True, 8)
    """
    anywhere = Band(np.zeros(task.n_features), np.inf)
    drawn = source.draw(DrawRequest(n_rows=n_rows, band=anywhere))
    return drawn.X, source.reveal(drawn.ids)


def unit(vector: FloatArray) -> FloatArray:
    """The vector at length 1; the first feature if there is nothing to scale.

    Examples
    --------
    >>> unit(np.array([3.0, 4.0])), unit(np.zeros(2))
    (array([0.6, 0.8]), array([1., 0.]))
    """
    length = float(np.linalg.norm(vector))
    return vector / length if 0 < length < np.inf else np.eye(1, vector.size)[0]
