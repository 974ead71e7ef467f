"""Tables larger than memory, in folders: a sample is examined, then every row is judged by it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.auditing.table_audit import Audit
from thresher.auditing.verdict import SUSPECT
from thresher.errors import UnreadablePart, UnreadableTable
from thresher.estimators.pools import SAMPLE_ENTRIES
from thresher.estimators.row_signs import MonotoneRule, RowSigns
from thresher.files import inert, replacing
from thresher.oracles import ParquetPool
from thresher.preparation import TablePreparation
from thresher.rendering.progress import progress
from thresher.table_files import LabeledTable, TableRequest, table_from_arrow
from thresher.table_files.arrow_cells import arrow, ids_of, labels_of, plain
from thresher.table_files.table import Refusal
from thresher.validation import FloatArray, is_sparse
from thresher.wording import quoted

STEERS = "stands out as the suspects of the sample do"
DISAGREES = "label disagrees with the model"


@dataclass(frozen=True, eq=False)
class SampledTable(LabeledTable):
    """A uniform sample of the rows of a folder, and the folder.

    Parameters
    ----------
    pool : the folder, a `ParquetPool`
    row_numbers : (n,) of the rows of the sample in the folder, ascending
    id_column : which identifies rows, if one does
    """

    pool: Any = None
    row_numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    id_column: str | None = None

    @classmethod
    def of(cls, path: Path, *, label: str | None, id_column: str | None, strict: bool) -> Self:
        """Read the sample: of a small folder, all rows."""
        pool = ParquetPool(path, columns=())
        ids = pool.sample_ids(SAMPLE_ENTRIES)
        names = sorted(pool.column_names, key=pool.is_key, reverse=True)  # the last is the label
        request = TableRequest(label=label, id_column=id_column)
        rows = pool.table_at(ids, names)
        table = table_from_arrow(rows, request, path=path, row_numbers=ids, strict=strict)
        content = {one.name: getattr(table, one.name) for one in fields(LabeledTable)}
        if ids.size < pool.n_rows:
            said = f"Learned from a uniform sample of {ids.size:,} of {pool.n_rows:,} rows."
            content["remarks"] = (*table.remarks, said)
        return cls(**content, pool=pool, row_numbers=ids, id_column=id_column)


def tables_of_folder(pool: ParquetPool, names: list[str]) -> Iterator[tuple[NDArray[Any], Any]]:
    """All rows of a folder in parts, with their numbers, and a progress bar."""
    with progress("thousand rows read", max(1, pool.n_rows // 1000)) as move:
        for first, table in pool.tables(names):
            yield np.arange(first, first + table.num_rows), table
            move((first + table.num_rows) // 1000)


def parts_of_folder(
    path: Path,
    *,
    label: str | None = None,
    id_column: str | None = None,
    with_labels: bool = True,
    label_if_any: bool = False,
    preparation: TablePreparation | None = None,
    strict: bool = False,
    features: Sequence[str] | None = None,
    one_hot: bool = False,
) -> Iterator[LabeledTable]:
    """All rows of a folder for prediction, in parts; other columns than those used are not read."""
    pool = ParquetPool(path, columns=())
    used = list(features or ()) if preparation is None else list(preparation.used_columns)
    if one_hot or not used:  # a feature can be one of a column's values
        names = pool.column_names
    else:
        if label_if_any and label not in pool.column_names:
            label = None
        names = list(dict.fromkeys([*used, *filter(None, (label, id_column))]))
    pool.require_columns(names, pool.column_names)
    used_names = tuple(used) or None
    request = TableRequest(label, id_column, one_hot, used_names, with_labels, label_if_any)
    how: dict[str, Any] = {"path": path, "strict": strict, "preparation": preparation}
    for row_numbers, part in tables_of_folder(pool, names):
        with _naming(pool, int(row_numbers[0])):
            table = table_from_arrow(part, request, row_numbers=row_numbers, **how)
        yield table


@dataclass(frozen=True, eq=False)
class RowJudge:
    """Judges every row of a folder as the audit of its sample judged similar rows.

    Parameters
    ----------
    audit : of the sample
    signs : what tells about a row
    trust : of a row, by its signs
    trust_in_label : 1 less the suspicion against a row's label, by its signs
    """

    audit: Audit
    signs: RowSigns
    trust: MonotoneRule
    trust_in_label: MonotoneRule

    @classmethod
    def of(cls, audit: Audit) -> Self:
        """From the audit of a `SampledTable`."""
        found, kinds = audit.findings, audit.suspicions
        labels = np.where(found.labels == found.classifier.classes_[1], 1.0, -1.0)
        signs = RowSigns.of(found.classifier, found.table.X, labels)
        part = found.table.X[:, signs.columns]
        _, numbers = signs(part.toarray() if is_sparse(part) else part, labels)
        doubt = np.maximum(kinds.steers, kinds.disagrees)
        trust = MonotoneRule.of(numbers, found.classifier.row_weights_)
        return cls(audit, signs, trust, MonotoneRule.of(numbers, 1 - doubt))

    @property
    def _table(self) -> SampledTable:
        table = self.audit.findings.table
        assert isinstance(table, SampledTable)
        return table

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the folder that are needed."""
        table = self._table
        if table.preparation is None:
            used = [table.feature_names[j] for j in self.signs.columns]
        else:
            used = list(table.preparation.used_columns)
        others = [name for name in (table.label_name, table.id_column) if name is not None]
        return list(dict.fromkeys([*used, *others]))

    def judged(self, row_numbers: NDArray[np.int64], part: Any) -> dict[str, NDArray[Any]]:
        """What is written about some rows of the folder, column by column."""
        table, classifier = self._table, self.audit.findings.classifier
        place = lambda row: f"row {row_numbers[row]:,}"  # noqa: E731
        ids = row_numbers
        if table.id_column is not None:
            ids = ids_of(table.id_column, _whole(part, table.id_column), place)
        codes = self._codes(part, place)
        scores, numbers = self.signs(self._rows(part, row_numbers), np.where(codes, 1.0, -1.0))
        trust, suspicion = self.trust(numbers), 1 - self.trust_in_label(numbers)
        reason = np.where(numbers[2] > 0, DISAGREES, STEERS).astype(object)
        self._keep_sample(row_numbers, trust, suspicion, reason)
        reason[suspicion < SUSPECT] = ""
        return {
            "id": ids,
            "label": classifier.classes_[codes],
            "predicted": classifier.classes_[(scores > 0).astype(np.intp)],
            "trust": trust.round(6),
            "suspicion": suspicion.round(6),
            "reason": reason,
        }

    def _codes(self, part: Any, place: Any) -> NDArray[np.intp]:
        """Which of the two classes each row has."""
        table, classes = self._table, self.audit.findings.classifier.classes_.tolist()
        assert table.label_name is not None
        cells = _whole(part, table.label_name).dictionary_encode()
        if cells.null_count:
            labels_of(table.label_name, plain(cells), place)  # which refuses it, with its place
        known = labels_of(table.label_name, plain(cells.dictionary), place).tolist()
        unknown = [label for label in known if label not in classes]
        if unknown:
            raise Refusal(
                f"has labels that the sample does not have: {quoted(unknown, limit=3)}",
                advice=f"exactly two are needed, {quoted(classes)}",
            )
        places: NDArray[np.intp] = cells.indices.to_numpy()
        return np.array([classes.index(label) for label in known])[places]

    def _rows(self, part: Any, row_numbers: NDArray[np.int64]) -> FloatArray:
        table = self._table
        if table.preparation is None:
            return _numbers(part, [table.feature_names[j] for j in self.signs.columns])
        used = tuple(table.preparation.used_columns)
        request = TableRequest(features=used, with_labels=False)
        how: dict[str, Any] = {"path": table.pool.path, "row_numbers": row_numbers}
        prepared = table_from_arrow(part, request, preparation=table.preparation, **how)
        rows = prepared.X[:, self.signs.columns]
        return rows.toarray() if is_sparse(rows) else rows

    def _keep_sample(
        self, row_numbers: NDArray[np.int64], trust: FloatArray, suspicion: FloatArray, reason: Any
    ) -> None:
        """Put what the audit itself found in place of the rules, for the rows of the sample."""
        sampled = self._table.row_numbers
        start, stop = np.searchsorted(sampled, [row_numbers[0], row_numbers[-1] + 1])
        places = sampled[start:stop] - row_numbers[0]
        trust[places] = self.audit.findings.classifier.row_weights_[start:stop]
        suspicion[places] = self.audit.suspicions.suspicion[start:stop]
        reason[places] = [self.audit.reason(row) for row in range(start, stop)]


