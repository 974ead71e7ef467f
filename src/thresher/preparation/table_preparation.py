"""A whole table: what is done with each column, and the scikit-learn transformers that do it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from thresher.memory import require_memory
from thresher.preparation.columns import RawColumn, columns_of
from thresher.preparation.decisions import decide
from thresher.preparation.kinds import (
    Categories,
    ColumnPreparation,
    LeftOut,
    Numbers,
    Words,
    encoded,
    unfitted_encoder,
)
from thresher.validation import FloatArray, Rows
from thresher.wording import shortened

MAX_DENSE = 10**8  # numbers; a larger table with words is sparse, and its columns are not centered
COPIES = 3  # of the prepared rows: the parts, the whole, and one on the way
BYTES_PER_CHARACTER = 8  # of texts whose words are looked up
Kind = TypeVar("Kind", bound=ColumnPreparation)


@dataclass(frozen=True)
class Filled:
    """What a table had that its preparation had to bridge, by column.

    Parameters
    ----------
    missing : how many cells were missing
    stray : how many cells were not what the column holds, and were taken for missing
    unseen : categories that training did not have, and how often each occurs
    first_stray : the first such cell, what was expected there, and where it stands
    """

    missing: dict[str, int] = field(default_factory=dict)
    stray: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, dict[str, int]] = field(default_factory=dict)
    first_stray: dict[str, str] = field(default_factory=dict)

    def joined_with(self, other: Self) -> Self:
        """What both had.

        Examples
        --------
        >>> Filled({"age": 2}).joined_with(Filled({"age": 1}, {}, {"city": {"Rom": 3}}))
        Filled(missing={'age': 3}, stray={}, unseen={'city': {'Rom': 3}}, first_stray={})
        """
        unseen = {
            name: _sums(self.unseen.get(name, {}), other.unseen.get(name, {}))
            for name in {**self.unseen, **other.unseen}
        }
        missing, stray = _sums(self.missing, other.missing), _sums(self.stray, other.stray)
        return type(self)(missing, stray, unseen, {**other.first_stray, **self.first_stray})


def _sums(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


@dataclass(frozen=True)
class PreparedRows:
    """A table of numbers, and what it took to make it."""

    X: Rows
    filled: Filled


@dataclass(frozen=True)
class TablePreparation:
    """What is done with each column of a table, so that a linear model can use it.

    Numbers come first, then the indicators of missing numbers, then categories, then words.

    Parameters
    ----------
    columns : what is done with each, in the order of the training file

    Examples
    --------
    >>> from thresher.preparation import RawTexts
    >>> columns = [RawTexts.of("age", ["30", "40", None]), RawTexts.of("sex", ["f", "m", "f"])]
    >>> preparation = TablePreparation.for_columns([columns[0]])
    >>> preparation.feature_names
    ['age', 'age is missing']
    >>> preparation.prepare({"age": columns[0]}).X
    array([[30.,  0.],
           [40.,  0.],
           [35.,  1.]])
    """

    columns: tuple[ColumnPreparation, ...]

    @classmethod
    def for_columns(cls, columns: Sequence[RawColumn]) -> Self:
        """What suits these columns."""
        return cls(tuple(map(decide, columns)))

    @classmethod
    def for_frame(cls, frame: Any) -> Self:
        """What suits the columns of a data frame."""
        return cls.for_columns(columns_of(frame))

    # -- columns and features ----------------------------------------------------------------

    def _of(self, kind: type[Kind]) -> list[Kind]:
        return [column for column in self.columns if isinstance(column, kind)]

    @cached_property
    def numbers(self) -> list[Numbers]:
        """The columns that become numbers."""
        return self._of(Numbers)

    @cached_property
    def categories(self) -> list[Categories]:
        """The columns that become columns of 0 and 1."""
        return self._of(Categories)

    @cached_property
    def words(self) -> list[Words]:
        """The columns that become TF-IDF."""
        return self._of(Words)

    @property
    def left_out(self) -> list[LeftOut]:
        """The columns that are not used."""
        return self._of(LeftOut)

    @property
    def used_columns(self) -> list[str]:
        """The columns that are used, in the order in which transformers take them."""
        return [c.name for c in chain(self.numbers, self.categories, self.words)]

    @cached_property
    def feature_names(self) -> list[str]:
        """The columns of the prepared table."""
        return [
            *(name for column in self.numbers for name in column.feature_names),
            *(f"{column.name} is missing" for column in self.numbers if column.has_gaps),
            *(name for c in chain(self.categories, self.words) for name in c.feature_names),
        ]

    def restricted_to(self, features: set[str]) -> "TablePreparation":
        """The preparation of only those columns that make these features."""
        return TablePreparation(
            tuple(c for c in self.columns if features.intersection(_features_of(c)))
        )

    # -- rows --------------------------------------------------------------------------------

    def prepare(
        self, columns: Mapping[str, RawColumn], place: Callable[[int], str] = "row {:,}".format
    ) -> PreparedRows:
        """The table of numbers, dense unless it is large and has words, with what was filled in.

        Parameters
        ----------
        columns : the used columns by their names, and perhaps others
        place : where a row, counted from 0, stands
        """
        filled = Filled()
        n_rows = next((column.n_rows for column in columns.values()), 0)
        width = len(self.feature_names)
        is_sparse = bool(self.words) and n_rows * width > MAX_DENSE
        if is_sparse:
            width -= sum(len(column.vocabulary) for column in self.words)
        require_memory(8 * COPIES * n_rows * width, f"{n_rows:,} × {width:,} prepared numbers")
        blocks: list[Any] = [self._number_block(columns, filled, place)] if self.numbers else []
        for category in self.categories:
            texts = category.texts_of(columns[category.name])
            _note(filled.missing, category.name, int(columns[category.name].missing.sum()))
            if unseen := category.unseen_in(texts):
                filled.unseen[category.name] = unseen
            cells = np.array(texts.texts, dtype=object)[:, np.newaxis]
            blocks.append(encoded(category.encoder(), texts, cells))
        for column in self.words:
            texts = column.texts_of(columns[column.name])
            _note(filled.missing, column.name, int(columns[column.name].missing.sum()))
            n_characters = sum(map(len, texts.texts))
            require_memory(BYTES_PER_CHARACTER * n_characters, f"the words of {column.name!r}")
            blocks.append(encoded(column.vectorizer(), texts, list(texts.texts)))
        return PreparedRows(_joined(blocks, is_sparse=is_sparse), filled)

    def _number_block(
        self, columns: Mapping[str, RawColumn], filled: Filled, place: Callable[[int], str]
    ) -> FloatArray:
        values = [column.values_of(columns[column.name]) for column in self.numbers]
        for column, numbers in zip(self.numbers, values):
            raw = columns[column.name]
            is_stray = np.isnan(numbers) & ~raw.missing
            _note(filled.missing, column.name, int(raw.missing.sum()))
            _note(filled.stray, column.name, int(is_stray.sum()))
            if is_stray.any():
                row = int(is_stray.argmax())
                cell = f"{shortened(raw.text_at(row))!r} instead of {column.expected}"
                filled.first_stray[column.name] = f"{cell} in {place(row)}"
        block: FloatArray = self._imputer().transform(np.column_stack(values))
        return block

    # -- scikit-learn ------------------------------------------------------------------------

    def _imputer(self) -> SimpleImputer:
        return _unfitted_imputer().fit(np.array(self._number_cells(), dtype=np.float64).T)

    def _number_cells(self, n_rows: int = 2) -> list[list[float]]:
        """The shortest columns with these medians, which have gaps where training had them."""
        return [
            [np.nan if column.has_gaps else column.median] + [column.median] * (n_rows - 1)
            for column in self.numbers
        ]

    def to_sklearn(self) -> tuple["CellReader", ColumnTransformer]:
        """A transformer of data frames into values, and scikit-learn's transformers of these."""
        return CellReader(self.columns), self._fitted(self._transformers(_unfitted_imputer()))

    def for_complete_cells(self) -> ColumnTransformer:
        """The transformers for tables without missing values, for converters to other formats.

        Raises
        ------
        ValueError : a column needs what converters do not know or, worse, silently drop
        """
        for column in self.columns:
            what = None
            if isinstance(column, Words):
                what = "words"
            elif isinstance(column, Categories) and column.rare:
                what = "rare categories"
            elif isinstance(column, Numbers) and column.has_gaps:
                what = "missing cells"
            if what is not None:
                raise ValueError(
                    f"no converter for the {what} of column {column.name!r}. Convert the model "
                    "without its preparation, dataclasses.replace(model, preparation=None), and "
                    "prepare the rows with the steps of model.preparation.to_sklearn()"
                )
        return self._fitted(self._transformers("passthrough"))

    def _fitted(self, transformers: list[tuple[str, Any, Any]]) -> ColumnTransformer:
        """The transformers with what is known about the columns; the weights of words are set."""
        cells = [column.training_cells() for column in self.categories]
        n_rows = max(2, *map(len, cells)) if cells else 2
        padded = [column + column[:1] * (n_rows - len(column)) for column in cells]
        example = np.empty((n_rows, len(self.used_columns)), dtype=object)
        for place, values in enumerate([*self._number_cells(n_rows), *padded]):
            example[:, place] = values
        example[:, len(self.numbers) + len(padded) :] = ""
        transformer = ColumnTransformer(transformers, sparse_threshold=0).fit(example)
        for place, column in enumerate(self.words):
            transformer.named_transformers_[f"words {place}"].idf_ = np.array(column.idf)
        return transformer

    def _transformers(self, of_numbers: Any) -> list[tuple[str, Any, Any]]:
        n_numbers, n_categories = len(self.numbers), len(self.categories)
        parts: list[tuple[str, Any, Any]] = []
        if n_numbers:
            parts.append(("numbers", of_numbers, list(range(n_numbers))))
        if n_categories:
            places = list(range(n_numbers, n_numbers + n_categories))
            parts.append(("categories", unfitted_encoder(self.categories), places))
        for place, column in enumerate(self.words):
            parts.append((f"words {place}", column.vectorizer(), n_numbers + n_categories + place))
        return parts


