"""Auditing a labeled table: the model, the rows that look planted, and why.

examination.py   examine: learns from a table and gathers the findings
suspects.py      one weight per row, and groups of suspicious rows that stand out alike
contents.py      what a report says: its sentences, and its tables with their columns
text_report.py   what `thresher learn` and `thresher audit` print
html_report.py   the HTML page
preparation_report.py  what was done with the columns of a file
predictions.py   reading files with a progress bar, and predictions for them
"""

from thresher.auditing.examination import Findings, examine
from thresher.auditing.suspects import Contrast, Group, Suspicion

__all__ = ["Contrast", "Findings", "Group", "Suspicion", "examine"]
