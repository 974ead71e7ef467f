"""Files that are no models: each is refused with a typed error, soon and without much memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimators.saved import CONTENT, TEXT, text_with
from thresher.errors import DamagedFile
from thresher.estimators import load_model
from thresher.estimators.model_file import MAX_BYTES, MAX_MARKS

SECONDS = 1.0  # of work; a busy machine may take longer
Make = Callable[[Path], object]


def holding(content: str | bytes) -> Make:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(data)


def changed(name: str, value: Any) -> Make:
    return holding(json.dumps({**CONTENT, name: value}))


def literal(name: str, text: str) -> Make:
    return holding(text_with(name, text))


def many(unit: str, n_bytes: int = MAX_BYTES - 2_000) -> str:
    """A list of one value again and again, as long as a file may be."""
    return "[" + ",".join([unit] * (n_bytes // (len(unit) + 1))) + "]"


# -- values that JSON can hold ---------------------------------------------------------------

LONG = "d" * 10_001
HALF = "\ud800"
WRONG: dict[str, list[Any]] = {
    "format": ["other", "", "Thresher-Model", None, 1, True, ["thresher-model"], {}],
    "version": [0, -1, 2, 10**30, "1", "", None, 1.0, 1.5, True, [1], {}],
    "n_features": [0, -1, 3, 5, 10**7 + 1, 10**12, 10**400, 4.0, 1e3, "4", True, None, [4], {}],
    "feature_names": [
        [],
        ["a", "b", "c"],
        ["a", "b", "c", "d", "e"],
        ["a", "b", "c", "a"],
        ["a", "b", "c", 4],
        ["a", "b", "c", None],
        ["a", "b", "c", ["d"]],
        "abcd",
        {"a": 1},
        0,
        ["a", "b", "c", LONG],
        ["a", "b", "c", HALF],
        ["a", "b", "c", "\udc00\ud800"],
        ["a", "b", "c", "\x00"],
        ["a", "b", "c", "d\x1b[2J"],
        ["a", "b", "c", "d\x08"],
        ["a", "b", "c", "d\x7f"],
    ],
    "classes": [
        [],
        ["no"],
        ["a", "b", "c"],
        ["yes", "no"],
        ["x", "x"],
        [1, 1],
        [2, 1],
        [1, "a"],
        [1, 2.0],
        [0, True],
        [None, 1],
        [[1], [2]],
        [{}, {}],
        "no",
        {"no": 0, "yes": 1},
        None,
        [1, 10**400],
        [1, 2**64],
        [-1, 2**63],
        ["a", LONG],
        ["a", HALF],
        ["a", "a\x00"],
        ["a", "b\x1b]0;title\x07"],
    ],
    "support": [
        [3, 1],
        [1, 1],
        [-1, 3],
        [1, 4],
        [1, 10**30],
        [1],
        [1, 2, 3],
        [],
        [1.0, 3.0],
        ["b", "d"],
        [True, 3],
        [1, None],
        [[1], [3]],
        None,
        "13",
        {},
        1,
    ],
    "weights": [
        [],
        [0.5],
        [0.5, 0.5, 0.5],
        [0.5, None],
        [0.5, "1"],
        [0.5, True],
        [0.5, [1]],
        [10**400, 1],
        [1e308, 1e308],
        [1e307, 0.0],
        None,
        {},
        "ab",
    ],
    "offset": [None, "0", [0], True, {}, 10**400, 1e308, -1e308],
    "center": [[0.0], [0.0, "x"], [0.0, None], [0.0, False], [0.0, 10**400], None, 0.0, {}],
    "scale": [
        [1.0, 0.0],
        [1.0, 0],
        [1.0, -0.0],
        [1.0, -2.0],
        [1.0, 5e-324],
        [1.0, 1e-308],
        [1.0],
        [1.0, None],
        [1.0, "2"],
        [1.0, True],
        None,
        1.0,
    ],
    "reach": [0, 0.0, -0.0, -1.0, "2", "Infinity", [2], True, {}, 10**400],
    "provenance": [None, [], "x", 1, {"a": HALF}, {HALF: 1}, {"a": "\x1b"}, {"a": ["b" * 10_001]}],
    "certificates": [None, {}, [1], [None], ["x"], [[]], "x", [{"loss": HALF}]],
}
VALUES = {
    f"{name} is {json.dumps(value)[:40]}": changed(name, value)
    for name, values in WRONG.items()
    for value in values
}
LITERALS = {
    f"{name} is {text}": literal(name, text)
    for name in ("n_features", "offset", "reach", "provenance")
    for text in ("NaN", "Infinity", "-Infinity", "1e999999", "-1e999999", "nan", "0x10", "01")
}
IN_LISTS = {
    f"{name} has {text[:20]}": literal(name, f"[1.0, {text}]")
    for name in ("weights", "center", "scale", "classes", "support")
    for text in ("NaN", "Infinity", "1e999999", "1" * 5_000, "1,")
}
MISSING = {
    f"no {name}": holding(json.dumps({k: v for k, v in CONTENT.items() if k != name}))
    for name in CONTENT
}

# -- texts that are no JSON, or not the right one --------------------------------------------


def deep(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


TEXTS: dict[str, str | bytes] = {
    "empty": b"",
    "a space": b" ",
    "a zero byte": b"\0",
    "not utf-8": b"\xff\xfe",
    "latin-1": TEXT.replace('"no"', '"n\xf6"').encode("latin-1"),
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.",
    "an archive": b"PK\x03\x04" + bytes(100),
    "noise": bytes(range(256)) * 50,
    "a byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16 without mark": TEXT.encode("utf-16-le"),
    "utf-32": TEXT.encode("utf-32"),
    "null": b"null",
    "true": b"true",
    "a number": b"1",
    "a list": b"[]",
    "a list of models": f"[{TEXT}]",
    "a text": b'"x"',
    "a model as text": json.dumps(TEXT),
    "an empty object": b"{}",
    "two models": TEXT + TEXT,
    "two lines": TEXT + "\n{}",
    "something after it": TEXT + "x",
    "zero bytes after it": TEXT.encode() + b"\0" * 10,
    "something before it": "x" + TEXT,
    "single quotes": TEXT.replace('"', "'"),
    "a comment": TEXT[:-1] + "/* comment */}",
    "a comma too many": TEXT[:-1] + ",}",
    "a comma too few": TEXT.replace(", ", " ", 1),
    "a colon too few": TEXT.replace(":", "", 1),
    "unquoted names": re.sub(r'"(\w+)":', r"\1:", TEXT),
    "a raw control character": TEXT.replace('"yes"', '"ye\ns"'),
    "a broken escape": TEXT.replace('"yes"', '"\\x41"'),
    "half an escape": TEXT.replace('"yes"', '"\\u00"'),
    "a key twice": TEXT[:-1] + ', "offset": 1.0}',
    "the format twice": TEXT[:-1] + ', "format": "thresher-model"}',
    "a key twice inside": text_with("provenance", '{"a": 1, "a": 1}'),
    "a key twice in a certificate": text_with("certificates", '[{"a": 1, "a": 2}]'),
    "a long number": b"1" * 10_000,
    "lists in lists": "[" * 100_000,
    "closed lists in lists": deep("[", "]", 100_000),
    "objects in objects": deep('{"a":', "1}", 100_000).replace("1}", "}", 1),
    "deep provenance": text_with("provenance", '{"a": ' + deep("[", "]", 30) + "}"),
    "very deep provenance": text_with("provenance", '{"a": ' + deep("[", "]", 50_000) + "}"),
    "deep certificates": text_with("certificates", "[" + deep('{"a":', "}", 30) + "]"),
    "deep weights": text_with("weights", deep("[", "]", 500)),
    "half a surrogate pair": text_with("classes", '["a", "\\ud83d"]'),
    "halves in the wrong order": text_with("feature_names", '["a", "b", "c", "\\ude00\\ud83d"]'),
    "an infinite number kept": text_with("provenance", '{"a": 1e999999}'),
    "an infinite number proven": text_with("certificates", '[{"loss": -1e999999}]'),
    "a number that is none kept": text_with("provenance", '{"a": NaN}'),
    "a long number kept": text_with("provenance", '{"a": ' + "9" * 5_000 + "}"),
    "many values kept": text_with("provenance", '{"a": ' + many("1", 300_000) + "}"),
    "many certificates that are none": text_with("certificates", many("1", 300_000)),
}
TORN = {f"the first {n} bytes": holding(TEXT[:n]) for n in range(1, len(TEXT), 9)}
WITHOUT_PIECES = {
    f"without bytes {n} to {n + 20}": holding(TEXT[:n] + TEXT[n + 20 :])
    for n in range(0, len(TEXT) - 20, 20)
}

# -- as large as a file may be, or larger ----------------------------------------------------


def sparse_file(n_bytes: int) -> Make:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(n_bytes)

    return make


BOMBS: dict[str, Make] = {
    "many lists": literal("provenance", f'{{"a": {many("[]")}}}'),
    "many objects": literal("provenance", f'{{"a": {many("{}")}}}'),
    "many commas": literal("provenance", f'{{"a": {many("1")}}}'),
    "many texts": literal("provenance", f'{{"a": {many(chr(34) + "abcdefghijklm" + chr(34))}}}'),
    "many numbers": literal("provenance", f'{{"a": {many("1.2345678901234")}}}'),
    "many weights": literal("weights", many("1.2345678901234")),
    "many support": literal("support", many("100000000000000")),
    "many names": literal("feature_names", many('"abcdefghijklm"')),
    "many long numbers": literal("support", many("1" * 4_000)),
    "many keys": holding("{" + ",".join(f'"{i:x}":1' for i in range(MAX_MARKS + 1)) + "}"),
    "many quotes": holding('"' + '\\"' * (MAX_BYTES // 2 - 10)),
    "many spaces": holding(" " * MAX_BYTES),
    "many digits": holding("1" * MAX_BYTES),
}
LARGE: dict[str, Make] = {
    "a byte too many": sparse_file(MAX_BYTES + 1),
    "65 million bytes": sparse_file(65 * 10**6),
    "65 million spaces after it": lambda path: path.write_bytes(TEXT.encode() + b" " * 65 * 10**6),
    "a trillion bytes": sparse_file(2**40),
}

# -- what is no file -------------------------------------------------------------------------


def linked(target: str) -> Make:
    return lambda path: path.symlink_to(target)


PLACES: dict[str, Make] = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link to itself": linked("model.json"),
    "a link to a folder": linked("."),
    "an endless device": linked("/dev/zero"),
    "an empty device": linked("/dev/null"),
}

CASES: dict[str, Make] = {
    **VALUES,
    **LITERALS,
    **IN_LISTS,
    **MISSING,
    **{name: holding(text) for name, text in TEXTS.items()},
    **TORN,
    **WITHOUT_PIECES,
    **BOMBS,
    **LARGE,
    **PLACES,
}


def test_there_are_many_cases_and_all_are_different(tmp_path: Path) -> None:
    kinds = (VALUES, LITERALS, IN_LISTS, MISSING, TEXTS, TORN, WITHOUT_PIECES, BOMBS, LARGE, PLACES)
    assert sum(map(len, kinds)) == len(CASES) >= 200
    contents = set()
    small = [name for name in CASES if name not in {**BOMBS, **LARGE, **PLACES}]
    for name in small:
        CASES[name](tmp_path / "model.json")
        contents.add((tmp_path / "model.json").read_bytes())
    assert len(contents) == len(small)
    assert TEXT.encode() not in contents


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    CASES[name](path)
    start = time.thread_time()
    with pytest.raises(DamagedFile) as caught:
        load_model(path) if name != "a pipe" else load_in_time(path)
    assert time.thread_time() - start < SECONDS
    message = str(caught.value)
    assert message.startswith(f"cannot read {path} (")
    assert len(message) < len(str(path)) + 400
    assert message.isprintable()


def load_in_time(path: Path) -> None:
    """Load it elsewhere, so that waiting for it can end; what it raises is raised here."""
    errors: list[BaseException] = []

    def load() -> None:
        try:
            load_model(path)
        except DamagedFile as error:
            errors.append(error)

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive(), "it waits for the other end of the pipe"
    if errors:
        raise errors[0]


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "broken.json").symlink_to("nothing.json")
    for name in ("none.json", "broken.json", "no folder/model.json"):
        with pytest.raises(FileNotFoundError):
            load_model(tmp_path / name)


@pytest.mark.parametrize("name", ["file/model.json", "x" * 1_000, "model\0.json"])
def test_a_path_that_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(TEXT)
    with pytest.raises(DamagedFile):
        load_model(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_a_forbidden_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(TEXT)
    path.chmod(0)
    with pytest.raises(DamagedFile, match="Permission denied"):
        load_model(path)


def test_a_file_that_may_not_be_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "model.json"
    path.write_text(TEXT)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DamagedFile, match="Permission denied"):
        load_model(path)


def test_a_file_that_grows_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.json"
    path.write_text(TEXT)
    ordinary = Path.open

    def grown(self: Path, *arguments: Any) -> Any:
        os.truncate(self, 2**40)
        return ordinary(self, *arguments)

    monkeypatch.setattr(Path, "open", grown)
    with pytest.raises(DamagedFile, match="more than any model has"):
        load_model(path)


MEASURED = """
    import resource, sys
    from thresher.errors import DamagedFile
    from thresher.estimators import load_model

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in sys.argv[1:]:
        try:
            load_model(path)
        except DamagedFile:
            pass
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_file_takes_much_memory(tmp_path: Path) -> None:
    for i, name in enumerate(("many lists", "many keys", "many texts", "many numbers")):
        BOMBS[name](tmp_path / f"{i}.json")
    script = [sys.executable, "-c", textwrap.dedent(MEASURED), *map(str, tmp_path.iterdir())]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=120)
    kilobytes = int(done.stdout) / (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 400_000