def save_rows_of_folder(audit: Audit, path: Path, *, raw_csv: bool = False) -> str:
    """Write a CSV file with one line per row of the folder, and say how many are suspects.

    It is written as the rows are read, atomically. See `write_csv` about `raw_csv`.
    """
    judge, n_suspects, n_rows = RowJudge.of(audit), 0, 0
    pool: ParquetPool = judge._table.pool
    with replacing(path) as file:
        writer = None
        for row_numbers, part in tables_of_folder(pool, judge.columns):
            with _naming(pool, int(row_numbers[0])):
                columns = judge.judged(row_numbers, part)
            lines = arrow().table({k: _cells(v, raw_csv) for k, v in columns.items()})
            writer = writer or arrow("csv").CSVWriter(file, lines.schema)
            writer.write_table(lines)
            n_rows += lines.num_rows
            n_suspects += int((columns["suspicion"] >= SUSPECT).sum())
        if writer is not None:
            writer.close()
    return f"{n_suspects:,} of all {n_rows:,} rows ({n_suspects / n_rows:.1%}) are suspects."


def _whole(part: Any, name: str) -> Any:
    return plain(part.column(name).combine_chunks())


def _numbers(part: Any, names: list[str]) -> FloatArray:
    """The columns as they are stored, one after the other in memory; finite numbers."""
    rows: FloatArray = np.empty((part.num_rows, len(names)), order="F", dtype=np.float64)
    for j, name in enumerate(names):
        column = part.column(name)
        if column.null_count:
            raise Refusal(f"has missing values in column {name!r}", advice="fill them in")
        rows[:, j] = column.to_numpy()
    if not np.isfinite(rows.sum()):
        bad = [name for name, column in zip(names, rows.T) if not np.isfinite(column).all()]
        if bad:
            raise Refusal(f"has NaN or infinite values in {quoted(bad)}", advice="replace them")
    return rows


def _cells(values: NDArray[Any], raw_csv: bool) -> Any:
    cells = arrow().array(values)
    if raw_csv or values.dtype.kind not in "UO":
        return cells
    encoded = cells.dictionary_encode()
    safe = arrow().array([inert(cell) for cell in encoded.dictionary.to_pylist()])
    return safe.take(encoded.indices)


@contextmanager
def _naming(pool: ParquetPool, row: int) -> Iterator[None]:
    """Refusals inside are those of the part of a pool that holds a row."""
    try:
        yield
    except (Refusal, UnreadableTable) as error:
        advice = error.advice if isinstance(error, Refusal) else "correct it"
        raise UnreadablePart(*pool.part_with(row), str(error), advice) from error
