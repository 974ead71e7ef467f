"""One writer at a time: a lock that the system releases when its process ends, however it ends."""

import json
import os
import socket
from pathlib import Path

from thresher.errors import SessionInUse, ThresherError
from thresher.wording import one_line

FILE_NAME = "lock"


class SessionLock:
    """An exclusive lock on a session's folder, held until it is released.

    The file says which process on which host holds it. That the file is there means nothing: the
    lock is the system's.

    Raises
    ------
    SessionInUse : another process has it, or this one

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = SessionLock(Path(folder))
    ...     try:
    ...         SessionLock(Path(folder))
    ...     except SessionInUse as error:
    ...         print(str(os.getpid()) in str(error))
    ...     lock.release()
    True
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(self._descriptor)
        except BlockingIOError as error:
            holder = _holder(folder / FILE_NAME)
            os.close(self._descriptor)
            raise SessionInUse(folder, holder) from error
        except BaseException:
            os.close(self._descriptor)
            raise
        who = {"process": os.getpid(), "host": socket.gethostname()}
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(who).encode(), 0)

    def release(self) -> None:
        """Let others have the session."""
        os.close(self._descriptor)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError as error:  # Windows
        raise ThresherError("labeling sessions need file locks, which this system lacks") from error
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(path: Path) -> str:
    """Who has the lock, as far as the file says."""
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(who['process'])} on {one_line(who['host'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
