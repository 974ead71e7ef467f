"""Checks of what people and programs hand to a session; nothing is recorded if one fails."""

from collections.abc import Sequence
from typing import Any

from thresher.estimators.model import Label
from thresher.labeling.answers import Answers, plain_labels
from thresher.wording import one_line

LONGEST_TEXT = 10_000  # characters of a comment or a note
LONGEST_NAME = 100  # characters of an annotator's name, a request id or a label


def check_classes(classes: Sequence[Label] | None) -> list[Label] | None:
    """Two different labels of one type, or None.

    Examples
    --------
    >>> check_classes(["ham", "ham"])
    Traceback (most recent call last):
    ValueError: classes must be two different labels, got 'ham' twice
    """
    if classes is None:
        return None
    listed = plain_labels(classes, 2, "the session was not created")
    answers = Answers()
    answers.update(dict(enumerate(listed)))
    if None in listed:
        raise ValueError("classes must be two labels, got None")
    if len(answers.classes) < 2:
        raise ValueError(f"classes must be two different labels, got {listed[0]!r} twice")
    return [check_length(label) for label in listed if label is not None]


def check_label(label: Any, known: Sequence[Label]) -> Label:
    """The label as a plain value; it must be one of two that are known, and of their type.

    Examples
    --------
    >>> check_label("eggs", ["ham", "spam"])
    Traceback (most recent call last):
    ValueError: label must be 'ham' or 'spam', got 'eggs'
    """
    (plain,) = plain_labels([label], 1, "nothing was recorded")
    if plain is None:
        raise TypeError("label must not be None; to record no label, skip the row")
    if known and type(known[0]) is not type(plain):
        raise TypeError(f"labels must be of one type, got {plain!r} besides {known[0]!r}")
    if len(known) == 2 and plain not in known:
        raise ValueError(f"label must be {known[0]!r} or {known[1]!r}, got {one_line(repr(plain))}")
    return check_length(plain)


def check_length(label: Label) -> Label:
    """The label, if it is not too long."""
    if isinstance(label, str) and not 0 < len(label) <= LONGEST_NAME:
        raise ValueError(f"labels must have 1 to {LONGEST_NAME} characters, got {len(label):,}")
    return label


def check_name(name: object, parameter: str) -> str:
    """The name of an annotator, or a request id.

    Examples
    --------
    >>> check_name("", "annotator")
    Traceback (most recent call last):
    ValueError: annotator must have 1 to 100 characters, got 0
    """
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must be a string, got {one_line(repr(name))}")
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"{parameter} must have 1 to {LONGEST_NAME} characters, got {len(name):,}")
    return name


def check_text(text: object, parameter: str) -> str:
    """The text of a comment or a note."""
    if not isinstance(text, str):
        raise TypeError(f"{parameter} must be a string, got {one_line(repr(text))}")
    if len(text) > LONGEST_TEXT:
        most = f"{LONGEST_TEXT:,} characters"
        raise ValueError(f"{parameter} must have at most {most}, got {len(text):,}")
    return text
