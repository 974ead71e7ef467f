"""A table on standard input: it is saved first, because tables are read twice."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thresher.table_files.table import Refusal

STANDARD_INPUT = "-"
ENDINGS = {b"\x1f\x8b": ".csv.gz", b"PAR1": ".parquet", b"ARROW1": ".arrow", b"PK": ".npz"}


def name_of(path: str | Path) -> str:
    """What a file is called in messages.

    Examples
    --------
    >>> name_of("-"), name_of("data/mail.csv")
    ('standard input', 'data/mail.csv')
    """
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


@contextmanager
def as_file(path: str | Path) -> Iterator[Path]:
    """The path itself, or that of a file with what is on standard input, which is removed later."""
    if str(path) != STANDARD_INPUT:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="thresher-") as folder:
        try:
            saved = _save(Path(folder))
        except (OSError, ValueError) as error:  # ValueError: it is closed
            reason = getattr(error, "strerror", None) or error
            raise Refusal(f"cannot be saved ({reason})", advice="pass a file instead") from error
        yield saved


def _save(folder: Path) -> Path:
    """A file with all of standard input; its first bytes say its format."""
    start = sys.stdin.buffer.read(8)
    suffix = next((end for magic, end in ENDINGS.items() if start.startswith(magic)), ".csv")
    saved = folder / f"table{suffix}"
    with saved.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return saved
