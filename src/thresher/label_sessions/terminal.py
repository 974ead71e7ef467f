"""A session in a terminal: one row at a time, one key for each label."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from thresher.errors import NotSaved
from thresher.label_sessions.progress import Progress
from thresher.label_sessions.session import LabelSession, Question
from thresher.label_sessions.state import RowId
from thresher.rendering.text import plain_number, say, share
from thresher.wording import count, shortened, visible

N_SHOWN = 10  # columns that matter most
WIDEST_NAME = 32
MOST_BYTES = 64  # of one key
LONG = 60  # characters from which a cell gets lines of its own
CTRL_D = ("\x04", "\x00")  # the second if it was pressed before the terminal listened
SKIP, UNDO, COMMENT, ALL, QUIT = "s", "u", "c", "a", "q"


class Keys(Protocol):
    """Where answers come from."""

    def key(self) -> str:
        """The next key; empty at the end of the input."""

    def line(self) -> str:
        """The next line of text."""

    def forget(self) -> None:
        """Drop what was typed before the row was shown."""


class PipedKeys:
    """Keys from a file or a pipe, one on each line.

    Examples
    --------
    >>> import io
    >>> keys = PipedKeys(io.StringIO("1\\n"))
    >>> keys.key(), keys.key()
    ('1', '')
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def key(self) -> str:
        """The first character of the next line that is not empty."""
        for line in self._stream:
            if line.strip():
                return line.strip()[0]
        return ""

    def line(self) -> str:
        """The next line."""
        return self._stream.readline().rstrip("\n")

    def forget(self) -> None:
        """Nothing: what is in a file is meant."""


class TerminalKeys(PipedKeys):
    """Keys from a terminal, each as soon as it is pressed."""

    def key(self) -> str:
        """The next key that is pressed.

        Keys such as arrows send several characters at once; none of them is an answer.
        """
        with _without_lines(self._stream):
            pressed = os.read(self._stream.fileno(), MOST_BYTES).decode(errors="replace")
        key = "" if pressed in ("", *CTRL_D) else pressed[0]
        say(visible(key.strip()))
        return key

    def forget(self) -> None:
        """Drop what was typed ahead: nobody can have read the row."""
        import termios

        termios.tcflush(self._stream, termios.TCIFLUSH)


@contextmanager
def _without_lines(stream: TextIO) -> Iterator[None]:
    """In the block, the terminal hands over each key at once, and does not show it."""
    import termios
    import tty

    before = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)


def keys_of(stream: TextIO) -> Keys:
    """The keys of a stream: single ones of a terminal, lines of anything else."""
    try:
        import termios  # noqa: F401  not on Windows
    except ImportError:
        return PipedKeys(stream)
    return TerminalKeys(stream) if stream.isatty() else PipedKeys(stream)