class CellReader(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A scikit-learn transformer of data frames: cells become numbers, NaN, categories and texts.

    Parameters
    ----------
    columns : what is done with each column
    """

    def __init__(self, columns: tuple[ColumnPreparation, ...]) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's names)
        """Nothing is fitted: the columns are given."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> NDArray[Any]:
        """(n, columns) objects: numbers first, then categories, then texts."""
        preparation = TablePreparation(tuple(self.columns))
        raw = {column.name: column for column in columns_of(X, preparation.used_columns)}
        n_rows = next(iter(raw.values())).n_rows if raw else len(X)
        values = np.empty((n_rows, len(raw)), dtype=object)
        for place, number in enumerate(preparation.numbers):
            values[:, place] = number.values_of(raw[number.name])
        texts: list[Categories | Words] = [*preparation.categories, *preparation.words]
        for place, column in enumerate(texts, start=len(preparation.numbers)):
            found = column.texts_of(raw[column.name])
            values[:, place] = np.array(found.texts, dtype=object)[found.codes]
        return values


def _unfitted_imputer() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True)


def _features_of(column: ColumnPreparation) -> list[str]:
    return [*column.feature_names, f"{column.name} is missing"]


def _note(counts: dict[str, int], name: str, n_cells: int) -> None:
    if n_cells:
        counts[name] = n_cells


def _joined(blocks: list[Any], *, is_sparse: bool) -> Rows:
    if is_sparse:
        return sp.csr_array(sp.hstack(blocks, format="csr"))
    dense = [block if isinstance(block, np.ndarray) else block.toarray() for block in blocks]
    return np.ascontiguousarray(np.hstack(dense))
