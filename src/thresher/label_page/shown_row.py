"""A row as it is shown: pictures, texts in full, and numbers."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np

from thresher.label_page.images import looks_like_picture
from thresher.label_page.site import RowId, row_key
from thresher.rendering.text import plain_number
from thresher.wording import MISSING

N_FIRST = 24  # columns that are shown at once, apart from texts and pictures
N_MORE = 200  # that can be unfolded
_DECIMAL = re.compile(r"[+-]?[0-9]*\.[0-9]{4,}([eE][+-]?[0-9]+)?")
LONG = 60  # characters from which a text is set apart


@dataclass(frozen=True)
class Cell:
    """A column of the row: its name, and its value as text or the address of a picture."""

    name: str
    text: str = ""
    picture: str = ""


@dataclass(frozen=True)
class ShownRow:
    """What the template shows of a row.

    Parameters
    ----------
    row_id, key : the id, and as it stands in forms
    reason : why the row is shown
    pictures, prose : its pictures and long texts
    values : its other columns, those that matter first
    n_hidden : columns that are not shown

    Examples
    --------
    >>> row = ShownRow.of(7, {"note": "a\\nb", "age": 5.0, "size": 2.5}, columns=["size"])
    >>> [cell.text for cell in row.prose], [cell.name for cell in row.values]
    (['a\\nb'], ['size', 'age'])
    """

    row_id: RowId
    key: str
    reason: str
    pictures: list[Cell]
    prose: list[Cell]
    values: list[Cell]
    n_hidden: int

    @classmethod
    def of(
        cls,
        row_id: RowId,
        values: Mapping[str, Any],
        *,
        columns: Iterable[str] = (),
        texts: Collection[str] = (),
        reason: str = "",
        images_root: Path | None = None,
    ) -> Self:
        """The row with these values.

        Parameters
        ----------
        row_id, values, reason : of the row
        columns : those that matter most, in their order
        texts : columns that are read in full, even if they are short
        images_root : folder of pictures
        """
        names = dict.fromkeys([*(name for name in columns if name in values), *values])
        cells = [_cell(row_id, name, values[name], images_root) for name in names]
        pictures = [cell for cell in cells if cell.picture]
        prose = [cell for cell in cells if _is_prose(cell, values[cell.name], texts)]
        apart = {cell.name for cell in (*pictures, *prose)}
        others = [cell for cell in cells if cell.name not in apart]
        shown = others[: N_FIRST + N_MORE]
        key, n_hidden = row_key(row_id), len(others) - len(shown)
        return cls(row_id, key, reason, pictures, prose, shown, n_hidden)

    @property
    def first(self) -> list[Cell]:
        """The values that are shown at once."""
        return self.values[:N_FIRST]

    @property
    def more(self) -> list[Cell]:
        """The values that can be unfolded."""
        return self.values[N_FIRST:]


def _cell(row_id: RowId, name: str, value: Any, images_root: Path | None) -> Cell:
    if looks_like_picture(value, images_root):
        address = urlencode({"row": row_key(row_id), "column": name})
        return Cell(name, picture=f"/image?{address}")
    if isinstance(value, float | np.floating) or _is_decimal(value):
        return Cell(name, plain_number(float(value)))
    return Cell(name, MISSING if value is None else str(value))


def _is_decimal(value: Any) -> bool:
    """Whether a text is a number with digits after the point, which has more than one needs."""
    return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None


def _is_prose(cell: Cell, value: Any, texts: Collection[str]) -> bool:
    if cell.picture or not isinstance(value, str):
        return False
    return cell.name in texts or len(value) > LONG or "\n" in value
