"""A labeling run as a plain JSON file: questions, answers, and which pool they belong to."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thresher.errors import DamagedFile
from thresher.files import other_than_file, write_text
from thresher.labeling.answers import Answers, plain_labels
from thresher.labeling.parameters import Parameters
from thresher.labeling.transcript import Batch, Transcript
from thresher.validation import check_count
from thresher.wording import one_line

FORMAT, VERSION = "thresher-labeling", 1
MAX_BYTES = 2**28


def save_run(
    path: str | Path, transcript: Transcript, parameters: Parameters, pool: Mapping[str, int]
) -> None:
    """Write a run, atomically: an interrupt leaves the old file or the new one."""
    content = {
        "seed": transcript.seed,
        "parameters": asdict(parameters),
        "pool": dict(pool),
        "initial": list(transcript.initial),
        "batches": [[list(batch.rows), list(batch.is_random)] for batch in transcript.batches],
        "answers": list(transcript.answers.by_row.items()),
    }
    head = {"format": FORMAT, "version": VERSION, "checksum": checksum_of(content)}
    write_text(path, json.dumps({**head, "run": content}, allow_nan=False) + "\n")


def load_run(path: str | Path) -> tuple[Transcript, Parameters, dict[str, int]]:
    """The transcript, the parameters and the description of the pool in a file of `save_run`.

    Raises
    ------
    FileNotFoundError : there is no such file
    DamagedFile : it is not such a file, or is damaged
    """
    path = Path(path)
    try:
        if other := other_than_file(path):
            raise ValueError(f"it is {other}")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
        return _parse(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, PermissionError):
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError) as error:
        raise DamagedFile(str(path), f"{type(error).__name__}: {one_line(error, 200)}") from error


def _parse(file: dict[str, Any]) -> tuple[Transcript, Parameters, dict[str, int]]:
    if (file["format"], file["version"]) != (FORMAT, VERSION):
        raise ValueError(f"format {file['format']!r} version {file['version']!r}")
    run = file["run"]
    if checksum_of(run) != file["checksum"]:
        raise ValueError("its content is not what was written")
    n_rows = check_count(run["pool"]["n_rows"], "n_rows")
    batches = [Batch(tuple(rows), tuple(is_random)) for rows, is_random in run["batches"]]
    if any(len(batch.rows) != len(batch.is_random) for batch in batches):
        raise ValueError("a batch has rows without a kind")
    transcript = Transcript(
        seed=check_count(run["seed"], "seed", minimum=0),
        initial=list(run["initial"]),
        batches=batches,
        answers=_answers(run["answers"]),
    )
    asked = [*transcript.asked(), *transcript.initial]
    if len(set(asked)) < len(asked) or not set(transcript.answers.by_row) <= set(asked):
        raise ValueError("a row is asked about twice, or has an answer without a question")
    if any(type(row) is not int or not 0 <= row < n_rows for row in asked):
        raise ValueError(f"a row is not one of {n_rows}")
    return transcript, Parameters(**run["parameters"]), run["pool"]


def _answers(pairs: list[list[Any]]) -> Answers:
    answers = Answers()
    labels = plain_labels([label for _, label in pairs], len(pairs), answers.kept)
    answers.update(dict(zip((row for row, _ in pairs), labels)))
    return answers


def checksum_of(content: Any) -> int:
    """A number that changes with the content.

    Examples
    --------
    >>> checksum_of({"seed": 0}) == checksum_of({"seed": 1})
    False
    """
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return zlib.crc32(text.encode())
