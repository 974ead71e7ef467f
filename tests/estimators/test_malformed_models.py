"""Files that are not models: each is refused for a stated reason, soon and in little memory."""

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


def holding_much(make: Callable[[], str]) -> Make:
    """The same for a text that is not made before it is needed."""
    return lambda path: path.write_text(make())


def many(unit: str) -> str:
    """A list of one value again and again, just below the largest size of a file."""
    return "[" + ",".join([unit] * ((MAX_BYTES - 2_000) // (len(unit) + 1))) + "]"


def deep(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


# -- values that JSON can hold: what a field is instead, and the reason for which it is refused

HALF = "\ud800"
LIST_OR = [(None, "got NoneType"), ({}, "got dict"), ("ab", "got str"), (1.0, "got float")]
WRONG: dict[str, list[tuple[Any, str]]] = {
    "format": [
        ("other", "format is not 'thresher-model'"),
        (["thresher-model"], "format is not 'thresher-model'"),
    ],
    "version": [
        (2, "preparation is missing"),
        (3, "probability_slope is missing"),
        (4, "version must be 1 to 3, got 4"),
        ("1", "version must be 1 to 3, got '1'"),
        (1.0, "version must be 1 to 3, got 1.0"),
        (True, "version must be 1 to 3, got True"),
    ],
    "n_features": [
        (0, "n_features must be at least 1, got 0"),
        (3, "support must lie between 0 and 2"),
        (5, "feature_names must have length 5, got 4"),
        (10**7 + 1, "n_features must be at most 10,000,000"),
        (4.0, "n_features must be an integer, got 4.0"),
        (True, "n_features must be an integer, got True"),
        (None, "n_features must be an integer, got None"),
    ],
    "feature_names": [
        (["a", "b", "c"], "feature_names must have length 4, got 3"),
        (["a", "b", "c", "a"], "feature_names must be distinct"),
        (["a", "b", "c", 4], "feature_names[3] must be str, got int"),
        ("abcd", "feature_names must be a list, got str"),
        (["a", "b", "c", HALF], "surrogates not allowed"),
        (["a", "b", "c", "\udc00\ud800"], "surrogates not allowed"),
        (["a", "b", "c", "d\0"], "feature_names has control characters"),
        (["a", "b", "c", "d\x1b[2J"], "feature_names has control characters"),
        (["a", "b", "c", "d\x7f"], "feature_names has control characters"),
    ],
    "classes": [
        (["a", "b", "c"], "classes must have length 2, got 3"),
        (["yes", "no"], "classes must be ascending"),
        ([1, 1], "classes must be ascending"),
        ([1, "a"], "two texts, two numbers or two booleans"),
        ([0, True], "two texts, two numbers or two booleans"),
        ([None, 1], "classes[0] must be"),
        ([[1], [2]], "classes[0] must be"),
        (None, "classes must be a list"),
        ([-1, 2**63], "classes must fit in 64 bits"),
        ([-(2**63) - 1, 0], "classes must fit in 64 bits"),
        (["a", HALF], "surrogates not allowed"),
        (["a", "b\x1b]0;title\x07"], "classes has control characters"),
    ],
    "support": [
        ([3, 1], "support must be ascending"),
        ([1, 1], "support must be ascending"),
        ([-1, 3], "support must lie between 0 and 3"),
        ([1, 4], "support must lie between 0 and 3"),
        ([1, 10**30], "too large"),
        ([1], "weights must have length 1, got 2"),
        ([1.0, 3.0], "support[0] must be int, got float"),
        ([True, 3], "support[0] must be int, got bool"),
        *((value, f"support must be a list, {got}") for value, got in LIST_OR),
    ],
    "weights": [
        ([0.5], "weights must have length 2, got 1"),
        ([0.5, None], "weights[1] must be float or int, got NoneType"),
        ([0.5, "1"], "weights[1] must be float or int, got str"),
        ([0.5, True], "weights[1] must be float or int, got bool"),
        ([0.5, [1]], "weights[1] must be float or int, got list"),
        ([10**400, 1], "too large"),
        ([1e308, 1e308], "scores would overflow"),
        ([1e307, 0.0], "scores would overflow"),
    ],
    "offset": [
        ("0", "offset must be a number, got '0'"),
        (True, "offset must be a number, got True"),
        (10**400, "offset must be finite"),
        (-1e308, "scores would overflow"),
    ],
    "center": [([0.0], "center must have length 2, got 1"), (0.0, "center must be a list")],
    "scale": [
        ([1.0, 0.0], "scale must be at least 1.49e-300"),
        ([1.0, -2.0], "scale must be at least 1.49e-300"),
        ([1.0, 1e-308], "scale must be at least 1.49e-300"),
        ([1.0], "scale must have length 2, got 1"),
    ],
    "reach": [
        (0.0, "reach must be greater than 0, got 0.0"),
        (-1.0, "reach must be greater than 0, got -1.0"),
        ("Infinity", "reach must be a number, got 'Infinity'"),
        (10**400, "reach must be finite"),
    ],
    "provenance": [
        (None, "provenance must be a dict"),
        ([], "provenance must be a dict"),
        ({"a": [HALF]}, "surrogates not allowed"),
        ({HALF: 1}, "surrogates not allowed"),
        ({"a": {"b": "\x1b"}}, "provenance has control characters"),
        ({"\x1b": 1}, "provenance has control characters"),
    ],
    "certificates": [
        ({}, "certificates must be a list, got dict"),
        ([{}, 1], "certificates[1] must be dict, got int"),
        ([{"loss": "\x07"}], "certificates has control characters"),
    ],
    "other": [(1, "unknown field 'other'"), (None, "unknown field 'other'")],
}
VALUES = {
    f"{name} is {json.dumps(value)[:40]}": (holding(json.dumps({**CONTENT, name: value})), reason)
    for name, cases in WRONG.items()
    for value, reason in cases
}
MISSING = {
    f"no {name}": (
        holding(json.dumps({k: v for k, v in CONTENT.items() if k != name})),
        f"{name} is missing",
    )
    for name in CONTENT
    if name not in ("format", "version")
}

# -- texts that are not JSON, or not the right one -------------------------------------------------

NOT_JSON = "not valid JSON"
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "nothing": (b"", NOT_JSON),
    "latin-1": (TEXT.replace('"no"', '"n\xf6"').encode("latin-1"), "can't decode byte 0xf6"),
    "a pickle": (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.", "can't decode byte 0x80"),
    "an archive": (b"PK\x03\x04" + bytes(100), NOT_JSON),
    "a byte order mark": (b"\xef\xbb\xbf" + TEXT.encode(), "UTF-8 BOM"),
    "utf-16": (TEXT.encode("utf-16"), "can't decode byte 0xff"),
    "utf-16 without mark": (TEXT.encode("utf-16-le"), NOT_JSON),
    "null": (b"null", "format is not"),
    "a list of models": (f"[{TEXT}]", "format is not"),
    "a model as text": (json.dumps(TEXT), "format is not"),
    "an empty object": (b"{}", "format is not"),
    "two models": (TEXT + TEXT, "Extra data"),
    "zero bytes after it": (TEXT.encode() + b"\0" * 10, "Extra data"),
    "something before it": ("x" + TEXT, NOT_JSON),
    "its first half": (TEXT[: len(TEXT) // 2], NOT_JSON),
    "all but its last byte": (TEXT[:-1], NOT_JSON),
    "without a piece": (TEXT[:100] + TEXT[120:], NOT_JSON),
    "single quotes": (TEXT.replace('"', "'"), NOT_JSON),
    "a comment": (TEXT[:-1] + "/* comment */}", NOT_JSON),
    "a comma too many": (TEXT[:-1] + ",}", NOT_JSON),
    "unquoted names": (re.sub(r'"(\w+)":', r"\1:", TEXT), NOT_JSON),
    "a raw control character": (TEXT.replace('"yes"', '"ye\ns"'), "Invalid control character"),
    "a broken escape": (TEXT.replace('"yes"', '"\\x41"'), "Invalid \\escape"),
    "a key twice": (TEXT[:-1] + ', "offset": 1.0}', "duplicate key 'offset'"),
    "a key twice inside": (text_with("certificates", '[{"a": 1, "a": 2}]'), "duplicate key 'a'"),
    "a number that is none": (text_with("offset", "NaN"), "NaN is not a finite number"),
    "an infinite number": (text_with("reach", "-Infinity"), "-Infinity is not a finite number"),
    "a huge number": (text_with("scale", "[1.0, 1e999999]"), "1e999999 is not a finite number"),
    "a huge number kept": (text_with("provenance", '{"a": -1e999}'), "-1e999 is not a finite"),
    "a number in words": (text_with("offset", "nan"), NOT_JSON),
    "a hexadecimal number": (text_with("offset", "0x10"), NOT_JSON),
    "a long number": (text_with("provenance", '{"a": ' + "9" * 5_000 + "}"), "digits"),
    "lists in lists": ("[" * 100_000, "recursion"),
    "objects in objects": (deep('{"a":', "}", 100_000), "recursion"),
    "deep provenance": (text_with("provenance", '{"a": ' + deep("[", "]", 30) + "}"), "nested"),
    "deep weights": (text_with("weights", deep("[", "]", 500)), "weights is nested"),
}

# -- near the largest size of a file, or above it


def sparse_file(n_bytes: int) -> Make:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(n_bytes)

    return make


TOO_MANY = "more commas, colons or brackets"
BOMBS: dict[str, tuple[Make, str]] = {
    "many lists": (
        holding_much(lambda: text_with("provenance", f'{{"a": {many("[]")}}}')),
        TOO_MANY,
    ),
    "many objects": (
        holding_much(lambda: text_with("provenance", f'{{"a": {many("{}")}}}')),
        TOO_MANY,
    ),
    "many commas": (
        holding_much(lambda: text_with("provenance", f'{{"a": {many("1")}}}')),
        TOO_MANY,
    ),
    "many keys": (
        holding_much(lambda: "{" + ",".join(f'"{i:x}":1' for i in range(MAX_MARKS + 1)) + "}"),
        TOO_MANY,
    ),
    "many keys, one of them twice": (
        holding_much(lambda: "{" + ",".join(f'"{i:x}":1' for i in range(300_000)) + ',"0":1}'),
        "duplicate key '0'",
    ),
    "many weights": (
        holding_much(lambda: text_with("weights", many("1.2345678901234567"))),
        "weights must have length 2",
    ),
    "many names": (
        holding_much(lambda: text_with("feature_names", many('"abcdefghijklmno"'))),
        "feature_names must have length 4",
    ),
    "many long numbers": (
        holding_much(lambda: text_with("support", many("1" * 4_000))),
        "too large",
    ),
    "many quotes": (holding_much(lambda: '"' + '\\"' * (MAX_BYTES // 2 - 10)), NOT_JSON),
    "many spaces": (holding_much(lambda: " " * MAX_BYTES), NOT_JSON),
    "many digits": (holding_much(lambda: "1" * MAX_BYTES), "digits"),
    "a byte too many": (sparse_file(MAX_BYTES + 1), "it has 16,777,217 bytes"),
    "a trillion bytes": (sparse_file(2**40), "a model at most 16,777,216"),
}

# -- what is not a file ----------------------------------------------------------------------------


def linked(target: str) -> Make:
    return lambda path: path.symlink_to(target)


PLACES: dict[str, tuple[Make, str]] = {
    "a folder": (lambda path: path.mkdir(), "it is a folder"),
    "a pipe": (os.mkfifo, "it is a device or a pipe"),
    "a link to itself": (linked("model.json"), "Too many levels of symbolic links"),
    "a link to a folder": (linked("."), "it is a folder"),
    "an endless device": (linked("/dev/zero"), "it is a device or a pipe"),
}

CASES: dict[str, tuple[Make, str]] = {
    **VALUES,
    **MISSING,
    **{name: (holding(text), reason) for name, (text, reason) in TEXTS.items()},
    **BOMBS,
    **PLACES,
}


LONG = ("many weights", "many long numbers")  # the fast tests have many names


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in CASES],
)
def test_what_is_not_a_model_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    make, reason = CASES[name]
    make(path)
    start = time.thread_time()
    with pytest.raises(DamagedFile) as caught:
        load_model(path) if name != "a pipe" else load_in_time(path)
    assert time.thread_time() - start < SECONDS
    message = str(caught.value)
    assert message.startswith(f"cannot read {path} (")
    assert reason in message
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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("file/model.json", "Not a directory"),
        ("x" * 1_000, "File name too long"),
        ("model\0.json", "null"),
    ],
)
def test_a_path_that_no_file_can_have_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(TEXT)
    with pytest.raises(DamagedFile, match=reason):
        load_model(tmp_path / name)


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
    with pytest.raises(DamagedFile, match="more than 16,777,216 bytes"):
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


@pytest.mark.parametrize(
    "names",
    [
        ("many lists", "many keys"),
        pytest.param(("many names", "many weights"), marks=pytest.mark.slow),
    ],
)
def test_no_file_takes_much_memory(names: tuple[str, ...], tmp_path: Path) -> None:
    for i, name in enumerate(names):
        BOMBS[name][0](tmp_path / f"{i}.json")
    script = [sys.executable, "-c", textwrap.dedent(MEASURED), *map(str, tmp_path.iterdir())]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=120)
    kilobytes = int(done.stdout) / (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 400_000
