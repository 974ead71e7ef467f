"""A model as a plain JSON file.

Nothing in it is code, and nothing is unpickled: a file from a stranger is read as numbers and text,
and every value is checked.
"""

import json
import math
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import DamagedFile
from thresher.estimators.columns import FARTHEST, NARROWEST
from thresher.estimators.model import HalfspaceModel, Label
from thresher.files import other_than_file, write_text
from thresher.preparation import TablePreparation
from thresher.preparation.records import preparation_from, preparation_record
from thresher.validation import FloatArray, check_count, check_number, check_positive
from thresher.wording import has_controls, one_line

FORMAT = "thresher-model"
VERSION, WITH_PREPARATION, WITH_PROBABILITIES = 1, 2, 3  # the last: preparation optional
MAX_BYTES = 2**24  # a model of half a million features with names of 28 characters
MAX_MARKS = 2**20  # commas, or colons and brackets: a value costs far more memory than its bytes
MAX_FEATURES = 10_000_000
MAX_DEPTH = 20  # of values in values
LARGEST_SCORE = 1e307  # sums on the way to it stay finite, whatever their order

_REFUSED = (ValueError, TypeError, KeyError, RecursionError, OverflowError)


def save_model(model: Any, path: str | Path) -> None:
    """Write a model to a JSON file, atomically: an interrupt leaves the old file or the new one.

    Parameters
    ----------
    model : a `HalfspaceModel`, or a fitted classifier that has `to_model`
    path : of the file

    Raises
    ------
    TypeError : it is another kind of model, such as a pipeline
    ValueError : `load_model` would refuse the file, for example because feature names are repeated

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
    write_text(path, _text_of(_model_to_save(model)))


def _model_to_save(model: Any) -> HalfspaceModel:
    found = model.to_model() if hasattr(model, "to_model") else model
    if isinstance(found, HalfspaceModel):
        return found
    raise TypeError(
        "model must be a HalfspaceModel or a fitted HalfspaceClassifier, got "
        f"{type(model).__name__}; save other estimators with joblib.dump"
    )


def check_savable(
    feature_names: list[str],
    classes: list[Label],
    preparation: TablePreparation | None = None,
) -> None:
    """Raise `ValueError` if no model of these features and classes can be saved.

    Examples
    --------
    >>> check_savable(["a", "a"], ["ham", "spam"])
    Traceback (most recent call last):
    ValueError: the model cannot be saved: feature_names must be distinct
    """
    nothing = np.zeros(0)
    model = HalfspaceModel(
        n_features=len(feature_names),
        feature_names=feature_names,
        classes=classes,
        support=np.zeros(0, dtype=np.intp),
        weights=nothing,
        offset=0.0,
        center=nothing,
        scale=nothing,
        reach=1.0,
        provenance={},
        certificates=[],
        preparation=preparation,
    )
    _text_of(model)


def _text_of(model: HalfspaceModel) -> str:
    """The content of its file, which can be read again."""
    content: dict[str, Any] = {"format": FORMAT, "version": _version_of(model)}
    for name, value in asdict(replace(model, preparation=None)).items():
        content[name] = value.tolist() if isinstance(value, np.ndarray) else value
    content["reach"] = None if math.isinf(model.reach) else model.reach
    del content["preparation"]
    if model.probability_slope is None:
        del content["probability_slope"]
    if model.preparation is not None:
        content["preparation"] = preparation_record(model.preparation)
    try:
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
        _model_in(text.encode())
    except _REFUSED as error:
        raise ValueError(f"the model cannot be saved: {_reason(error)}") from error
    return text


def _version_of(model: HalfspaceModel) -> int:
    """The first version that can hold the model: earlier releases read it if they can."""
    if model.probability_slope is not None:
        return WITH_PROBABILITIES
    return VERSION if model.preparation is None else WITH_PREPARATION


def load_model(path: str | Path) -> HalfspaceModel:
    """The model in a file that `save_model` wrote; see there for an example.

    Raises
    ------
    FileNotFoundError : the file does not exist
    DamagedFile : it is not a model file, incomplete, of a later version, or larger than any model
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
    if other := other_than_file(path):
        raise ValueError(f"it is {other}")
    if (n_bytes := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"it has {n_bytes:,} bytes, a model at most {MAX_BYTES:,}")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
        return f"not valid JSON, as model files of Thresher are: {error}"
    return one_line(error, 200) or type(error).__name__


# -- from bytes to values --------------------------------------------------------------------


def _model_in(data: bytes) -> HalfspaceModel:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    if data.count(b",") > MAX_MARKS or sum(map(data.count, (b"[", b"{", b":"))) > MAX_MARKS:
        raise ValueError("it has more commas, colons or brackets than any model")
    content = json.loads(
        data.decode("utf-8"),
        parse_constant=_finite,
        parse_float=_finite,
        object_pairs_hook=_without_repeats,
    )
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    version, known = content.get("version"), {"format", "version"}
    if type(version) is not int or not VERSION <= version <= WITH_PROBABILITIES:
        raise ValueError(f"version must be {VERSION} to {WITH_PROBABILITIES}, got {version!r}")
    known |= set(HalfspaceModel.__dataclass_fields__)
    if version == VERSION:
        known.remove("preparation")
    if version < WITH_PROBABILITIES:
        known.remove("probability_slope")
    if unknown := set(content) - known:
        raise ValueError(f"unknown field {min(unknown)!r}")
    for name, value in content.items():
        _refuse_odd_text(value, name)
    return _model_of(content)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"duplicate key {name!r}")
    return content


