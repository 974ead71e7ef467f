"""Tables in files: CSV, Parquet, Arrow, svmlight and NPZ become rows, labels and names.

reading.py           read_table, and READERS: which extension is read by which reader
table.py             what is asked of a file, what comes back, and checks that all formats share
columns.py           which column is the label, which the id, which are features; what they hold
arrow_cells.py       pyarrow: what the cells of a column are
arrow_headers.py     what Arrow files say about their size
arrow_tables.py      formats that pyarrow reads in batches (Parquet and Arrow themselves)
delimited.py         … CSV and TSV
svmlight.py, npz.py  formats with labels of their own

To add a format, touch three files: write a module with a reader, a function of a `Path` and a
`TableRequest` that returns a `LabeledTable`; name it in `READERS`; and add a writer to `WRITERS` in
`tests/table_files/written.py`, so that every test of formats meets it. A format that pyarrow reads
in batches only needs a subclass of `BatchFile`: `partial(read_batches, ...)` is its reader.
"""

from thresher.table_files.reading import find_table, read_table
from thresher.table_files.table import LabeledTable, refuse_controls

__all__ = ["LabeledTable", "find_table", "read_table", "refuse_controls"]
