"""Preparing tables as people have them for a linear model.

cells.py              what a text means: a number, a truth value, a date, a time
columns.py            columns as they come from files and data frames
kinds.py              what is done with a column, one class for each kind
decisions.py          which kind a column is
table_preparation.py  TablePreparation: all columns, and scikit-learn's transformers for them
records.py            a preparation as plain values, for model files
"""

from thresher.preparation.columns import RawColumn, RawNumbers, RawTexts, columns_of
from thresher.preparation.decisions import IDS
from thresher.preparation.kinds import ColumnPreparation, LeftOut, Numbers
from thresher.preparation.table_preparation import (
    CellReader,
    Filled,
    PreparedRows,
    TablePreparation,
)

__all__ = [
    "IDS",
    "CellReader",
    "ColumnPreparation",
    "Filled",
    "LeftOut",
    "Numbers",
    "PreparedRows",
    "RawColumn",
    "RawNumbers",
    "RawTexts",
    "TablePreparation",
    "columns_of",
]