def _refuse_odd_text(value: Any, name: str) -> None:
    """All text must be writable to a file, and to a terminal without controlling it."""
    level, texts = [value], []
    for _ in range(MAX_DEPTH):
        texts += [one for one in level if isinstance(one, str)]
        level = [part for one in level if isinstance(one, (dict, list)) for part in _parts(one)]
    if level:
        raise ValueError(f"{name} is nested more than {MAX_DEPTH} deep")
    text = "\n".join(texts)
    if has_controls(text):
        raise ValueError(f"{name} has control characters")
    text.encode()  # half a surrogate pair is a ValueError


def _parts(value: dict[str, Any] | list[Any]) -> list[Any]:
    return [*value, *value.values()] if isinstance(value, dict) else value


# -- from values to a model ------------------------------------------------------------------


def _model_of(content: dict[str, Any]) -> HalfspaceModel:
    n_features = check_count(content["n_features"], "n_features")
    if n_features > MAX_FEATURES:
        raise ValueError(f"n_features must be at most {MAX_FEATURES:,}")
    support = _support(content["support"], n_features)
    weights, center, scale = (
        _numbers(content[name], name, support.size) for name in ("weights", "center", "scale")
    )
    if not (scale >= NARROWEST).all():
        raise ValueError(f"scale must be at least {NARROWEST:.3g}")
    reach = math.inf if content["reach"] is None else check_number(content["reach"], "reach")
    if not reach > 0:
        raise ValueError(f"reach must be greater than 0, got {reach}")
    offset = check_number(content["offset"], "offset")
    slope = None
    if content["version"] == WITH_PROBABILITIES:
        slope = check_positive(content["probability_slope"], "probability_slope")
    _refuse_overflow(weights, offset, reach, slope or 1.0)
    if not isinstance(content["provenance"], dict):
        raise TypeError("provenance must be a dict")
    names, preparation = _names(content["feature_names"], n_features), None
    if content["version"] == WITH_PREPARATION or "preparation" in content:
        preparation = preparation_from(content["preparation"])
        if names != preparation.feature_names:
            raise ValueError("feature_names must be those of the prepared columns")
    return HalfspaceModel(
        n_features=n_features,
        feature_names=names,
        classes=_classes(content["classes"]),
        support=support,
        weights=weights,
        offset=offset,
        center=center,
        scale=scale,
        reach=reach,
        provenance=content["provenance"],
        certificates=_list(content["certificates"], "certificates", {dict}),
        preparation=preparation,
        probability_slope=slope,
    )


def _refuse_overflow(weights: FloatArray, offset: float, reach: float, slope: float) -> None:
    """Every row must get a finite score: Σ|weights|·reach + |offset| bounds them all."""
    with np.errstate(over="ignore"):
        largest = float(np.abs(weights).sum()) * min(reach, FARTHEST) + abs(offset)
        largest *= max(1.0, slope)
    if not largest <= LARGEST_SCORE:
        raise ValueError("weights, reach and offset are so large that scores would overflow")


def _list(values: Any, name: str, kinds: set[type], length: int | None = None) -> list[Any]:
    """A list, of that length if there is one, whose values are of these types and no other."""
    if not isinstance(values, list):
        raise TypeError(f"{name} must be a list, got {type(values).__name__}")
    if length is not None and len(values) != length:
        raise ValueError(f"{name} must have length {length}, got {len(values)}")
    if not kinds.issuperset(map(type, values)):
        place = next(i for i, value in enumerate(values) if type(value) not in kinds)
        allowed = " or ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{name}[{place}] must be {allowed}, got {type(values[place]).__name__}")
    return values


def _numbers(values: Any, name: str, length: int) -> FloatArray:
    return np.array(_list(values, name, {int, float}, length), dtype=np.float64)


def _support(values: Any, n_features: int) -> NDArray[np.intp]:
    indices = np.array(_list(values, "support", {int}), dtype=np.intp)
    if not ((indices >= 0) & (indices < n_features)).all():
        raise ValueError(f"support must lie between 0 and {n_features - 1}")
    if not (indices[1:] > indices[:-1]).all():
        raise ValueError("support must be ascending")
    return indices


def _names(values: Any, n_features: int) -> list[str] | None:
    if values is None:
        return None
    names = _list(values, "feature_names", {str}, n_features)
    if len(set(names)) != n_features:
        raise ValueError("feature_names must be distinct")
    return names


def _classes(values: Any) -> list[Label]:
    first, second = _list(values, "classes", {str, bool, int, float}, 2)
    if type(first) is not type(second):
        raise TypeError("classes must be two texts, two numbers or two booleans")
    if not first < second:
        raise ValueError("classes must be ascending")
    if type(first) is int and not (first >= -(2**63) and second < 2**63):
        raise ValueError("classes must fit in 64 bits")
    return [first, second]
