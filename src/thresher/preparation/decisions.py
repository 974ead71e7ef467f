"""Which kind a column is, from all of its cells. The thresholds are rules of thumb."""

import re
from collections.abc import Callable
from math import ceil, isnan
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from thresher.memory import require_memory
from thresher.preparation.cells import (
    DATE_ORDERS,
    Meaning,
    days_since_1970,
    hours_of,
    number_of,
    spelled,
    truth_of,
)
from thresher.preparation.columns import RawColumn, RawNumbers, RawTexts
from thresher.preparation.kinds import (
    Booleans,
    Categories,
    ColumnPreparation,
    Dates,
    LeftOut,
    Numbers,
    Pairs,
    Times,
    Words,
)
from thresher.validation import FloatArray
from thresher.wording import count, quoted

FEW_STRAYS = 0.1  # of the cells that are not missing: a column with so few stays what it is
FEW_STRAY_TEXTS = 5  # distinct ones, such as "unknown": a column can have many cells with them
MANY_NUMBERS = 10  # distinct ones, of a column with many stray cells
RARE_SHARE, RARE_ROWS = 0.005, 5  # a category is frequent that has this share and so many rows
ID_SHARE, ID_ROWS = 0.9, 10  # distinct texts among at least so many cells
ID_NAME = re.compile(r"(?:^|.*[\s_.-])(?:id|uuid|guid|key|index|rowid)|.*[a-z](?:Id|ID)", re.DOTALL)
WORDS_PER_TEXT = 3  # on average, of a column of sentences
SENTENCE_SHARE, SENTENCES = 0.3, 20  # distinct texts among the cells of such a column
MAX_WORDS = 500
MAX_CELLS = 100_000  # from which words are chosen; of a longer column, every second, third, …
BYTES_PER_CHARACTER = 40  # of texts whose words are counted, even if all of them differ
IDS = "looks like ids"
MAX_VALUES = 10_000  # distinct values of a category


def decide(column: RawColumn) -> ColumnPreparation:
    """What is done with a column.

    Examples
    --------
    >>> visits = [str(number) for number in range(60)]
    >>> decide(RawTexts.of("visits", ["unknown", *visits]))
    Numbers(name='visits', seen="numbers, also 'unknown'", n_missing=0, n_stray=1,
            median=29.5)
    >>> decide(RawTexts.of("city", 10 * ["Bonn", "Köln", "Ulm"])).feature_names
    ['city=Bonn', 'city=Köln', 'city=Ulm']
    >>> decide(RawTexts.of("city", [f"x{number}" for number in range(30)])).done
    'left out: looks like ids'
    """
    if column.missing.all():
        return LeftOut(column.name, "no values", column.n_rows, 0, "no values")
    if isinstance(column, RawNumbers):
        return _number_column(column)
    return next(filter(None, (rule(column) for rule in _RULES)))


def _number_column(column: RawNumbers) -> ColumnPreparation:
    kind = Numbers(column.name, "numbers", 0, 0, 0.0)
    values = kind.values_of(column)
    return _left_out(column, values) or _numbers(Numbers, column, values, "numbers")


def _numbers(
    kind: Callable[..., ColumnPreparation],
    column: RawColumn,
    values: FloatArray,
    seen: str,
    **own: Any,
) -> ColumnPreparation:
    """The column of numbers with these values, or a column that is left out."""
    n_missing = int(column.missing.sum())
    n_stray = int(np.isnan(values).sum()) - n_missing
    if n_stray == column.n_rows - n_missing:
        return LeftOut(column.name, seen, n_missing, n_stray, "no usable number")
    median = float(np.nanmedian(values))
    return kind(column.name, seen, n_missing, n_stray, median=median, **own)


def _left_out(column: RawColumn, values: FloatArray) -> LeftOut | None:
    """What has one value and no gaps, and what numbers the rows, says nothing about the label."""
    if np.isnan(values).any():
        return None
    if (values == values[0]).all():
        return LeftOut(column.name, "one value", 0, 0, "constant")
    if numbers_rows(column.name, values):
        return LeftOut(column.name, "distinct integers", 0, 0, IDS)
    return None


