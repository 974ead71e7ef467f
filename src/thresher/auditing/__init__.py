"""Auditing a labeled table: the model, the suspicious rows, and why.

table_audit.py   audit, Audit: everything that is suspicious about a table
frames.py        data frames and arrays, in and out
examination.py   examine: learns from a table, and what is proven about it
disagreement.py  how likely labels are wrong, by models that have not seen them
forest.py        what trees say about rows that they have not seen; wrong_labels.py: what that
                 means for labels
data_errors.py   values that are wrong whatever the label; tails.py: far outside of the others;
                 combinations.py: what does not go together, such as swapped columns
duplicates.py    rows that stand in the table more than once
verdict.py       how suspicious each row is, by kind
suspects.py      groups of suspicious rows that stand out alike
contents.py      what a report says: its sentences, and its tables with their columns
text_report.py   what `thresher learn` and `thresher audit` print
html_report.py   the HTML page
preparation_report.py  what was done with the columns of a file
predictions.py   reading files with a progress bar, and predictions for them
"""

from thresher.auditing.examination import Findings, examine
from thresher.auditing.looking import audit, audit_table
from thresher.auditing.suspects import Contrast, Group
from thresher.auditing.table_audit import Audit

__all__ = [
    "Audit",
    "Contrast",
    "Findings",
    "Group",
    "audit",
    "audit_table",
    "examine",
]
