"""A model as a plain JSON file.

Nothing in it is code, and nothing is unpickled: a file from a stranger is read as numbers and text,
each of which is checked.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DamagedFile
from thresher.estimators.columns import FARTHEST, NARROWEST
from thresher.estimators.model import HalfspaceModel, Label
from thresher.files import write_text
from thresher.validation import FloatArray

FORMAT, VERSION = "thresher-model", 1
MAX_BYTES = 2**24  # a model of half a million features with names of 28 characters
MAX_MARKS = 2**20  # commas, or colons and brackets: a value costs far more memory than its bytes
MAX_FEATURES = 10_000_000
MAX_NAME, MAX_DIGITS = 10_000, 400  # characters
MAX_VALUES, MAX_DEPTH = 100_000, 20  # of what is only kept: how many, how deep in each other
LARGEST_SCORE = 1e307  # sums on the way to it stay finite, whatever their order

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # but tabs and line ends
_REFUSED = (ValueError, TypeError, KeyError, RecursionError, OverflowError)


def save_model(model: HalfspaceModel, path: str | Path) -> None:
    """Write a model to a JSON file, at once: an interrupt leaves the old file or the new one.

    Raises
    ------
    ValueError : `load_model` would refuse the file: of two features with one name, say

    Examples
    --------
    >>> import tempfile
    >>> model = HalfspaceModel(
    ...     n_features=2, feature_names=None, classes=[0, 1], support=np.array([1]),
    ...     weights=np.array([1.0]), offset=0.0, center=np.array([5.0]), scale=np.array([2.0]),
    ...     reach=2.0, provenance={}, certificates=[])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json")
    ...     load_model(f"{folder}/model.json").predict([[0.0, 4.0], [0.0, 6.0]])
    array([0, 1])
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for name, value in asdict(model).items():
        content[name] = value.tolist() if isinstance(value, np.ndarray) else value
    content["reach"] = None if math.isinf(model.reach) else model.reach
    try:
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
        _model_in(text.encode())
    except _REFUSED as error:
        raise ValueError(f"the model cannot be saved: {_reason(error)}") from error
    write_text(path, text)


