"""Labeling sessions: people label a pool, and no label that was acknowledged is ever lost.

session.py     LabelSession, the only name that most callers need
journal.py     the file of a session, line by line, and what it survives
disk.py        the file operations under it, so that tests can replace them
lock.py        one writer at a time
state.py       what the events of a journal mean
votes.py       the votes on a row, and what they decide
plan.py        the parameters of a session
queue.py       who gets which row, and for how long
pool.py        the table, as cells for people and as numbers for the learner
dispatch.py    the next row for an annotator
checks.py      what callers may hand over
ledger.py      a journal and its state, kept equal
exchange.py    labels and votes as CSV files
suspects.py    labeled rows to look at again
learner.py     what to ask next, and the model
refitting.py   the same in the background
progress.py    where a session stands
"""

from thresher.label_sessions.exchange import Imported
from thresher.label_sessions.progress import Progress
from thresher.label_sessions.session import LabelSession, Question
from thresher.label_sessions.state import Receipt
from thresher.label_sessions.suspects import Suspect
from thresher.label_sessions.votes import Agreement

__all__ = ["Agreement", "Imported", "LabelSession", "Progress", "Question", "Receipt", "Suspect"]
