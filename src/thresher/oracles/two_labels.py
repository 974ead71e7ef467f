"""Labels of two kinds other than -1 and +1."""

from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from thresher.validation import FloatArray

Classes: TypeAlias = tuple[Any, Any]  # the negative label, and the positive one


def check_classes(classes: Any) -> Classes | None:
    """The two labels as plain values, or None for -1 and +1.

    Examples
    --------
    >>> check_classes(np.array(["ham", "spam"]))
    ('ham', 'spam')
    >>> check_classes([1])
    Traceback (most recent call last):
    ValueError: classes must be two different labels, the negative one first, got [1]
    """
    if classes is None:
        return None
    found = [value.item() if isinstance(value, np.generic) else value for value in classes]
    is_plain = all(isinstance(value, (str, Real)) and value == value for value in found)
    if len(found) != 2 or found[0] == found[1] or not is_plain:
        raise ValueError(
            f"classes must be two different labels, the negative one first, got {classes!r}"
        )
    return found[0], found[1]


def signs_of(labels: Any, classes: Classes) -> FloatArray:
    """-1 for labels of the first class, +1 for those of the second.

    Examples
    --------
    >>> signs_of(["spam", "ham"], ("ham", "spam"))
    array([ 1., -1.])
    >>> signs_of(["spam", "egg"], ("ham", "spam"))
    Traceback (most recent call last):
    ValueError: labels must be 'ham' or 'spam', but labels[1] is 'egg'
    """
    if isinstance(labels, (str, bytes)) or not np.iterable(labels):
        raise TypeError(f"labels must be a sequence, got {type(labels).__name__}")
    signs = []
    for place, label in enumerate(labels):
        value = label.item() if isinstance(label, np.generic) else label
        if value not in classes:
            raise ValueError(
                f"labels must be {classes[0]!r} or {classes[1]!r}, but labels[{place}] is {value!r}"
            )
        signs.append(-1.0 if value == classes[0] else 1.0)
    return np.array(signs)
