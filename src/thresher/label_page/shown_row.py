"""A row as it is shown: pictures, texts in full, and numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np

from thresher.label_page.images import looks_like_picture
from thresher.label_page.site import RowId, row_key
from thresher.rendering.text import plain_number
from thresher.wording import MISSING

N_NUMBERS = 60  # that are shown; texts and pictures always are


@dataclass(frozen=True)
class Cell:
    """A column of the row: its name, and its value as text or the address of a picture."""

    name: str
    text: str = ""
    is_prose: bool = False
    picture: str = ""


@dataclass(frozen=True)
class ShownRow:
    """What the template shows of a row.

    Parameters
    ----------
    row_id, key : the id, and as it stands in forms
    reason : why the row is shown
    pictures, prose, numbers : its columns
    n_hidden : columns that are not shown

    Examples
    --------
    >>> row = ShownRow.of(7, {"text": "hello", "length": 5.0}, reason="", images_root=None)
    >>> [cell.text for cell in (*row.prose, *row.numbers)]
    ['hello', '5']
    """

    row_id: RowId
    key: str
    reason: str
    pictures: list[Cell]
    prose: list[Cell]
    numbers: list[Cell]
    n_hidden: int

    @classmethod
    def of(
        cls, row_id: RowId, values: Mapping[str, Any], *, reason: str, images_root: Path | None
    ) -> Self:
        """The row with these values."""
        cells = [_cell(row_id, *item, images_root) for item in values.items()]
        numbers = [cell for cell in cells if not cell.is_prose and not cell.picture]
        return cls(
            row_id,
            row_key(row_id),
            reason,
            pictures=[cell for cell in cells if cell.picture],
            prose=[cell for cell in cells if cell.is_prose],
            numbers=numbers[:N_NUMBERS],
            n_hidden=max(0, len(numbers) - N_NUMBERS),
        )


def _cell(row_id: RowId, name: str, value: Any, images_root: Path | None) -> Cell:
    if looks_like_picture(value, images_root):
        address = urlencode({"row": row_key(row_id), "column": name})
        return Cell(name, picture=f"/image?{address}")
    if isinstance(value, float | np.floating):
        return Cell(name, plain_number(float(value)))
    return Cell(name, MISSING if value is None else str(value), is_prose=isinstance(value, str))
