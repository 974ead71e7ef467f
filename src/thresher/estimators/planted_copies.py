"""Planted copies: near copies of rows with the other label, and crowds of equal rows."""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from thresher.arrays import DeviceRows
from thresher.estimators.columns import ColumnScaling
from thresher.estimators.penalized import l2_support_vectors, with_short_indices
from thresher.estimators.screening import REACH, UNDEFENDED_C
from thresher.estimators.shared_entries import SharedEntries
from thresher.estimators.trust import MOST_OF_A_CLASS
from thresher.validation import FloatArray, Rows

LEAST = 0.01  # share of the rows: fewer are not worth a look
SHARED = 0.5  # of the information in the entries of a row, which a near copy has as well
MOST_AGREEING = 2.2  # times the rows that can be planted: a planted row and its original
FEWEST = 20  # rows of each class that a model is fitted to
MOST_FITTED = 4000  # rows of the model that judges near copies, nearly as good as one of all rows
SURE = 0.5  # times the median size of a score: a label with less support is left out
LARGEST_SET = 0.02  # share of the rows: as many equal rows with one label may count
USUAL_SETS = 6  # times the size of the median row's set, if that is more

Groups = NDArray[np.intp]  # equal rows with equal labels have the same number
Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


def can_be_planted(lost: NDArray[np.bool_], signs: FloatArray, n_allowed: float) -> bool:
    """Whether these rows are worth leaving out, and not too many of all or of a class."""
    of_class = max(float(lost[signs == sign].mean()) for sign in (-1.0, 1.0))
    is_right_size = LEAST * signs.size <= lost.sum() <= n_allowed
    return bool(is_right_size and of_class <= MOST_OF_A_CLASS)


def contradicting_pairs(
    rows: Rows, signs: FloatArray, n_allowed: float, groups: Groups | None = None
) -> Pairs:
    """The pairs of rows with different labels that share most of the information in either.

    A copy that was changed in some columns still has the entries of the others. Some tables have
    such pairs of their own, for instance several rows of each patient. These have equal labels most
    of the time: no pair is returned if more rows are like another one with their own label than
    planted rows can explain.

    Parameters
    ----------
    rows, signs : of the table
    n_allowed : number of rows that can be planted
    groups : (n,) equal rows with equal labels have the same number; None if there are none

    Returns
    -------
    The positions of the positive rows, and those of the negative ones.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((40, 10))
    >>> rows[0, :7] = rows[39, :7]
    >>> signs = np.repeat([1.0, -1.0], 20)
    >>> contradicting_pairs(rows, signs, n_allowed=4.0)
    (array([0]), array([39]))
    >>> rows[1:19:2, :7] = rows[2:20:2, :7]
    >>> contradicting_pairs(rows, signs, n_allowed=4.0)[0].size
    0
    """
    groups = np.arange(signs.size) if groups is None else groups
    entries, everyone = SharedEntries.of(rows), np.ones(signs.size, dtype=np.bool_)
    agrees, found = np.zeros_like(everyone), [(np.zeros(0, dtype=np.intp),) * 2]
    for one, other, shared in entries.pairs(everyone, everyone):
        information = np.minimum(entries.information[one], entries.information[other])
        is_near, is_same = shared >= SHARED * information, signs[one] == signs[other]
        agrees[one[is_near & is_same & (groups[one] != groups[other])]] = True
        is_pair = is_near & (signs[one] > signs[other])
        found.append((one[is_pair], other[is_pair]))
    if agrees.sum() > MOST_AGREEING * n_allowed:
        return found[0]
    return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])


# -- who is left out -------------------------------------------------------------------------


class PlantedCopies(NamedTuple):
    """Rows to leave out, and which of them surely have the wrong label."""

    lost: NDArray[np.bool_]
    surely: NDArray[np.bool_]


