"""A model as a plain JSON file.

Nothing in it is code, and nothing is unpickled: a file from a stranger is read as numbers and text,
each of which is checked.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DamagedFile
from thresher.estimators.model import HalfspaceModel, Label
from thresher.files import write_text
from thresher.validation import FloatArray

FORMAT, VERSION = "thresher-model", 1
MAX_BYTES = 2**26  # a model of a million features with long names stays below
MAX_FEATURES = 10_000_000
MAX_NAME = 10_000  # characters


def save_model(model: HalfspaceModel, path: str | Path) -> None:
    """Write a model to a JSON file, at once: an interrupt leaves the old file or the new one."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for name, value in asdict(model).items():
        content[name] = value.tolist() if isinstance(value, np.ndarray) else value
    content["reach"] = None if math.isinf(model.reach) else model.reach
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
    write_text(path, text + "\n")


def load_model(path: str | Path) -> HalfspaceModel:
    """The model in a file that `save_model` wrote.

    Raises
    ------
    FileNotFoundError : there is no such file
    DamagedFile : it is not such a file, not whole, of a later version, or larger than any model
    """
    path = Path(path)
    if path.is_dir():
        raise DamagedFile(str(path), "it is a folder")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise DamagedFile(str(path), f"{size} bytes are more than any model has")
    try:
        content = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_no_number)
        return _model_of(content)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise DamagedFile(str(path), _reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return str(error)[:200] or type(error).__name__


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _model_of(content: object) -> HalfspaceModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    if content.get("version") != VERSION:
        raise ValueError(f"version must be {VERSION}, got {str(content.get('version'))[:40]}")
    n_features = _whole(content["n_features"], "n_features", 1, MAX_FEATURES)
    support = _support(content["support"], n_features)
    numbers = {
        name: _numbers(content[name], name, support.size) for name in ("weights", "center", "scale")
    }
    if not (numbers["scale"] > 0).all():
        raise ValueError("scale must hold positive numbers")
    reach = math.inf if content["reach"] is None else _number(content["reach"], "reach")
    if not reach > 0:
        raise ValueError(f"reach must be positive, got {reach}")
    return HalfspaceModel(
        n_features=n_features,
        feature_names=_names(content["feature_names"], n_features),
        classes=_classes(content["classes"]),
        support=support,
        offset=_number(content["offset"], "offset"),
        reach=reach,
        provenance=_kind(content["provenance"], dict, "provenance"),
        certificates=[
            _kind(one, dict, f"certificates[{k}]")
            for k, one in enumerate(_kind(content["certificates"], list, "certificates"))
        ],
        **numbers,
    )


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


def _numbers(values: Any, name: str, length: int) -> FloatArray:
    if len(_kind(values, list, name)) != length:
        raise ValueError(f"{name} must hold {length} numbers, got {len(values)}")
    return np.array([_number(value, f"{name}[{i}]") for i, value in enumerate(values)])


def _support(values: Any, n_features: int) -> NDArray[np.intp]:
    indices = [
        _whole(value, f"support[{i}]", 0, n_features - 1)
        for i, value in enumerate(_kind(values, list, "support"))
    ]
    if any(later <= earlier for earlier, later in pairwise(indices)):
        raise ValueError("support must be ascending")
    return np.array(indices, dtype=np.intp)


def _names(values: Any, n_features: int) -> list[str] | None:
    if values is None:
        return None
    if len(_kind(values, list, "feature_names")) != n_features:
        raise ValueError(f"feature_names must hold {n_features} names, got {len(values)}")
    for i, value in enumerate(values):
        if len(_kind(value, str, f"feature_names[{i}]")) > MAX_NAME:
            raise ValueError(f"feature_names[{i}] has more than {MAX_NAME} characters")
    if len(set(values)) != n_features:
        raise ValueError("feature_names must differ from each other")
    return list(values)


def _classes(values: Any) -> list[Label]:
    if len(_kind(values, list, "classes")) != 2:
        raise ValueError(f"classes must hold two labels, got {len(values)}")
    for value in values:
        if not isinstance(value, (str, bool, int, float)):
            raise TypeError(f"classes must hold text or numbers, got {type(value).__name__}")
        if isinstance(value, (int, float)) and not math.isfinite(value):
            raise ValueError("classes must hold finite numbers")
        if isinstance(value, str) and len(value) > MAX_NAME:
            raise ValueError(f"a class has more than {MAX_NAME} characters")
    if type(values[0]) is not type(values[1]) or not values[0] < values[1]:
        raise ValueError("classes must hold two labels of one kind, in order")
    return list(values)
