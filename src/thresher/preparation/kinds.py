"""What is done with a column: one class for each kind of column, with what it needs to do it.

Each kind turns raw columns of any file into values for scikit-learn's transformers: numbers with
NaN for what is missing, or texts with "" for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

from thresher.preparation.cells import (
    LARGEST,
    Meaning,
    days_since_1970,
    hours_of,
    number_of,
    spelled,
    truth_of,
)
from thresher.preparation.columns import RawColumn, RawTexts
from thresher.validation import FloatArray
from thresher.wording import count, shortened


@dataclass(frozen=True)
class ColumnPreparation:
    """What was seen in a column of the training file.

    Parameters
    ----------
    name : of the column
    seen : what it holds, in a few words
    n_missing : cells that were missing
    n_stray : cells that were not what the column holds, and were taken for missing
    """

    kind: ClassVar[str]

    name: str
    seen: str
    n_missing: int
    n_stray: int

    @property
    def done(self) -> str:
        """What is done with it, in a few words."""
        raise NotImplementedError

    @property
    def feature_names(self) -> list[str]:
        """The columns it becomes, without indicators."""
        raise NotImplementedError

    @property
    def has_gaps(self) -> bool:
        """Whether cells were missing, or taken for missing."""
        return self.n_missing + self.n_stray > 0


@dataclass(frozen=True)
class LeftOut(ColumnPreparation):
    """A column that is not used, and why."""

    kind = "left out"

    reason: str

    @property
    def done(self) -> str:
        return f"left out: {self.reason}"

    @property
    def feature_names(self) -> list[str]:
        return []


# -- numbers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers(ColumnPreparation):
    """A column that becomes one column of numbers, with its median where a cell is missing.

    Examples
    --------
    >>> column = Numbers("age", "numbers", n_missing=0, n_stray=1, median=40.0)
    >>> column.values_of(RawTexts.of("age", ["1,200", "unknown"])).tolist()
    [1200.0, nan]
    """

    kind = "numbers"

    median: float

    @property
    def meaning(self) -> Meaning:
        """What a text means in this column."""
        return number_of

    @property
    def done(self) -> str:
        return f"{self._use}; gaps: {self.median:.5g}" if self.has_gaps else self._use

    _use: ClassVar[str] = "numbers"

    @property
    def expected(self) -> str:
        """What a cell of it holds."""
        return "a number"

    @property
    def feature_names(self) -> list[str]:
        return [self.name]

    def values_of(self, column: RawColumn) -> FloatArray:
        """The number of each cell; NaN for what is missing or means something else."""
        if isinstance(column, RawTexts):
            return column.read_as(self.meaning)
        usable = np.abs(column.values) <= LARGEST
        return column.values if usable.all() else np.where(usable, column.values, np.nan)


@dataclass(frozen=True)
class Booleans(Numbers):
    """A column of words such as yes and no."""

    kind = "booleans"
    _use = "yes = 1, no = 0"

    @property
    def expected(self) -> str:
        return "yes or no"

    @property
    def meaning(self) -> Meaning:
        return truth_of


@dataclass(frozen=True)
class Pairs(Numbers):
    """A column of two values; the second becomes 1.

    Examples
    --------
    >>> column = Pairs("sex", "text", 0, 0, 0.0, first="f", second="m")
    >>> column.feature_names, column.values_of(RawTexts.of("sex", ["m", "f", "?"])).tolist()
    (['sex=m'], [1.0, 0.0, nan])
    """

    kind = "pairs"
    _use = "1 column"

    first: str
    second: str

    @property
    def meaning(self) -> Meaning:
        values = {self.first: 0.0, self.second: 1.0}
        return lambda text: values.get(spelled(text), np.nan)

    @property
    def expected(self) -> str:
        return f"{shortened(self.first)!r} or {shortened(self.second)!r}"

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={self.second}"]

    def values_of(self, column: RawColumn) -> FloatArray:
        """1 for the second value, 0 for the first, NaN for what is missing or neither."""
        return super().values_of(column.as_texts())


@dataclass(frozen=True)
class Times(Numbers):
    """A column of times of day."""

    kind = "times"
    _use = "hours"

    @property
    def meaning(self) -> Meaning:
        return hours_of

    @property
    def expected(self) -> str:
        return "a time of day"


@dataclass(frozen=True)
class Dates(Numbers):
    """A column of dates, in one order of day, month and year."""

    kind = "dates"
    _use = "days since 1970"

    order: str

    @property
    def meaning(self) -> Meaning:
        return days_since_1970(self.order)

    @property
    def expected(self) -> str:
        return "a date"

    def values_of(self, column: RawColumn) -> FloatArray:
        """The days of each cell; a column of numbers has no dates."""
        return super().values_of(column.as_texts())


# -- categories --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Categories(ColumnPreparation):
    """A column that becomes one column of 0 and 1 for each frequent value.

    Parameters
    ----------
    values : the frequent values; "" stands for a missing cell
    rare : the others, which share a column
    usual : the most frequent value, for cells that are missing where none was in training

    Examples
    --------
    >>> column = Categories("city", "text", 0, 0, ("Bonn", "Köln"), rare=("Ulm",), usual="Bonn")
    >>> column.feature_names
    ['city=Bonn', 'city=Köln', 'city is rare']
    >>> column.encoder().transform([["Köln"], ["Ulm"], ["Rom"]]).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 1.]])
    """

    kind = "categories"

    values: tuple[str, ...]
    rare: tuple[str, ...]
    usual: str

    @property
    def done(self) -> str:
        rare = f" + 1 for {count(len(self.rare), 'rare value')}" if self.rare else ""
        return f"{count(len(self.values), 'column')}{rare}"

    @property
    def feature_names(self) -> list[str]:
        names = [
            f"{self.name}={value}" if value else f"{self.name} is missing" for value in self.values
        ]
        return [*names, f"{self.name} is rare"] if self.rare else names

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.values, *self.rare))

    def texts_of(self, column: RawColumn) -> RawTexts:
        """The category of each cell, none of them missing."""
        raw = column.as_texts()
        texts = [spelled(text) for text in raw.texts]
        codes = np.where(raw.missing, len(texts), raw.codes)
        filler = "" if "" in self._known else self.usual
        return RawTexts(self.name, codes, [*texts, filler])

    def unseen_in(self, column: RawTexts) -> dict[str, int]:
        """The categories that training did not have, and how often each occurs."""
        found = {t: int(n) for t, n in zip(column.texts, column.counts) if t not in self._known}
        return {text: n for text, n in found.items() if n}

    def training_cells(self) -> list[str]:
        """The shortest column with which `encoder` can be fitted: frequent means twice."""
        return [*self.values, *self.values, *self.rare]

    def encoder(self) -> OneHotEncoder:
        """The transformer, fitted."""
        encoder = unfitted_encoder([self])
        return encoder.fit(np.array(self.training_cells(), dtype=object)[:, np.newaxis])


def unfitted_encoder(columns: Sequence[Categories]) -> OneHotEncoder:
    """The encoder of these columns, for tables where frequent values occur at least twice."""
    return OneHotEncoder(
        categories=[np.array([*c.values, *c.rare], dtype=object) for c in columns],
        min_frequency=2,
        handle_unknown="infrequent_if_exist",
        dtype=np.float64,
    )


# -- words -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words(ColumnPreparation):
    """A column of sentences, which becomes one column of TF-IDF for each word.

    Parameters
    ----------
    vocabulary : the words, sorted
    idf : the weight of each of them

    Examples
    --------
    >>> column = Words("note", "text", 0, 0, vocabulary=("free", "money"), idf=(1.0, 2.0))
    >>> column.feature_names
    ["note: 'free'", "note: 'money'"]
    >>> column.vectorizer().transform(["Free lunch"]).toarray()
    array([[1., 0.]])
    """

    kind = "words"

    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]

    @property
    def done(self) -> str:
        return count(len(self.vocabulary), "TF-IDF column")

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}: {word!r}" for word in self.vocabulary]

    def texts_of(self, column: RawColumn) -> RawTexts:
        """The text of each cell, "" where it is missing."""
        raw = column.as_texts()
        codes = np.where(raw.missing, len(raw.texts), raw.codes)
        return RawTexts(self.name, codes, [*raw.texts, ""])

    def vectorizer(self) -> TfidfVectorizer:
        """The transformer, fitted."""
        vectorizer = TfidfVectorizer(vocabulary=list(self.vocabulary))
        vectorizer.fit([""])
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


KINDS: dict[str, type[ColumnPreparation]] = {
    kind.kind: kind for kind in (LeftOut, Numbers, Booleans, Pairs, Times, Dates, Categories, Words)
}


def encoded(transformer: Any, column: RawTexts, cells: NDArray[Any] | list[str]) -> Any:
    """The transformed rows of a column; each distinct text is transformed once."""
    return transformer.transform(cells)[column.codes]