def planted_copies(
    rows: Rows, signs: FloatArray, n_allowed: float, groups: Groups | None = None
) -> PlantedCopies:
    """Near copies and crowds with labels that a model of the other rows does not confirm.

    Of a pair of near copies, the row with the label that the model contradicts is left out; both
    are if it is not sure. A crowd of equal rows is left out unless the model is sure of its label.
    None are if there are more than planted rows can explain.

    Departure: Algorithm 2 does not compare rows.

    Parameters
    ----------
    rows, signs : of the table
    n_allowed : number of rows that can be planted
    groups : (n,) equal rows with equal labels have the same number; None if there are none

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((200, 10))
    >>> signs = np.where(rows.sum(axis=1) > 0, 1.0, -1.0)
    >>> copied = np.argsort(-rows.sum(axis=1))[:10]
    >>> rows, signs = np.vstack([rows, rows[copied]]), np.append(signs, -signs[copied])
    >>> rows[200:, 0] = 0.0
    >>> np.flatnonzero(planted_copies(rows, signs, n_allowed=11.0).lost)
    array([200, 201, 202, 203, 204, 205, 206, 207, 208, 209])
    """
    none = PlantedCopies(*np.zeros((2, signs.size), dtype=np.bool_))
    if n_allowed < 1 or isinstance(rows, DeviceRows):
        return none
    pairs = contradicting_pairs(rows, signs, n_allowed, groups)
    is_crowded = np.zeros_like(none.lost) if groups is None else crowds(groups)
    is_suspect = is_crowded.copy()
    is_suspect[np.concatenate(pairs)] = True
    n_known = min(int((signs[~is_suspect] == sign).sum()) for sign in (-1.0, 1.0))
    if is_suspect.sum() < LEAST * signs.size or n_known < FEWEST:
        return none
    scores, typical = _scores(rows, signs, is_suspect)
    margins, sure = signs * _means_of_pairs(scores, pairs), SURE * typical
    wrong = is_suspect & (margins < np.where(is_crowded, sure, 0.0))
    lost = is_suspect & (margins < sure)
    are_few = can_be_planted(lost, signs, 2 * n_allowed)  # with their originals
    is_likely = are_few and can_be_planted(wrong, signs, n_allowed)
    return PlantedCopies(lost, is_suspect & (margins < -sure)) if is_likely else none


def crowds(groups: Groups) -> NDArray[np.bool_]:
    """The rows that very many rows equal, with the same label.

    A single point can otherwise outweigh many rows. Where most rows are repeated, a crowd is larger
    than most.

    Examples
    --------
    >>> groups = np.append(np.arange(96), np.zeros(2, dtype=int))
    >>> crowds(groups).any()
    np.False_
    >>> np.flatnonzero(crowds(np.append(groups, np.zeros(5, dtype=int))))
    array([  0,  96,  97,  98,  99, 100, 101, 102])
    """
    sizes = np.bincount(groups)[groups]
    is_crowd: NDArray[np.bool_] = sizes > max(
        LARGEST_SET * groups.size, USUAL_SETS * float(np.median(sizes))
    )
    return is_crowd


def _means_of_pairs(scores: FloatArray, pairs: Pairs) -> FloatArray:
    """For each row, the mean score of the row and its near copies."""
    links = sp.csr_array((np.ones(pairs[0].size), pairs), shape=(scores.size, scores.size))
    links = links + links.T + sp.eye_array(scores.size)
    means: FloatArray = (links @ scores) / np.asarray(links.sum(axis=1)).ravel()
    return means


def _scores(
    rows: Rows, signs: FloatArray, is_suspect: NDArray[np.bool_]
) -> tuple[FloatArray, float]:
    """Of suspects, by a support vector machine that is fitted to others; and a typical size.

    If there are many others, to a random part of them. Rows that are not suspects have score 0.
    """
    others = np.flatnonzero(~is_suspect)
    fitted_to = np.sort(np.random.default_rng(0).permutation(others)[:MOST_FITTED])
    if np.unique(signs[fitted_to]).size < 2:
        fitted_to = others
    scaling = ColumnScaling.of(rows, REACH, fitted_to)
    known = with_short_indices(scaling.apply(rows[fitted_to]))
    model = l2_support_vectors(UNDEFENDED_C, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough fit is enough
        model.fit(known, signs[fitted_to])
    suspects = with_short_indices(scaling.apply(rows[np.flatnonzero(is_suspect)]))
    scores = np.zeros(signs.size)
    scores[is_suspect] = model.decision_function(suspects)
    return scores, float(np.median(np.abs(model.decision_function(known))))
