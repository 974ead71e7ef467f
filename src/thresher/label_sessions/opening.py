"""The folder of a session: made, opened again, or only read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thresher.estimators.model import Label
from thresher.files import sync_folder
from thresher.label_sessions.disk import SystemDisk
from thresher.label_sessions.journal import read_lines, write_new
from thresher.label_sessions.ledger import Ledger, now, state_of
from thresher.label_sessions.lock import SessionLock
from thresher.label_sessions.plan import Plan
from thresher.label_sessions.pool import SessionPool, Source
from thresher.label_sessions.state import SessionState

JOURNAL = "journal.txt"
FORMAT = "thresher-label-session 1"
PACKAGES = ("thresher", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, eq=False)
class OpenFolder:
    """A folder that this process has locked, with its journal and its pool."""

    path: Path
    lock: SessionLock
    ledger: Ledger
    source: Source
    pool: SessionPool


def create_folder(
    folder: Path, source: Source, plan: Plan, classes: list[Label] | None, seed: int
) -> OpenFolder:
    """A folder with a new session.

    Raises
    ------
    FileExistsError : the folder has a session
    """
    refuse_session(folder)  # before the pool is read
    pool = SessionPool.of(source, seed=seed)
    header = {
        "event": "header",
        "format": FORMAT,
        "at": now(),
        "versions": {name: version(name) for name in PACKAGES},
        "seed": seed,
        "classes": classes,
        "path": None if source.path is None else str(source.path),
        "label": source.label,
        "id_column": source.id_column,
        "plan": asdict(plan),
        "pool": pool.fingerprint,
    }
    folder.mkdir(parents=True, exist_ok=True)
    sync_folder(folder.parent)
    with locked(folder) as lock:
        refuse_session(folder)
        # Twice: if one of the two lines is damaged, repair has the other.
        write_new(folder / JOURNAL, [header, header], SystemDisk())
        return OpenFolder(folder, lock, Ledger(folder / JOURNAL), source, pool)


def open_folder(folder: Path, table: Any = None) -> OpenFolder:
    """The folder of a session; without a table, the pool is the file that it was created with.

    Raises
    ------
    FileNotFoundError, SessionInUse, DamagedJournal, LearningStopped : see `LabelSession.open`
    """
    require_session(folder)
    with locked(folder) as lock:
        ledger = Ledger(folder / JOURNAL)
        try:
            source = _source(ledger.state, table)
            pool = load_pool(source, ledger.state)
            pool.require(ledger.state.header["pool"], folder)
        except BaseException:
            ledger.close()
            raise
        return OpenFolder(folder, lock, ledger, source, pool)


def _source(state: SessionState, table: Any) -> Source:
    header = state.header
    table = header["path"] if table is None else table
    if table is None:
        raise ValueError("pool must be given: the session was created with a table in memory")
    return Source(table, header["label"], header["id_column"])


def load_pool(source: Source, state: SessionState, *more: str) -> SessionPool:
    """The pool of a session, with all rows that were asked about or imported, and more ids."""
    needed = {*state.imported, *state.asked, *more}
    return SessionPool.of(source, seed=state.header["seed"], needed=needed)


def read_folder(folder: str | Path) -> SessionState:
    """Where a session stands, read without its pool, also while another process has it open."""
    require_session(Path(folder))
    path = Path(folder) / JOURNAL
    return state_of(read_lines(path.read_bytes(), path).events, path)


def refuse_session(folder: Path) -> None:
    """Raise if there is a session in a folder."""
    if (folder / JOURNAL).exists():
        raise FileExistsError(17, "there is a labeling session in this folder", str(folder))


def require_session(folder: Path) -> None:
    """Raise unless there is a session in a folder."""
    if not (folder / JOURNAL).is_file():
        raise FileNotFoundError(2, "there is no labeling session in this folder", str(folder))


@contextmanager
def locked(folder: Path) -> Iterator[SessionLock]:
    """The lock of a folder, released after an error and kept otherwise."""
    lock = SessionLock(folder)
    try:
        yield lock
    except BaseException:
        lock.release()
        raise
