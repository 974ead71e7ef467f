"""What is missing in a table or in its labels."""

from typing import Any

import numpy as np

EMPTY = {"None", "nan", "NaT", "<NA>"}  # as Python, NumPy and pandas print a missing value


class MissingCells(ValueError):
    """Cells of X that are missing or infinite. `args` are which they are, and what to do."""

    def __str__(self) -> str:
        return ". ".join(self.args)


def refuse_missing_labels(y: Any) -> None:
    """Raise `ValueError` with the first missing label, in scikit-learn's words.

    Examples
    --------
    >>> refuse_missing_labels(["yes", "no", None])
    Traceback (most recent call last):
    ValueError: Input y contains NaN: y[2] is missing; drop the rows without a label
    """
    values = np.asarray(y, dtype=object).ravel().tolist()
    for place, value in enumerate(values):
        if not isinstance(value, str) and str(value) in EMPTY:
            missing = f"y[{place}] is missing; drop the rows without a label"
            raise ValueError(f"Input y contains NaN: {missing}") from None
