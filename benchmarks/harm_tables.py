"""The tables of the harm study: how each is split, and what is planted in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from thresher.experiments.spec import NO_ADVERSARY
from thresher.experiments.table_run import load_table, target_of
from thresher.simulate.poisoning import PoisonedSplit, poisoned_split

FRACTION = 0.1
# By attack a stealthy and a strong strength, chosen on the splits of seeds from 1000 on.
STRENGTHS: dict[str, tuple[float, ...]] = {
    "far-clump": (2.0, 8.0),
    "on-support-tilt": (2.0, 8.0),
    "linf-hijack": (0.03, 0.1),
    "label-flip": (0.0, 1.0),
    "model-targeted": (0.2, 0.4),
    "min-max": (0.2, 0.4),
    "boundary-flip": (0.0, 1.0),
    "duplicated-spam": (10.0, 100.0),
    "minority-erasure": (0.5, 1.0),
    "trust-keeping": (1.0, 2.0),
}

ENRON, ENRON_ATTACKS = "enron_sever", "enron_sever_attacks"
ENRON_STRENGTHS: dict[str, tuple[float, ...]] = {"L2": (1.0, 3.0), "L2_grad": (1.0, 3.0)}  # percent
ENRON_SETS = (1, 13, 19, 25, 37)  # numbers of the sets that the file has of each


@dataclass(frozen=True)
class StudyTable:
    """How a table takes part in the study.

    Parameters
    ----------
    name : of its file in the data folder
    seeds : of its splits; for Enron, the numbers of its attack sets
    max_rows : a sample of so many rows, drawn once; None: all
    has_rivals : whether every rival meets it
    """

    name: str
    seeds: tuple[int, ...] = tuple(range(5))
    max_rows: int | None = None
    has_rivals: bool = False

    @property
    def strengths(self) -> dict[str, tuple[float, ...]]:
        """The strengths of each attack."""
        return ENRON_STRENGTHS if self.name == ENRON else STRENGTHS


TABLES = {
    table.name: table
    for table in (
        StudyTable("spambase", has_rivals=True),
        StudyTable("cina"),
        StudyTable("mnist_1v7", max_rows=4000),
        StudyTable("reuters_earn_v_acq"),
        StudyTable("rcv1_small", has_rivals=True),
        StudyTable("movie_reviews", has_rivals=True),
        StudyTable("microarray_singh", seeds=tuple(range(20))),
        StudyTable("mdrr", seeds=tuple(range(20))),
        StudyTable(ENRON, seeds=ENRON_SETS),
    )
}


def table_named(name: str) -> StudyTable:
    """The table as the study has it; any other table takes part in the same way."""
    return TABLES.get(name, StudyTable(name))


@lru_cache(maxsize=1)  # the methods of one split follow each other
def split_of(
    data_dir: str, name: str, seed: int, attack: str, strength: float | None
) -> PoisonedSplit:
    """Training rows with what the attack has planted among them, and clean rows to test on."""
    if name == ENRON:
        return _enron_split(Path(data_dir), seed, attack, strength)
    loaded, max_rows = load_table(data_dir, name), table_named(name).max_rows
    X, y = loaded.X, np.asarray(loaded.y)
    if max_rows is not None:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:max_rows])
        X, y = X[rows], y[rows]
    return planted(X, y, seed, attack, strength)


def planted(X: Any, y: Any, seed: int, attack: str, strength: float | None) -> PoisonedSplit:
    """A split of these rows, one in ten of the training rows planted if there is an attack."""
    return poisoned_split(
        X,
        y,
        attack=None if attack == NO_ADVERSARY else attack,
        fraction=FRACTION,
        strength=strength,
        seed=seed,
        target=target_of(attack, FRACTION, seed),
    )


def _enron_split(folder: Path, number: int, attack: str, percent: float | None) -> PoisonedSplit:
    """The split of the Sever experiments, with one of their attack sets below the training rows."""
    with np.load(folder / f"{ENRON}.npz", allow_pickle=False) as file:
        rows, y = _sparse_rows(file, ""), file["y"].astype(int)
        is_train = file["is_train"].astype(bool)
    X_train, y_train, n_planted = rows[is_train], y[is_train], 0
    if attack != NO_ADVERSARY:
        with np.load(folder / f"{ENRON_ATTACKS}.npz", allow_pickle=False) as file:
            prefix = f"p{percent:g}pct_{attack}_{number}."
            planted = _sparse_rows(file, prefix)
            y_train = np.append(y_train, file[f"{prefix}y"].astype(int))
        X_train, n_planted = sp.csr_array(sp.vstack([X_train, planted])), planted.shape[0]
    is_planted = np.arange(len(y_train)) >= len(y_train) - n_planted
    return PoisonedSplit(X_train, y_train, is_planted, rows[~is_train], y[~is_train])


def _sparse_rows(file: Any, prefix: str) -> Any:
    parts = tuple(file[f"{prefix}X_{name}"] for name in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=tuple(file[f"{prefix}X_shape"])).astype(np.float64)
