"""What a caller tells: checked against what was asked, and against what was told before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from thresher.learning.algorithm import LabelRequest
from thresher.oracles import IdArray, check_answers
from thresher.oracles.requests import check_ids
from thresher.validation import FloatArray


def unanswered(request: LabelRequest, known: Mapping[int, float]) -> IdArray:
    """The positions in a request of the ids whose label nobody has told yet."""
    return np.flatnonzero([i not in known for i in request.ids.tolist()])


def check_told(
    labels: object, ids: object | None, request: LabelRequest, known: Mapping[int, float]
) -> dict[int, float]:
    """The told labels by id, or an error that says what is wrong and what is kept.

    Parameters
    ----------
    labels : one label of -1 or +1 for each id
    ids : which rows they belong to; all that are unanswered, in their order, if not given
    request : what was asked
    known : the labels told before, by id; never changed here

    Raises
    ------
    ValueError : wrong number of labels, a label that is not -1 or +1, an id that was not asked
        for, or one that was told otherwise before
    """
    told = request.ids[unanswered(request, known)] if ids is None else check_ids(ids)
    kept = f"the {len(known)} labels told before are kept"
    _check_asked(told, request, kept)
    if told.size == 0 and np.asarray(labels).size == 0:
        return {}
    try:
        values = check_answers(labels, told)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}; {kept}") from error
    _check_consistent(told, values, known, kept)
    return dict(zip(told.tolist(), values.tolist()))


def _check_asked(ids: IdArray, request: LabelRequest, kept: str) -> None:
    unknown = np.flatnonzero(~np.isin(ids, request.ids))
    if unknown.size:
        raise ValueError(f"ids[{unknown[0]}] = {ids[unknown[0]]} was not asked for; {kept}")


def _check_consistent(
    ids: IdArray, values: FloatArray, known: Mapping[int, float], kept: str
) -> None:
    seen = dict(known)
    for i, value in zip(ids.tolist(), values.tolist()):
        if seen.setdefault(i, value) != value:
            raise ValueError(f"id {i} was told {seen[i]:+g} before, and {value:+g} now; {kept}")
