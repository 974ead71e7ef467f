"""`LabelSession`: people label a pool, and what was reported as saved is never lost."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from thresher.estimators.model import HalfspaceModel, Label
from thresher.estimators.model_file import save_model
from thresher.label_sessions.checks import check_classes, check_label, check_name, check_text
from thresher.label_sessions.dispatch import Dispatcher
from thresher.label_sessions.exchange import Imported, read_labels, write_labels, write_votes
from thresher.label_sessions.journal import Event
from thresher.label_sessions.opening import OpenFolder, create_folder, load_pool, open_folder
from thresher.label_sessions.plan import Plan
from thresher.label_sessions.pool import Source
from thresher.label_sessions.progress import Progress
from thresher.label_sessions.state import Receipt, RowId, SessionState
from thresher.label_sessions.suspects import Suspect, suspects_of
from thresher.labeling.answers import Answers
from thresher.validation import seed_from


@dataclass(frozen=True)
class Question:
    """A row that an annotator is asked about.

    Parameters
    ----------
    row_id : the index label of a pandas frame, the id of an id column, or the row number
    values : the row by column, as it stands in the table
    columns : those that matter to the model, the strongest first; before there is one, all
    reason : why this row is asked about
    is_random : whether it was drawn at random
    lease_end : in seconds since 1970; from then on, somebody else can get the row
    """

    row_id: RowId
    values: dict[str, Any]
    columns: tuple[str, ...]
    reason: str
    is_random: bool
    lease_end: float


class LabelSession:
    """A labeling session in a folder, for one or more annotators; call `create` or `open`.

    All methods can be called from any thread. The only truth is the journal, a text file in the
    folder, see `thresher.label_sessions.journal`: whatever was acknowledged is in it and on the
    disk. The model is refitted in the background, so that the next question is there at once.

    A request id makes a request safe to repeat: the second one with the same id changes nothing and
    returns the same receipt. Without one, every call is a request of its own.

    Attributes
    ----------
    folder : where the session lies
    pool : the table: with ``.columns``, ``.n_rows`` and ``.row(row_id)``
    messages : what people should know at the start, such as that a line was torn; mostly empty

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> folder = tempfile.mkdtemp()
    >>> with LabelSession.create(f"{folder}/mail", X, classes=["ham", "spam"], label_budget=30,
    ...                          random_state=0) as session:
    ...     while (question := session.next_question("ann")) is not None:
    ...         label = "spam" if question.values["x1"] > 0 else "ham"
    ...         _ = session.vote("ann", question.row_id, label)
    ...     progress = session.progress()
    >>> progress.n_labels, progress.stop_reason
    (30, 'budget spent')
    """

    def __init__(self, opened: OpenFolder) -> None:
        self.folder, self.pool = opened.path, opened.pool
        self.messages = (*opened.ledger.messages, *filter(None, [self.pool.remark]))
        self._lock, self._ledger, self._source = opened.lock, opened.ledger, opened.source
        self._changed = threading.Condition(threading.RLock())
        self._dispatcher = Dispatcher(self._ledger, self.pool, self._changed)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        pool: Any,
        *,
        classes: Sequence[Label] | None = None,
        votes_per_row: int = 1,
        decision: str = "first",
        lease_seconds: float = 600,
        noise_rate: float = 0.05,
        sparsity: int | str = "auto",
        batch_size: int = 10,
        label_budget: int | None = None,
        target_error: float | None = None,
        label: str | None = None,
        id_column: str | None = None,
        random_state: Any = None,
    ) -> Self:
        """A new session in a folder, which is made if it does not exist.

        Parameters
        ----------
        folder : must not have a session yet
        pool : a path of a file that `thresher learn` reads, an array, a sparse matrix or a data
            frame. Of more than 100,000 rows, a random sample of 100,000 is asked about
        classes : the two labels, in the order in which they are shown. By default, the first two
            different labels that are voted
        votes_per_row : how many annotators are asked about each row
        decision : "first": a row has the label of its first vote; "majority": what most votes say
        lease_seconds : how long a row is kept for the annotator who has it on the screen
        noise_rate, sparsity, batch_size, label_budget, target_error : see `ActiveClassifier`
        label : a column of the pool to leave out, such as known answers
        id_column : a column with the ids of the rows
        random_state : integer seed, Generator, RandomState or None

        Raises
        ------
        FileExistsError : the folder has a session
        """
        plan = Plan(
            votes_per_row=votes_per_row,
            decision=decision,
            lease_seconds=lease_seconds,
            noise_rate=noise_rate,
            sparsity=sparsity,
            batch_size=batch_size,
            label_budget=label_budget,
            target_error=target_error,
        )
        seed, labels = seed_from(random_state), check_classes(classes)
        source = Source(pool, label, id_column)
        return cls(create_folder(Path(folder), source, plan, labels, seed))

    @classmethod
    def open(cls, folder: str | Path, pool: Any = None) -> Self:
        """The session in a folder, as it was left.

        Parameters
        ----------
        folder : of the session
        pool : the same table as before; not needed if it was a file that is still there

        Raises
        ------
        FileNotFoundError : there is no session in the folder
        SessionInUse : another process has it open
        DamagedJournal : a line of the journal is not what was written
        LearningStopped : the pool is not the one that the session was created with
        """
        return cls(open_folder(Path(folder), pool))

    # -- what a session is about -------------------------------------------------------------

    @property
    def classes(self) -> list[Label]:
        """The two labels in the order in which they were given; fewer while they are not known."""
        with self._changed:
            known = self._state.header["classes"]
            return list(known) if known else Answers(dict(self._every_label())).classes

    @property
    def plan(self) -> Plan:
        """The parameters of the session; see `change_plan`."""
        return self._state.plan

    def _every_label(self) -> Iterator[tuple[int, Label]]:
        state = self._state
        votes = [vote.label for by in state.votes.values() for vote in by.values()]
        return enumerate([*votes, *state.resolved.values(), *state.imported.values()])

    @property
    def _state(self) -> SessionState:
        return self._ledger.state

    # -- questions ---------------------------------------------------------------------------

    def next_question(self, annotator: str, *, wait: bool = True) -> Question | None:
        """The row to ask this annotator about, or None if there is none for this annotator now.

        The same row again until it is answered or its lease has ended. If the next rows are still
        being chosen, the call waits for them; with `wait=False`, it returns None, and
        `progress().refitting` is True.
        """
        check_name(annotator, "annotator")
        with self._changed:
            lease = self._dispatcher.next_lease(annotator, wait=wait)
            if lease is None:
                return None
            asked, values = self._state.asked[lease.row_id], self.pool.row(lease.row_id)
            matter = self._dispatcher.columns_that_matter(lease.row_id)
            why = asked.reason, asked.is_random
            return Question(lease.row_id, values, matter, *why, lease.until)

    # -- answers -----------------------------------------------------------------------------

    def vote(
        self,
        annotator: str,
        row_id: RowId,
        label: Label,
        *,
        request_id: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Record a label; it is on the disk when this returns.

        A second vote of the same annotator on a row replaces the first. A vote that comes after its
        lease has ended is kept.

        Raises
        ------
        ValueError, TypeError : a row that was not asked about, a label that is not one of the
            classes, or a request id that was used for something else. Nothing is recorded
        NotSaved : the disk is full; nothing is recorded, and the session goes on
        SessionStopped : the disk did not confirm; the message says what is safe
        """
        with self._changed:
            plain = check_label(label, self.classes)
            text = None if comment is None else check_text(comment, "comment")
            event = _event("vote", annotator=annotator, label=plain, comment=text)
            return self._answer(event, row_id, request_id)

    def skip(self, annotator: str, row_id: RowId, *, request_id: str | None = None) -> Receipt:
        """Record that an annotator cannot tell; the row is left to others."""
        with self._changed:
            return self._answer(_event("skip", annotator=annotator), row_id, request_id)

    def _answer(self, event: Event, row_id: Any, request_id: str | None) -> Receipt:
        annotator, row = check_name(event["annotator"], "annotator"), self._asked_row(row_id)
        receipt = self._ledger.request({**event, "row": row}, request_id)
        self._dispatcher.leases.end(annotator, row)
        self._dispatcher.refit_if_needed(annotator)
        return receipt

    def retract(self, annotator: str, *, request_id: str | None = None) -> RowId | None:
        """Undo the annotator's last vote or skip; its row, or None if there is nothing to undo.

        The row is asked about again, at once.
        """
        with self._changed:
            check_name(annotator, "annotator")
            known = self._state.receipts.get(request_id or "")
            row = self._state.last_of(annotator) if known is None else known.row_id
            if row is None:
                return None
            event = _event("retract", annotator=annotator, row=row)
            receipt = self._ledger.request(event, request_id)
            if known is None:
                self._dispatcher.go_back(annotator, row)
            return receipt.row_id

    def note(
        self,
        annotator: str,
        text: str,
        row_id: RowId | None = None,
        *,
        request_id: str | None = None,
    ) -> Receipt:
        """Record a remark, about a row or about the session."""
        with self._changed:
            check_name(annotator, "annotator")
            row = None if row_id is None else self.pool.plain_id(row_id)
            text = check_text(text, "text")
            event = _event("note", annotator=annotator, text=text, row=row)
            return self._ledger.request(event, request_id)

    def resolve(self, row_id: RowId, label: Label, *, request_id: str | None = None) -> Receipt:
        """Decide a row, whatever the votes say: for the owner of the session."""
        with self._changed:
            plain = check_label(label, self.classes)
            event = _event("resolve", row=self._asked_row(row_id), label=plain)
            return self._ledger.request(event, request_id)

    def change_plan(self, **changes: Any) -> Plan:
        """Change parameters of the plan, such as `label_budget`; the noise rate stays."""
        with self._changed:
            plan = replace(self._state.plan, **changes)
            if plan.noise_rate != self._state.plan.noise_rate:
                raise ValueError("noise_rate cannot be changed: the questions depend on it")
            if plan != self._state.plan:
                self._ledger.record({"event": "plan", "plan": asdict(plan)})
            return plan

    def _asked_row(self, row_id: Any) -> RowId:
        row = self.pool.plain_id(row_id)
        if row not in self._state.asked:
            raise ValueError(f"row {row!r} was not asked about")
        return row

    # -- results -----------------------------------------------------------------------------

    def progress(self, annotator: str | None = None) -> Progress:
        """Where the session stands; with an annotator, also how many votes are theirs."""
        with self._changed:
            return Progress.of(
                self._state,
                stop_reason=self._dispatcher.stop_reason,
                refitting=self._dispatcher.refitter.is_running,
                annotator=annotator,
            )

    def wait(self) -> None:
        """Wait until no refit is running in the background."""
        self._dispatcher.refitter.wait()

    def model(self) -> HalfspaceModel:
        """The model of the labels so far: it depends on the pool, the seed and the votes alone."""
        with self._changed:
            snapshot = self._dispatcher.snapshot()
        return snapshot.model()

    def save_model(self, path: str | Path) -> None:
        """Write the model to a JSON file, which `load_model` and `thresher predict` read."""
        save_model(self.model(), path)

    def suspects(self) -> list[Suspect]:
        """Labeled rows to look at again: for the owner of the session."""
        with self._changed:
            snapshot = self._dispatcher.snapshot()
        chances = snapshot.label_probabilities()  # takes long: votes go on meanwhile
        with self._changed:
            return suspects_of(self._state, chances, snapshot.trust())

    # -- in and out --------------------------------------------------------------------------

    def export_labels(self, path: str | Path, *, raw_csv: bool = False) -> int:
        """Write the label of each row to a CSV file; the number of labels.

        Text that a spreadsheet would execute has a ' before it, unless `raw_csv`.
        """
        with self._changed:
            return write_labels(path, self._state, raw_csv=raw_csv)

    def export_votes(self, path: str | Path, *, raw_csv: bool = False) -> int:
        """Write every vote that counts to a CSV file; the number of votes."""
        with self._changed:
            return write_votes(path, self._state, raw_csv=raw_csv)

    def import_labels(self, path: str | Path) -> Imported:
        """Take the labels of a CSV file with the columns `row_id` and `label`, all or none.

        They cost nothing and rows that have one are not asked about. Votes on a row count more.
        Labels that were imported before are not recorded again; another label replaces them.

        Raises
        ------
        UnreadableTable : the file has no such columns, or a label that is not one of the classes
        ValueError : the pool has no such row
        """
        with self._changed:
            by_text = read_labels(path, self.classes)
            self._reach(by_text)
            labels = {self.pool.id_of(text): label for text, label in by_text.items()}
            known = self._state.imported
            new = {row: label for row, label in labels.items() if known.get(row) != label}
            done = Imported.of(labels, known)
            if new:
                event = _event("import", rows=list(new), labels=list(new.values()))
                self._ledger.record({**event, "file": Path(path).name})
            return done

    def _reach(self, row_ids: Iterable[str]) -> None:
        """Let the sample of a long pool include these rows."""
        if self.pool.n_rows > len(self.pool.ids) and not all(map(self.pool.has_text, row_ids)):
            self.pool = load_pool(self._source, self._state, *row_ids)
            self._dispatcher.use(self.pool)

    # -- the end -----------------------------------------------------------------------------

    def close(self) -> None:
        """Wait for a running refit, then release the session; closing twice does nothing."""
        self._dispatcher.refitter.wait()
        with self._changed:
            if self._ledger.close():
                self._lock.release()
                self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _event(kind: str, **fields: Any) -> Event:
    """An event of this kind with the fields that are not None."""
    return {"event": kind, **{name: value for name, value in fields.items() if value is not None}}
