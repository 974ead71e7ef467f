"""What can go wrong in Thresher's own terms, as a small tree under one name.

    ThresherError
    ├── BudgetExceeded    labels would cost more than the budget allows
    ├── UnknownId         an id that no draw has handed out (also a ValueError)
    ├── LearningStopped   a run that cannot continue
    ├── DamagedFile       a file that is damaged or not ours (also a ValueError)
    │   └── DamagedJournal    the journal of a labeling session, with the line and the byte
    ├── SessionInUse      a labeling session that another process has open
    ├── NotSaved          an answer that could not be written; the session goes on
    ├── SessionStopped    a labeling session whose disk can no longer be trusted
    ├── UnreadableTable   a file that is not a table of numbers and labels (also a ValueError)
    ├── UnreadablePart    a part of a pool on disk or on a cluster is lost, damaged or has changed
    ├── NotEnoughMemory   arrays that would not fit into memory (also a MemoryError)
    └── AdversaryError    an adversary did not return rows and labels (also a ValueError)

Misuse of a parameter raises `ValueError` or `TypeError` directly.
"""

import sys
import warnings
from pathlib import Path
from typing import Self

INSIDE = ("thresher", "sklearn", "joblib")  # packages between a user's call and our own code


class ThresherError(Exception):
    """Anything Thresher raises about its own work: `except ThresherError` catches it all."""


class BudgetExceeded(ThresherError):
    """A request that would cost more than the budget; it is refused before anything is paid.

    Attributes
    ----------
    n_asked : what the request would cost
    n_left : what is left of the budget

    Examples
    --------
    >>> error = BudgetExceeded("labels", n_asked=12, n_left=5, kept="95 paid labels are kept")
    >>> print(error)
    12 labels are needed, but the budget has only 5 left; 95 paid labels are kept. Continue with
    a larger budget
    >>> error.n_left
    5
    """

    def __init__(self, what: str, *, n_asked: int, n_left: int, kept: str) -> None:
        super().__init__(
            f"{n_asked} {what} are needed, but the budget has only {n_left} left; {kept}. "
            "Continue with a larger budget"
        )
        self.n_asked = n_asked
        self.n_left = n_left


class LearningStopped(ThresherError):
    """A run that cannot continue; the message says what it lacks, and what it learned is kept.

    Examples
    --------
    >>> print(LearningStopped("the pool gave no usable row"))
    the pool gave no usable row
    """


