"""Tables in files: CSV, Parquet, Arrow, svmlight and NPZ become rows, labels and names.

reading.py           read_table, prepare_table, and READERS: which extension has which reader
table.py             what is asked of a file, what comes back, and checks that all formats share
columns.py           which column is the label, which the id, which are features; what they hold
arrow_cells.py       pyarrow: what the cells of a column are
arrow_headers.py     what Arrow files say about their size
arrow_tables.py      formats that pyarrow reads in batches (Parquet and Arrow themselves)
arrow_rows.py        … rows that are in memory already
delimited.py         … CSV and TSV
text_format.py       … their separator, decimal sign and encoding, given or recognized
prepared_batches.py  … with columns of any kind, which `preparation` turns into numbers
svmlight.py, npz.py  formats with labels of their own
copying.py           some rows of a file, as they stand in it
standard_input.py    a table on standard input

To add a format, touch three files: write a module with a reader, a function of a `Path` and a
`TableRequest` that returns a `LabeledTable`; name it in `READERS`; and add a writer to `WRITERS` in
`tests/table_files/written.py`, so that every test of formats meets it. A format that pyarrow reads
in batches only needs a subclass of `BatchFile`, named in `BATCH_FILES`.
"""

from thresher.table_files.arrow_rows import table_from_arrow
from thresher.table_files.copying import cells_of_rows, copy_rows
from thresher.table_files.reading import find_table, prepare_table, read_table
from thresher.table_files.standard_input import name_of
from thresher.table_files.table import LabeledTable, TableRequest, refuse_controls
from thresher.table_files.text_format import TextFormat

__all__ = [
    "LabeledTable",
    "TableRequest",
    "TextFormat",
    "cells_of_rows",
    "copy_rows",
    "find_table",
    "name_of",
    "prepare_table",
    "read_table",
    "refuse_controls",
    "table_from_arrow",
]
