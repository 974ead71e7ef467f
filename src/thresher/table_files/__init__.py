"""Tables in files: CSV, Parquet, Arrow, svmlight and NPZ become rows, labels and names.

reading.py            read_table: looks at the file, and hands it to the reader of its format
table.py              what is asked of a file, and what comes back
arrow_tables.py       formats that pyarrow reads in batches: one pass to look, one to fill
delimited.py          … CSV and TSV          delimited_places.py   in which line something is
columnar.py           … Parquet and Arrow
svmlight.py, npz.py   formats with labels of their own
roles.py              which column is the label, which the id
survey.py             what each column holds, before memory is taken
features.py           which columns the table will have (one-hot columns among them)
labels.py, finite.py  checks of what was read
"""

from thresher.table_files.reading import find_table, read_table
from thresher.table_files.table import LabeledTable

__all__ = ["LabeledTable", "find_table", "read_table"]