class LabelTerminal:
    """A conversation with one annotator; `run` returns when there is nothing more to ask.

    Parameters
    ----------
    session : which must know its classes
    annotator : who answers
    keys : where the answers come from
    """

    def __init__(self, session: LabelSession, annotator: str, keys: Keys | None = None) -> None:
        self._session, self._annotator = session, annotator
        self._keys = keys or keys_of(sys.stdin)
        self._comments: dict[RowId, str] = {}
        self._labels = {str(n): label for n, label in enumerate(session.classes, start=1)}
        self._others: dict[str, Callable[[Question], bool]] = {
            SKIP: self._skip,
            UNDO: self._undo,
            COMMENT: self._comment,
            ALL: self._show_all,
        }

    def run(self) -> None:
        """Ask until there is nothing more to ask, or the annotator quits."""
        while (question := self._next()) is not None:
            self._show(question)
            if not self._answered(question):
                break
        say(self._farewell())

    def _next(self) -> Question | None:
        question = self._session.next_question(self._annotator, wait=False)
        if question is not None:
            return question
        if self._session.progress().refitting:
            say("Choosing the next rows ...")
        return self._session.next_question(self._annotator)  # a refit may have ended just now

    # -- what is shown -----------------------------------------------------------------------

    def _show(self, question: Question) -> None:
        say(f"\nRow {shortened(visible(question.row_id))}: {question.reason}")
        shown = question.columns[:N_SHOWN]
        texts = [name for name in self._session.pool.text_columns if name in question.values]
        names = [*dict.fromkeys([*texts, *shown])]
        _show_cells(question.values, names)
        if n_more := len(question.values) - len(names):
            say(f"  and {count(n_more, 'more column')} ([{ALL}] shows all)")
        say(describe(self._session.progress(self._annotator)))
        labels = "  ".join(f"[{key}] {visible(label)}" for key, label in self._labels.items())
        keys = f"[{SKIP}] skip  [{UNDO}] undo  [{COMMENT}] comment  [{QUIT}] quit"
        say(f"{labels}  {keys}: ", end="")
        self._keys.forget()

    def _show_all(self, question: Question) -> bool:
        _show_cells(question.values, [*question.values])
        return False

    # -- what is answered --------------------------------------------------------------------

    def _answered(self, question: Question) -> bool:
        """Whether to go on, after keys until the row is answered."""
        while True:
            key = self._keys.key()
            if key in ("", QUIT):
                return False
            try:
                if key in self._labels:
                    comment = self._comments.get(question.row_id)
                    label = self._labels[key]
                    self._session.vote(self._annotator, question.row_id, label, comment=comment)
                    return True
                if key not in self._others:
                    say(f"{visible(key)!r} is not one of the keys: ", end="")
                elif self._others[key](question):
                    return True
            except NotSaved as error:
                say(f"{error}: ", end="")

    def _skip(self, question: Question) -> bool:
        self._session.skip(self._annotator, question.row_id)
        return True

    def _undo(self, _: Question) -> bool:
        row = self._session.retract(self._annotator)
        say("Nothing to undo: " if row is None else f"Row {visible(row)} is open again.", end="")
        return row is not None

    def _comment(self, question: Question) -> bool:
        say("Comment: ", end="")
        text = self._keys.line().strip()
        if not text:  # perhaps Enter was pressed after the key
            say("Comment (Enter for none): ", end="")
            text = self._keys.line().strip()
        if text:
            self._session.note(self._annotator, text[:1000], question.row_id)
            self._comments[question.row_id] = text[:1000]
        say("Saved. Now the label: " if text else "No comment. Now the label: ", end="")
        return False

    def _farewell(self) -> str:
        progress = self._session.progress(self._annotator)
        done = f"Done: {progress.stop_reason}. " if progress.stop_reason else ""
        saved = f"{count(progress.n_labels, 'label')} saved in {visible(self._session.folder)}."
        return f"\n{done}{saved}"


def _is_long(cell: Any) -> bool:
    return isinstance(cell, str) and (len(cell) > LONG or "\n" in cell)


def _show_cells(values: dict[str, Any], names: list[str]) -> None:
    width = max((len(_name(name)) for name in names), default=0)
    for name in names:
        if name not in values:  # zero in a sparse row
            continue
        cell = _cell(values[name])
        if _is_long(values[name]):
            lines = (f"    {line}" for line in cell.split("\n"))
            say("\n".join([f"  {_name(name)}", *lines]))
        else:
            say(f"  {_name(name):{width}}  {cell}")


def _name(name: str) -> str:
    return shortened(visible(name), WIDEST_NAME)


def _cell(value: Any) -> str:
    """A cell in full, in which nothing can steer the terminal; line breaks stay."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return plain_number(value)
    return visible(value, keep="\n")


def describe(progress: Progress) -> str:
    """Where a session stands, in one line.

    Examples
    --------
    >>> from thresher.label_sessions.state import SessionState
    >>> state = SessionState.of([{"event": "header", "plan": {"label_budget": 9}, "at": ""}])
    >>> describe(Progress.of(state, stop_reason=None, refitting=True, annotator=None))
    '0 of 9 labels, no error estimate yet, refitting'
    """
    budget = progress.label_budget
    labels = "label" if (budget or progress.n_labels) == 1 else "labels"
    of = "" if budget is None else f" of {budget:,}"
    parts = [f"{progress.n_labels:,}{of} {labels}"]
    if progress.error_estimate is None or math.isnan(progress.error_estimate.estimate):
        parts.append("no error estimate yet")
    else:
        estimate, low, high = progress.error_estimate
        parts.append(f"error {share(estimate)} (95% interval {share(low)} to {share(high)})")
    parts += ["refitting"] * progress.refitting
    parts += [f"stopped: {progress.stop_reason}"] * (progress.stop_reason is not None)
    return ", ".join(parts)