def load_model(path: str | Path) -> HalfspaceModel:
    """The model in a file that `save_model` wrote; see there for an example.

    Raises
    ------
    FileNotFoundError : there is no such file
    DamagedFile : it is not such a file, not whole, of a later version, or larger than any model
    """
    path = Path(path)
    try:
        return _model_in(_bytes_of(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(str(path), error.strerror or type(error).__name__) from error
    except _REFUSED as error:
        raise DamagedFile(str(path), _reason(error)) from error


def _bytes_of(path: Path) -> bytes:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ValueError("it is a folder")
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its other end
        raise ValueError("it is a device or a pipe")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"{status.st_size} bytes are more than any model has")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON: {error}"
    return str(error)[:200] or type(error).__name__


# -- from bytes to values --------------------------------------------------------------------


def _model_in(data: bytes) -> HalfspaceModel:
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes are more than any model has")
    if data.count(b",") > MAX_MARKS or sum(map(data.count, (b"[", b"{", b":"))) > MAX_MARKS:
        raise ValueError("it has more commas, colons or brackets than any model")
    content = json.loads(
        data.decode("utf-8"),
        parse_constant=_no_number,
        parse_int=_short_number,
        object_pairs_hook=_without_repeats,
    )
    return _model_of(content)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _short_number(text: str) -> int:
    if len(text) > MAX_DIGITS:  # the time that it takes grows with their square
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(text)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it says something twice")
    return content


# -- from values to a model ------------------------------------------------------------------


def _model_of(content: object) -> HalfspaceModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    if type(version := content.get("version")) is not int or version != VERSION:
        raise ValueError(f"version must be {VERSION}, got {str(version)[:40]}")
    known = {"format", "version", *HalfspaceModel.__dataclass_fields__}
    if unknown := sorted(set(content) - known):
        raise ValueError(f"{unknown[0][:40]!r} is none of its fields")
    n_features = _whole(content["n_features"], "n_features", 1, MAX_FEATURES)
    n_used = len(_kind(content["support"], list, "support"))
    numbers = {
        name: _numbers(content[name], name, n_used) for name in ("weights", "center", "scale")
    }
    if not (numbers["scale"] >= NARROWEST).all():
        raise ValueError(f"scale must hold positive numbers, of at least {NARROWEST:.3g}")
    reach = math.inf if content["reach"] is None else _number(content["reach"], "reach")
    if not reach > 0:
        raise ValueError(f"reach must be positive, got {reach}")
    offset = _number(content["offset"], "offset")
    _refuse_endless_scores(numbers["weights"], offset, reach)
    return HalfspaceModel(
        n_features=n_features,
        feature_names=_names(content["feature_names"], n_features),
        classes=_classes(content["classes"]),
        support=_support(content["support"], n_features),
        offset=offset,
        reach=reach,
        provenance=_plain(_kind(content["provenance"], dict, "provenance"), "provenance"),
        certificates=[
            _plain(_kind(one, dict, f"certificates[{k}]"), f"certificates[{k}]")
            for k, one in enumerate(_kind(content["certificates"], list, "certificates"))
        ],
        **numbers,
    )


def _refuse_endless_scores(weights: FloatArray, offset: float, reach: float) -> None:
    """Every row must get a finite score: Σ|weights|·reach + |offset| bounds them all."""
    with np.errstate(over="ignore"):
        largest = float(np.abs(weights).sum()) * min(reach, FARTHEST) + abs(offset)
    if not largest <= LARGEST_SCORE:
        raise ValueError("weights, reach and offset are so large that scores would overflow")


def _kind(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    return value


def _whole(value: Any, name: str, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a whole number from {lowest} to {highest}")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{name} must be finite")
    return number


def _kinds(values: Any, kinds: set[type], name: str, length: int) -> list[Any]:
    """A list of that many values, each of one of the kinds and of no other."""
    if len(_kind(values, list, name)) != length:
        raise ValueError(f"{name} must hold {length} values, got {len(values)}")
    if not kinds.issuperset(map(type, values)):
        place = next(i for i, value in enumerate(values) if type(value) not in kinds)
        allowed = " or ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{name}[{place}] must be {allowed}, got {type(values[place]).__name__}")
    return list(values)


def _numbers(values: Any, name: str, length: int) -> FloatArray:
    numbers = np.array(_kinds(values, {int, float}, name, length), dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite")
    return numbers


def _support(values: list[Any], n_features: int) -> NDArray[np.intp]:
    indices = np.array(_kinds(values, {int}, "support", len(values)), dtype=np.intp)
    if not ((indices >= 0) & (indices < n_features)).all():
        raise ValueError(f"support must lie from 0 to {n_features - 1}")
    if not (indices[1:] > indices[:-1]).all():
        raise ValueError("support must be ascending")
    return indices


def _names(values: Any, n_features: int) -> list[str] | None:
    if values is None:
        return None
    names = _kinds(values, {str}, "feature_names", n_features)
    if max(map(len, names)) > MAX_NAME or not _is_ordinary("".join(names)):
        for i, name in enumerate(names):
            _text(name, f"feature_names[{i}]")
    if len(set(names)) != n_features:
        raise ValueError("feature_names must differ from each other")
    return names


def _is_ordinary(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _text(value: Any, name: str) -> str:
    """A text that can be written to a file, and to a terminal without steering it."""
    if len(_kind(value, str, name)) > MAX_NAME:
        raise ValueError(f"{name} has more than {MAX_NAME} characters")
    if _CONTROL.search(value):
        raise ValueError(f"{name} has control characters")
    value.encode()  # half a surrogate pair is a ValueError
    return str(value)


def _classes(values: Any) -> list[Label]:
    if len(_kind(values, list, "classes")) != 2:
        raise ValueError(f"classes must hold two labels, got {len(values)}")
    for value in values:
        if isinstance(value, str):
            _text(value, "a class")
        elif not isinstance(value, (bool, int, float)):
            raise TypeError(f"classes must hold text or numbers, got {type(value).__name__}")
        elif not math.isfinite(value):
            raise ValueError("classes must hold finite numbers")
    if type(values[0]) is not type(values[1]) or not values[0] < values[1]:
        raise ValueError("classes must hold two labels of one kind, in order")
    array = np.asarray(values)  # which is what predictions are taken from
    if array.dtype == object or any(type(one) is not type(values[0]) for one in array.tolist()):
        raise ValueError("classes must hold whole numbers of at most 64 bits")
    return list(values)


def _plain(value: Any, name: str) -> Any:
    """What is only kept and shown: finite numbers and text, not too many and not too deep."""
    level, n_values = [value], 1
    for _ in range(MAX_DEPTH):
        level = [part for one in level for part in _parts(one, name)]
        n_values += len(level)
        if n_values > MAX_VALUES:
            raise ValueError(f"{name} holds more than {MAX_VALUES} values")
    if level:
        raise ValueError(f"{name} has values in values more than {MAX_DEPTH} deep")
    return value


def _parts(value: Any, name: str) -> Iterable[Any]:
    """What a value is made of, once it has been checked itself."""
    if isinstance(value, dict):
        return chain(value, value.values())
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        _text(value, f"text in {name}")
    elif isinstance(value, float):
        _number(value, f"a number in {name}")
    return ()
