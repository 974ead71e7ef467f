"""Answers of a label source are labels, or an error that names the id."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from thresher.oracles import check_answers, reveal_labels

IDS = np.array([40, 7, 90])


@pytest.mark.parametrize(
    "answers",
    [
        [1, -1, 1],
        (1.0, -1.0, 1.0),
        np.array([1, -1, 1], dtype=np.int8),
        np.array([1, -1, 1], dtype=object),
        [np.int64(1), Decimal(-1), True + 0],
    ],
)
def test_signs_of_any_number_type_are_labels(answers: Any) -> None:
    assert check_answers(answers, IDS).tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("bad", [0, 2, -1.5, math.nan, math.inf, None, "1", b"1", True, [1], 1j])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_answer_that_is_no_sign_is_named_by_its_id(bad: Any, place: int) -> None:
    answers: list[Any] = [1, -1, 1]
    answers[place] = bad
    with pytest.raises((TypeError, ValueError), match=f"id {IDS[place]} was labeled"):
        check_answers(answers, IDS)


@pytest.mark.parametrize("bad", ["1", True])
def test_text_and_truth_values_hidden_in_objects_are_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="id 7 was labeled"):
        check_answers(np.array([1, bad, 1], dtype=object), IDS)


@pytest.mark.parametrize("answers", [None, 1, [], [1, 1], [1, 1, 1, 1], np.ones((3, 1)), "1"])
def test_answers_of_another_shape_name_an_id(answers: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="id 40"):
        check_answers(answers, IDS)


def test_both_kinds_of_label_source_name_the_id() -> None:
    class Source:
        def reveal(self, ids: Any) -> Any:
            return np.zeros(len(ids))

    for source in (Source(), lambda ids, _X: np.zeros(len(ids))):
        with pytest.raises(ValueError, match="id 40 was labeled 0"):
            reveal_labels(source, IDS, np.eye(3))
