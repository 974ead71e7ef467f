"""A table with planted rows, for testing any classifier."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from thresher.simulate.poisoning.attacks import ATTACKS, LABEL_FLIP, TRUST_KEEPING, Plant
from thresher.simulate.poisoning.clean_table import CleanTable, Planted
from thresher.simulate.poisoning.trust_keeping import filter_of_classifier, trust_keeping
from thresher.validation import (
    FloatArray,
    Rows,
    check_fraction,
    check_rows,
    check_vector,
    generator_from,
    is_sparse,
    refuse_masked,
    require_in_memory,
)

LARGEST = 1e140  # its square, times the number of rows, is still a number
TEST_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class PoisonedTable:
    """A table in random order in which an attacker owns some rows.

    Parameters
    ----------
    X : the rows, of the same kind as the clean table (array, sparse matrix, data frame)
    y : the labels, of the same type as the clean ones
    is_planted : which rows are the attacker's; for evaluation, not for a learner
    origins : position of each row in the clean table, or -1 for a planted row

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 3))
    >>> table = poison(X, X[:, 0] > 0, attack="far-clump", fraction=0.1, random_state=0)
    >>> np.array_equal(table.X[~table.is_planted], X[table.origins[~table.is_planted]])
    True
    """

    X: Any
    y: Any
    is_planted: NDArray[np.bool_]
    origins: NDArray[np.intp]


def poison(
    X: Any,
    y: Any,
    *,
    attack: str,
    fraction: float,
    strength: float | None = None,
    random_state: int | Generator | None = None,
    target: Any = None,
) -> PoisonedTable:
    """The table with planted rows among its own, made from the data alone.

    Every planted entry lies in the observed range of its column, and is an integer where the whole
    column is. `POISON_STRENGTHS` lists the attacks with strengths worth trying.

    Parameters
    ----------
    X : (n, d) array, SciPy sparse matrix, or data frame of pandas or Polars
    y : n labels of any two classes
    attack : what is planted, and what its `strength` means:

        - "far-clump": rows moved far out on their side, labeled as the other class; by how many
          standard deviations of a fitted model's score (default: 4)
        - "on-support-tilt": the same, half of it across the score (default: 4)
        - "linf-hijack": support and decoy columns moved toward an edge of their range; the share
          of the way, from 0 to 1 (default: 0.1)
        - "label-flip": no new rows, labels of clean rows are flipped; 0 flips anywhere, 1 where a
          fitted model is most certain (default: 0)
        - "model-targeted": points that pull refitted models toward a decoy, inside the clean
          rows' norms; the share of labels that the decoy gets wrong (default: 0.4)
        - "min-max": the same against gradient steps (default: 0.4)
        - "boundary-flip": copies of rows close to a fitted boundary, with the other label; 0 copies
          rows of both classes, 1 only those of the smaller class (default: 1)
        - "jittered-flip": the same, with a tenth of their entries from each other, so that hardly
          any planted row equals a clean one (default: 1)
        - "query-following": rows where a learner that buys labels close to its boundary will ask,
          with a wrong label; how many honest labels it buys for each of them (default: 1)
        - "duplicated-spam": identical copies of a few rows with a wrong label; copies of each
          (default: 10)
        - "minority-erasure": rows of the larger class, labeled as the smaller one, that make
          genuine rows of the smaller class look planted; the share of their entries that is set to
          the column's median (default: 0.5)
        - "trust-keeping": rows chosen for the trust that a filter gives them, see `target`; how far
          they may move, in standard deviations of a fitted model's score (default: 2)
    fraction : share of planted rows (flipped labels) in the result, at least 0 and below 1; if
        positive, it must give at least one row
    strength : see `attack` for its meaning and default
    random_state : seed or `np.random.Generator`
    target : an unfitted classifier with `row_weights_` once it is fitted, such as
        `HalfspaceClassifier`: the one whose trust the rows of "trust-keeping" keep. Default: a
        plain filter, which drops rows far from the median of their class or with a large loss

    Raises
    ------
    ValueError, TypeError
        If a parameter is invalid; the message names it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 5))
    >>> y = np.where(X[:, 0] > 0, "spam", "ham")
    >>> table = poison(X, y, attack="on-support-tilt", fraction=0.1, random_state=0)
    >>> table.X.shape, int(table.is_planted.sum()), sorted(set(table.y.tolist()))
    ((1000, 5), 100, ['ham', 'spam'])
    """
    if not isinstance(attack, str) or attack not in ATTACKS:
        raise ValueError(f"attack must be one of {', '.join(ATTACKS)}, got {attack!r}")
    level = ATTACKS[attack].check_strength(strength)
    plant = ATTACKS[attack].plant if target is None else _aimed_at(target, attack)
    share = check_fraction(fraction, "fraction")
    rng = generator_from(random_state)
    rows = _moderate(check_numbers(X))
    table = CleanTable(rows=rows, signs=_signs(y, rows.shape[0]))
    n_rows = n_owned(attack, share, table.n_rows)
    planted = Planted(rows=table.rows[:0], signs=np.zeros(0))
    if n_rows:
        planted = plant(table, n_rows, level, rng)
    n_all = table.n_rows + planted.signs.size
    order = rng.permutation(n_all)
    is_planted = np.arange(n_all) >= table.n_rows
    is_planted[planted.flipped] = True
    return PoisonedTable(
        X=stacked(X, planted.rows, order),
        y=picked(y, _label_positions(table, planted)[order]),
        is_planted=is_planted[order],
        origins=np.where(order < table.n_rows, order, -1),
    )


def _aimed_at(target: Any, attack: str) -> Plant:
    if attack != TRUST_KEEPING:
        raise ValueError(f"attack {attack!r} takes no target; only {TRUST_KEEPING!r} does")
    return partial(trust_keeping, trust_of=filter_of_classifier(target))


def _label_positions(table: CleanTable, planted: Planted) -> NDArray[np.intp]:
    """For each row, a clean row whose label it gets: labels of any type can be copied so."""
    signs = np.append(table.signs, planted.signs)
    signs[planted.flipped] *= -1
    positions = np.where(signs > 0, np.argmax(table.signs), np.argmin(table.signs))
    is_own = np.append(table.signs == signs[: table.n_rows], np.zeros(planted.signs.size))
    return np.where(is_own, np.arange(signs.size), positions)


@dataclass(frozen=True, eq=False)
class PoisonedSplit:
    """Training rows, some of them planted, and clean rows to test on.

    Parameters
    ----------
    X, y : the training rows
    is_planted : which of them are the attacker's
    X_test, y_test : clean rows
    """

    X: Any
    y: NDArray[Any]
    is_planted: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[Any]


def poisoned_split(
    X: Any,
    y: Any,
    *,
    attack: str | None,
    fraction: float,
    strength: float | None = None,
    seed: int,
    target: Any = None,
) -> PoisonedSplit:
    """A stratified split, 70% to train on and 30% to test on, with poison in the training rows.

    The planted rows are made from the training rows alone. Without an attack all rows are clean.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(900, 5))
    >>> split = poisoned_split(X, X[:, 0] > 0, attack="far-clump", fraction=0.1, seed=0)
    >>> split.X.shape, int(split.is_planted.sum()), split.X_test.shape
    ((700, 5), 70, (270, 5))
    """
    # Here and not above: scikit-learn takes longer to import than the rest of the laboratory.
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    if attack is None:
        return PoisonedSplit(X, y, np.zeros(len(y), dtype=bool), X_test, y_test)
    poisoned = poison(
        X, y, attack=attack, fraction=fraction, strength=strength, random_state=seed, target=target
    )
    return PoisonedSplit(poisoned.X, poisoned.y, poisoned.is_planted, X_test, y_test)


def n_owned(attack: str, fraction: float, n_rows: int) -> int:
    """The number of rows that make this fraction of the poisoned table.

    Examples
    --------
    >>> n_owned("far-clump", 0.1, 900), n_owned("label-flip", 0.1, 900), n_owned("min-max", 0, 900)
    (100, 90, 0)
    >>> n_owned("label-flip", 0.001, 100)
    Traceback (most recent call last):
    ValueError: fraction must be 0, or above 1/200 (0.005) to reach one of 100 rows, got 0.001
    """
    is_flip = attack == LABEL_FLIP
    n = round(n_rows * (fraction if is_flip else fraction / (1 - fraction)))
    if fraction and not n:  # half a row is rounded to none
        least = 2 * n_rows + (not is_flip)
        raise ValueError(
            f"fraction must be 0, or above 1/{least} ({1 / least:.3g}) to reach one of {n_rows} "
            f"rows, got {fraction:g}"
        )
    return n


def _moderate(rows: Rows) -> Rows:
    """The rows; refused if the variance of a column would overflow."""
    values = rows.data if is_sparse(rows) else rows
    if values.size and max(values.max(), -values.min()) > LARGEST:
        raise ValueError(f"X must hold numbers of at most {LARGEST:g}; rescale it")
    return rows


def _signs(y: Any, n_rows: int) -> FloatArray:
    refuse_masked(y, "y")
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size != n_rows:
        raise ValueError(
            f"y must hold one label for each of {n_rows} rows, got shape {labels.shape}"
        )
    missing = next((i for i, label in enumerate(labels.tolist()) if _is_missing(label)), None)
    if missing is not None:
        raise ValueError(
            f"y must hold a label for every row, but y[{missing}] is {labels[missing]}; drop "
            "unlabeled rows"
        )
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise TypeError(f"y must hold labels of one type: {error}") from error
    if classes.size != 2:
        shown = ", ".join(repr(label) for label in classes[:5].tolist())
        raise ValueError(f"y must hold exactly two classes, got {classes.size}: {shown}")
    return np.where(labels == classes[1], 1.0, -1.0)


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or the missing value of pandas."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


# -- tables of any kind (frames are recognized by their methods: no library is imported) -----------


def is_frame(table: object) -> bool:
    """Whether this is a data frame with named columns, of pandas or Polars."""
    return all(hasattr(table, name) for name in ("columns", "dtypes", "to_numpy"))


def check_numbers(table: Any) -> Rows:
    """The table as finite numbers, or an error that names the entry, in a frame by its column.

    Examples
    --------
    >>> check_numbers([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    require_in_memory(table)
    if not is_frame(table):
        return check_rows(table, "X")
    _check_names(table)
    try:
        return check_rows(table, "X")
    except (TypeError, ValueError):
        for name in table.columns:
            check_vector(table[name].to_numpy(), f"X[{name!r}]")
        raise


def _check_names(frame: Any) -> None:
    """Refuse a frame in which two columns have the same name."""
    for name, n_columns in Counter(frame.columns).items():
        if n_columns > 1:
            raise ValueError(f"X must have distinct column names, got {name!r} twice")


def stacked(table: Any, planted: Rows, order: NDArray[np.intp]) -> Any:
    """The table with the planted rows below it, its rows then put in the given order.

    Kind and types are kept, and entries of the table are never converted.

    Examples
    --------
    >>> stacked(np.array([[1, 2]]), np.array([[3.0, 4.0]]), np.array([1, 0]))
    array([[3, 4],
           [1, 2]])
    """
    if sp.issparse(table):
        return _stacked_sparse(table, planted, order)
    if is_frame(table):
        return _stacked_frame(table, planted, order)
    rows = np.asarray(table)
    return np.concatenate([rows, planted.astype(rows.dtype)])[order]


def _stacked_sparse(table: Any, planted: Any, order: NDArray[np.intp]) -> Any:
    rows = table.tocsr()
    below = type(rows)(planted.astype(rows.dtype))
    # Many learners refuse 64-bit indices, which SciPy makes of any wide index handed to it.
    below.indices, below.indptr = (
        indices.astype(rows.indices.dtype) for indices in (below.indices, below.indptr)
    )
    both = sp.vstack([rows, below], format="csr")[order.astype(rows.indices.dtype)]
    return both.asformat(table.format)


def _stacked_frame(table: Any, planted: FloatArray, order: NDArray[np.intp]) -> Any:
    def joined(name: object, values: FloatArray) -> NDArray[Any]:
        column = np.asarray(table[name].to_numpy())
        below = values.astype(column.dtype) if column.dtype.kind in "fiub" else values
        return np.concatenate([column, below])[order]

    columns = {name: joined(name, planted[:, j]) for j, name in enumerate(table.columns)}
    types = dict(zip(table.columns, table.dtypes))
    frame = type(table)(columns)
    return frame.astype(types) if hasattr(table, "iloc") else frame.cast(types)


def picked(labels: Any, positions: NDArray[np.intp]) -> Any:
    """The labels at these positions, as an array or as the series they came in.

    Examples
    --------
    >>> picked(["ham", "spam"], np.array([1, 1, 0])).tolist()
    ['spam', 'spam', 'ham']
    """
    if hasattr(labels, "iloc"):  # a pandas series
        return labels.iloc[positions].reset_index(drop=True)
    if hasattr(labels, "to_numpy"):
        return labels[positions]
    return np.asarray(labels)[positions]
