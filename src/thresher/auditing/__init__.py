"""What a table says about itself: the model, the rows that look planted, and why.

examination.py   examine: learns from a table, and gathers what was found
suspicion.py     one weight a row: trust while learning, and agreement with what was learned
evidence.py      groups of suspicious rows, and the features in which they stand out
proof.py         what was proven, in words
tables.py        what is told in tables
terminal.py      what `thresher learn` and `thresher audit` print
pictures.py      the displays as pictures inside a page
report.py        the HTML page
csv_files.py     weights and predictions as CSV
"""

from thresher.auditing.evidence import Contrast, Group
from thresher.auditing.examination import Findings, examine
from thresher.auditing.suspicion import Suspicion

__all__ = ["Contrast", "Findings", "Group", "Suspicion", "examine"]