class DamagedFile(ThresherError, ValueError):
    """A file that is damaged or that Thresher did not write.

    Examples
    --------
    >>> print(DamagedFile("run.npz", "KeyError: header"))
    cannot read run.npz (KeyError: header): it is damaged or not in the expected format. The file
    was not changed
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"cannot read {path} ({reason}): it is damaged or not in the expected format. The file "
            "was not changed"
        )


class DamagedJournal(DamagedFile):
    """The journal of a labeling session has a line that is not what was written.

    Attributes
    ----------
    line : its number, from 1
    byte : where it begins in the file, from 0

    Examples
    --------
    >>> print(DamagedJournal("mail/journal.txt", 7, 1420, "the checksum does not match"))
    cannot read mail/journal.txt (line 7, byte 1,420: the checksum does not match): it is damaged or
    not in the expected format. The file was not changed. 'thresher label repair mail' saves every
    valid vote
    """

    def __init__(self, path: str | Path, line: int, byte: int, reason: str) -> None:
        super().__init__(str(path), f"line {line:,}, byte {byte:,}: {reason}")
        advice = f"'thresher label repair {Path(path).parent}' saves every valid vote"
        self.args = (f"{self.args[0]}. {advice}",)
        self.line, self.byte = line, byte


class SessionInUse(ThresherError):
    """A labeling session that another process has open.

    Examples
    --------
    >>> print(SessionInUse("mail", "process 4711 on ada"))
    the session mail is open in process 4711 on ada; close it there first
    """

    def __init__(self, folder: str | Path, holder: str) -> None:
        super().__init__(f"the session {folder} is open in {holder}; close it there first")


class NotSaved(ThresherError):
    """An answer that could not be written; nothing else is lost, and the session goes on.

    Examples
    --------
    >>> print(NotSaved("No space left on device", 12))
    this answer was not saved (No space left on device). Everything before it, 12 journal lines, is
    safe; answer again once the disk has room
    """

    def __init__(self, reason: str, n_lines: int) -> None:
        super().__init__(
            f"this answer was not saved ({reason}). Everything before it, {n_lines:,} journal "
            "lines, is safe; answer again once the disk has room"
        )


class SessionStopped(ThresherError):
    """A labeling session that stopped because the disk can no longer be trusted.

    Examples
    --------
    >>> print(SessionStopped("mail/journal.txt", "Input/output error", 12))
    the session stopped: the disk did not confirm the last answer (Input/output error), so it may be
    lost. The first 12 lines of mail/journal.txt are safe; check the disk, then open the session
    again
    """

    def __init__(self, path: str | Path, reason: str, n_lines: int) -> None:
        super().__init__(
            f"the session stopped: the disk did not confirm the last answer ({reason}), so it may "
            f"be lost. The first {n_lines:,} lines of {path} are safe; check the disk, then open "
            "the session again"
        )


class UnreadableTable(ThresherError, ValueError):
    """A file that cannot be used as a table: which, what is wrong with it and where, what to do.

    Attributes
    ----------
    path : the file

    Examples
    --------
    >>> print(UnreadableTable("mail.csv", "is empty", advice="check how it was written"))
    mail.csv is empty; check how it was written
    """

    def __init__(self, path: str | Path, problem: str, *, advice: str) -> None:
        super().__init__(f"{path} {problem}; {advice}")
        self.path = path


class UnreadablePart(ThresherError):
    """A part of a pool on disk or on a cluster that cannot be read, or not as it was before.

    Attributes
    ----------
    path : the file, or what the cluster calls the partition
    part : the row group, batch or partition, in words; empty if it is about the whole file

    Examples
    --------
    >>> print(UnreadablePart("mail/part-3.parquet", "row group 7", "is truncated"))
    mail/part-3.parquet, row group 7: is truncated; write it again or move it out of the folder
    (subfolders are read as well), then start over
    """

    def __init__(
        self,
        path: str | Path,
        part: str,
        problem: str,
        advice: str = "write it again or move it out of the folder (subfolders are read as well), "
        "then start over",
    ) -> None:
        where = f"{path}, {part}:" if part else f"{path}"
        super().__init__(f"{where} {problem}; {advice}")
        self.path, self.part, self.problem, self.advice = path, part, problem, advice

    def __reduce__(self) -> tuple[type[Self], tuple[str | Path, str, str, str]]:
        """Workers send it whole."""
        return type(self), (self.path, self.part, self.problem, self.advice)


class UncertifiedPhase(UserWarning):
    """A phase whose solver missed its certificate; the phase's record says by how much."""


class DistrustedClass(UserWarning):
    """A class whose rows are hardly trusted: planted, or too small for the noise rate."""


class UnsuitablePool(UserWarning):
    """Rows that are far from mean 0 and variance 1: not what a learner is made for."""


class DoubtfulLabels(UserWarning):
    """Labels of one class only, or labels that make a model worse: rows may be planted."""


class UnknownId(ThresherError, ValueError):
    """An id that no draw has handed out.

    Examples
    --------
    >>> print(UnknownId(17, n_known=10))
    id 17 was never drawn; the ids drawn so far are 0 to 9
    >>> print(UnknownId(0, n_known=0))
    id 0 was never drawn; nothing has been drawn so far
    """

    def __init__(self, first: int, *, n_known: int) -> None:
        known = f"the ids drawn so far are 0 to {n_known - 1}" if n_known else "nothing has been"
        super().__init__(f"id {first} was never drawn; {known}{'' if n_known else ' drawn so far'}")
        self.first = first


class AdversaryError(ThresherError, ValueError):
    """An adversary that returned something other than finite rows and labels of -1 and +1.

    Examples
    --------
    >>> print(AdversaryError("LabelFlip", "y must have length 3, got 2"))
    the adversary LabelFlip returned invalid output: y must have length 3, got 2
    """

    def __init__(self, adversary: str, reason: str) -> None:
        super().__init__(f"the adversary {adversary} returned invalid output: {reason}")


class NotEnoughMemory(ThresherError, MemoryError):
    """A computation that was not started because its arrays would not fit into memory.

    Examples
    --------
    >>> print(NotEnoughMemory("the second moment", 64 * 10**9, 16 * 10**9))
    the second moment needs about 64 GB of memory, but only 16 GB is free; use fewer features, fewer
    rows or a larger machine
    """

    def __init__(self, purpose: str, n_bytes: int, available: int, place: str = "") -> None:
        super().__init__(
            f"{purpose} needs about {n_bytes / 1e9:.3g} GB of memory{place}, but only "
            f"{available / 1e9:.3g} GB is free; use fewer features, fewer rows or a larger machine"
        )


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called Thresher.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("the pool is small", UserWarning)
    >>> print(caught[0].message)
    the pool is small
    """
    warnings.warn(message, category, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level of the code that called Thresher, for a warning of the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_inside(module: str) -> bool:
    return module.split(".")[0] in INSIDE
