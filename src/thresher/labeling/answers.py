"""The answers to questions: labels of two kinds, rows skipped, and corrections."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thresher.errors import LearningStopped
from thresher.estimators.model import Label
from thresher.validation import FloatArray
from thresher.wording import one_line


@dataclass(eq=False)
class Answers:
    """The current answer to each row that has one; None means that the row was skipped.

    Examples
    --------
    >>> answers = Answers()
    >>> answers.update({3: "yes", 5: None})
    >>> answers.update({3: "no"})  # a correction
    >>> answers.labeled, answers.classes
    ([3], ['no'])
    """

    by_row: dict[int, Label | None] = field(default_factory=dict)

    def update(self, answers: Mapping[int, Label | None]) -> None:
        """Record answers; if that made a third class, raise `ValueError` and record nothing."""
        after = {**self.by_row, **answers}
        kept = set(after.values())
        in_order = _distinct([*self.by_row.values(), *answers.values()])
        classes = [label for label in in_order if label in kept]  # the newest is the last
        if len({type(label) for label in classes}) > 1:
            shown = ", ".join(repr(label) for label in classes)
            raise TypeError(f"labels must be of one type, got {shown}; {self.kept}")
        if len(classes) > 2:
            first, second, third = classes[:3]
            raise ValueError(
                f"labels must be of two kinds, got {third!r} besides {first!r} and {second!r}; "
                f"{self.kept}. If one of them is a mistake, correct it by its id first"
            )
        self.by_row = after

    @property
    def kept(self) -> str:
        """What an error leaves as it is, in words."""
        return f"all {len(self.by_row)} earlier answers are kept"

    @property
    def labeled(self) -> list[int]:
        """The rows with a label, ascending: no result depends on the order of the answers."""
        return sorted(row for row, label in self.by_row.items() if label is not None)

    @property
    def classes(self) -> list[Label]:
        """The labels that occur, sorted."""
        return sorted(_distinct(self.by_row.values()))

    def signs(self, rows: Iterable[int]) -> FloatArray:
        """The label of each of these rows as -1 or +1; there must be two classes."""
        positive = self.classes[1]
        return np.array([1.0 if self.by_row[row] == positive else -1.0 for row in rows])

    def require_two_classes(self) -> None:
        """Raise unless there is a label of each class."""
        classes = self.classes
        if len(classes) < 2:
            said = f"every label so far is {classes[0]!r}" if classes else "there is no label yet"
            raise LearningStopped(
                f"there is no model: {said}. Answer more questions (ask, tell). If the budget is "
                f"spent, save the run and restore it with a larger one; {self.kept}"
            )


def ids_and_labels(labels: Any) -> tuple[list[Any] | None, Any]:
    """The ids that labels come with, and the labels: those of a dict or a pandas series, else None.

    Examples
    --------
    >>> ids_and_labels({"a": 1, "b": 0}), ids_and_labels([1, 0])
    ((['a', 'b'], [1, 0]), (None, [1, 0]))
    """
    if isinstance(labels, Mapping):
        return list(labels), list(labels.values())
    if hasattr(labels, "iloc") and hasattr(labels, "index"):
        return list(labels.index), list(labels)
    return None, labels


def plain_labels(values: Any, n_rows: int, kept: str) -> list[Label | None]:
    """One label or None for each row, as plain Python values.

    Examples
    --------
    >>> plain_labels(np.array([1.0, np.nan]), 2, kept="")
    [1.0, None]
    """
    if isinstance(values, Set):
        raise TypeError(f"labels must be in the order of the rows, got a set; {kept}")
    try:
        listed = [values] if isinstance(values, (str, bytes)) else list(values)
    except TypeError:
        listed = [values]
    if len(listed) != n_rows:
        raise ValueError(
            f"labels must have one entry for each of {n_rows} rows, got {len(listed)}; {kept}"
        )
    return [_plain_label(value, place, kept) for place, value in enumerate(listed)]


def _plain_label(value: Any, place: int, kept: str) -> Label | None:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if not isinstance(value, (str, int, float)) or (isinstance(value, float) and math.isinf(value)):
        raise TypeError(
            "labels must be strings, finite numbers, booleans or None, but "
            f"labels[{place}] is {one_line(repr(value))}; {kept}"
        )
    return value


def _distinct(labels: Iterable[Label | None]) -> list[Label]:
    """The labels that occur, in the order in which they first do."""
    return list(dict.fromkeys(label for label in labels if label is not None))