def numbers_rows(name: str, values: FloatArray) -> bool:
    """Whether a column numbers the rows: 5, 6, 7, …, or distinct integers under a name such as id.

    Examples
    --------
    >>> numbers_rows("x", np.array([5.0, 6.0, 7.0])), numbers_rows("x", np.array([5.0, 7.0, 6.0]))
    (True, False)
    >>> numbers_rows("PatientId", np.array([5.0, 70.0, 6.0]))
    True
    """
    if values.size < 3:
        return False
    if values[1] - values[0] == 1 and bool((np.diff(values) == 1).all()):
        return True
    if not is_id_name(name) or not bool((values == np.rint(values)).all()):
        return False
    return np.unique(values).size == values.size


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are."""
    return bool(ID_NAME.fullmatch(name) or ID_NAME.fullmatch(name.lower()))


# -- texts: the first rule that applies --------------------------------------------------------


def _constant(column: RawTexts) -> ColumnPreparation | None:
    if len(column.texts) == 1 and not column.missing.any():
        return LeftOut(column.name, "one value", 0, 0, "constant")
    return None


def _booleans(column: RawTexts) -> ColumnPreparation | None:
    values = _mostly(column, truth_of)
    if values is None or not {0.0, 1.0} <= set(values.tolist()):
        return None
    return _numbers(Booleans, column, values, _seen("yes and no", column, truth_of))


def _number_texts(column: RawTexts) -> ColumnPreparation | None:
    values = _mostly(column, number_of)
    if values is None:
        return None
    seen = _seen("numbers", column, number_of)
    return _left_out(column, values) or _numbers(Numbers, column, values, seen)


def _times(column: RawTexts) -> ColumnPreparation | None:
    values = _mostly(column, hours_of)
    if values is None:
        return None
    return _numbers(Times, column, values, _seen("times", column, hours_of))


def _dates(column: RawTexts) -> ColumnPreparation | None:
    """Dates in the one order that reads most of them; left out if two orders do."""
    n_read = {}
    for order in DATE_ORDERS:
        values = _mostly(column, days_since_1970(order))
        if values is not None:
            n_read[order] = int((~np.isnan(values)).sum())
    if not n_read:
        return None
    most = max(n_read.values())
    best = [order for order, n_cells in n_read.items() if n_cells == most]
    n_missing, dots = int(column.missing.sum()), any("." in text for text in column.texts)
    if "dmy" in best and dots:  # nobody writes months first with dots
        best = ["dmy"]
    if len(best) > 1:
        reason = "day or month first?"
        return LeftOut(column.name, "dates", n_missing, 0, reason)
    meaning = days_since_1970(best[0])
    seen = _seen("dates", column, meaning)
    return _numbers(Dates, column, column.read_as(meaning), seen, order=best[0])


def _sentences(column: RawTexts) -> ColumnPreparation | None:
    n_cells = int(column.counts.sum())
    if len(column.texts) < max(SENTENCES, SENTENCE_SHARE * n_cells):
        return None
    n_words = np.array([len(text.split()) for text in column.texts])
    if float(n_words.mean()) < WORDS_PER_TEXT:
        return None
    codes = column.codes[:: ceil(column.n_rows / MAX_CELLS)]
    n_characters = sum(len(text) for text in column.texts) + 8 * codes.size
    require_memory(BYTES_PER_CHARACTER * n_characters, f"the words of column {column.name!r}")
    cells = [*column.texts, ""]
    vectorizer = TfidfVectorizer(min_df=_frequent(codes.size), max_features=MAX_WORDS)
    try:
        vectorizer.fit(cells[code] for code in codes)
    except ValueError:  # no word is frequent
        return None
    vocabulary = tuple(vectorizer.get_feature_names_out().tolist())
    n_missing = int(column.missing.sum())
    return Words(
        column.name, "sentences", n_missing, 0, vocabulary, idf=tuple(vectorizer.idf_.tolist())
    )


def _ids(column: RawTexts) -> ColumnPreparation | None:
    n_cells, n_missing = int(column.counts.sum()), int(column.missing.sum())
    if n_cells < ID_ROWS or len(column.texts) < ID_SHARE * n_cells:
        return None
    seen = f"text, {count(len(column.texts), 'value')}"
    return LeftOut(column.name, seen, n_missing, 0, IDS)


def _pairs(column: RawTexts) -> ColumnPreparation | None:
    values = sorted({spelled(text) for text in column.texts})
    if len(values) != 2 or min(column.counts) < _frequent(column.n_rows):
        return None
    pair = Pairs(column.name, "", 0, 0, 0.0, *values)
    seen, found = "text, 2 values", pair.values_of(column)
    return _numbers(Pairs, column, found, seen, first=pair.first, second=pair.second)


def _frequent(n_rows: int) -> int:
    """The number of rows that a frequent value or word has."""
    return max(RARE_ROWS, ceil(RARE_SHARE * n_rows))


def _categories(column: RawTexts) -> ColumnPreparation:
    n_missing, least = int(column.missing.sum()), _frequent(column.n_rows)
    counts: dict[str, int] = {"": n_missing} if n_missing >= least else {}
    for text, times in zip(column.texts, column.counts):
        value = spelled(text)
        counts[value] = counts.get(value, 0) + int(times)
    seen = f"text, {count(len(column.texts), 'value')}"
    values = tuple(sorted(value for value, times in counts.items() if times >= least))
    rare = tuple(sorted(value for value in counts if counts[value] < least))
    if not values:
        reason = f"no value has {least} rows"
        return LeftOut(column.name, seen, n_missing, 0, reason)
    if len(rare) > MAX_VALUES:
        return LeftOut(column.name, seen, n_missing, 0, "too many distinct values")
    usual = min((v for v in counts if v), key=lambda value: (-counts[value], value))
    return Categories(column.name, seen, n_missing, 0, values, rare, usual)


_RULES: tuple[Callable[[RawTexts], ColumnPreparation | None], ...] = (
    _constant,
    _booleans,
    _number_texts,
    _times,
    _dates,
    _sentences,
    _ids,
    _pairs,
    _categories,
)


def _mostly(column: RawTexts, meaning: Meaning) -> FloatArray | None:
    """What the cells mean, if nearly all mean something, or if only a few texts do not."""
    values = column.read_as(meaning)
    n_cells, n_read = int((~column.missing).sum()), int((~np.isnan(values)).sum())
    if n_read >= (1 - FEW_STRAYS) * n_cells:
        return values
    if n_read < n_cells / 2 or len(_strays(column, meaning)) > FEW_STRAY_TEXTS:
        return None
    has_many = np.unique(values[~np.isnan(values)]).size > MANY_NUMBERS
    return values if has_many else None


def _strays(column: RawTexts, meaning: Meaning) -> list[str]:
    return [text for text in column.texts if isnan(meaning(text))]


def _seen(what: str, column: RawTexts, meaning: Meaning) -> str:
    strays = _strays(column, meaning)
    return f"{what}, also {quoted(strays, limit=1)}" if strays else what
