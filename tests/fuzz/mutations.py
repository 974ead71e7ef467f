"""Ways to damage or forge a file, each a function of its bytes and a random generator.

Those that know a format keep its checksums right, so that what they change is looked at.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]

HOSTILE_NUMBERS = [0, -1, 1, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63), 2**64, 10**400]
HOSTILE_TEXTS = ["", " ", "\ud800", "\x1b[2J", "\0", "nan", "=1+1", "é" * 300, "../x", "1e999", "'"]
HOSTILE_VALUES: list[Any] = [
    *HOSTILE_NUMBERS,
    *HOSTILE_TEXTS,
    *(None, True, False, 0.5, -0.0, 1e308, float("nan"), float("inf"), -float("inf")),
    *([], {}, [[]], [1, "a"], {"a": [1]}, [None] * 50),
]
DEEP = b'{"a":' * 2000


# -- bytes -------------------------------------------------------------------------------------


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes replaced by random ones."""
    changed = bytearray(content)
    for place in rng.integers(0, len(changed), size=int(rng.integers(1, 6))):
        changed[place] = int(rng.integers(256))
    return bytes(changed)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """Without a piece, or without its end."""
    start, stop = _piece(content, rng)
    return content[:start] + (content[stop:] if rng.random() < 0.5 else b"")


def double(content: bytes, rng: np.random.Generator) -> bytes:
    """With a piece twice."""
    start, stop = _piece(content, rng)
    return content[:stop] + content[start:]


def noise(content: bytes, rng: np.random.Generator) -> bytes:
    """With a piece replaced by noise."""
    start, stop = _piece(content, rng)
    return content[:start] + rng.bytes(stop - start) + content[stop:]


def extremes(content: bytes, rng: np.random.Generator) -> bytes:
    """With an integer of four or eight bytes replaced by an extreme one."""
    n_bytes = int(rng.choice([4, 8]))
    place = int(rng.integers(0, max(1, len(content) - n_bytes)))
    value = HOSTILE_NUMBERS[int(rng.integers(len(HOSTILE_NUMBERS)))] % 256**n_bytes
    return content[:place] + value.to_bytes(n_bytes, "little") + content[place + n_bytes :]


def _piece(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start, stop = sorted(int(i) for i in rng.integers(0, len(content) + 1, size=2))
    return start, stop


BYTES: tuple[Mutation, ...] = (flip, cut, double, noise, extremes)


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """One of the above."""
    return BYTES[int(rng.integers(len(BYTES)))](content, rng) if content else b"\0"


# -- text --------------------------------------------------------------------------------------


def change_cell(content: bytes, rng: np.random.Generator) -> bytes:
    """Lines of cells with one cell replaced."""
    lines = content.split(b"\n")
    number = int(rng.integers(len(lines)))
    separator = next((mark for mark in (b"\t", b",", b" ") if mark in lines[number]), b",")
    cells = lines[number].split(separator)
    cells[int(rng.integers(len(cells)))] = _hostile_text(rng)
    lines[number] = separator.join(cells)
    return b"\n".join(lines)


def _hostile_text(rng: np.random.Generator) -> bytes:
    texts = [*HOSTILE_TEXTS, *map(str, HOSTILE_NUMBERS), '"', "a\nb", "2020-01-01", "\ufeff"]
    return texts[int(rng.integers(len(texts)))].encode(errors="surrogatepass")


def change_json(content: bytes, rng: np.random.Generator) -> bytes:
    """JSON, or lines of it, with one value replaced, removed or put into a list."""
    lines = content.split(b"\n") if b"\n{" in content else [content]
    number = int(rng.integers(len(lines)))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return damage(content, rng)
    if rng.random() < 0.03:
        lines[number] = DEEP
    else:
        lines[number] = json.dumps(_changed(value, rng)).encode()
    return b"\n".join(lines)


def _changed(value: Any, rng: np.random.Generator) -> Any:
    """The value with a part of it changed, any part with about the same probability."""
    if not value or not isinstance(value, (dict, list)) or rng.random() < 0.1:
        return HOSTILE_VALUES[int(rng.integers(len(HOSTILE_VALUES)))]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(rng.integers(len(keys)))]
    if rng.random() < 0.1:
        return {k: value[k] for k in keys if k != key} if isinstance(value, dict) else value[1:]
    if isinstance(value, dict):
        return {**value, key: _changed(value[key], rng)}
    return [*value[:key], _changed(value[key], rng), *value[key + 1 :]]


# -- archives ----------------------------------------------------------------------------------


def repack_gzip(content: bytes, rng: np.random.Generator) -> bytes:
    """A gzip file with damaged or forged content."""
    change = change_cell if rng.random() < 0.5 else damage
    return gzip.compress(change(gzip.decompress(content), rng), mtime=0)


def repack_zip(content: bytes, rng: np.random.Generator) -> bytes:
    """A ZIP archive with one member forged, removed, added, or packed otherwise."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[int(rng.integers(len(members)))]
    packing = zipfile.ZIP_STORED
    match int(rng.integers(8)):
        case 0:
            del members[name]
        case 1:
            members["extra.npy"] = members[name]
        case 2:
            packing = int(rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
        case _:
            members[name] = _forged_array(members[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for member, data in members.items():
            archive.writestr(zipfile.ZipInfo(member), data, packing)
    return buffer.getvalue()


def _forged_array(member: bytes, rng: np.random.Generator) -> bytes:
    """An array of another type, shape or content; or damaged, with its header more often."""
    array = np.load(io.BytesIO(member))
    if array.dtype == np.uint8 and array.ndim == 1 and rng.random() < 0.7:  # JSON
        return _as_member(np.frombuffer(change_json(array.tobytes(), rng), np.uint8))
    match int(rng.integers(5)):
        case 0:
            return damage(member[:128], rng) + member[128:]
        case 1:
            return member[:128] + damage(member[128:], rng)
        case 2:
            kinds = ["f8", "f2", "i8", "u1", "?", "U3", "S2", "c16", "M8[s]", "U0"]
            with np.errstate(all="ignore"):
                return _as_member(_cast(array, str(rng.choice(kinds))))
        case 3:
            return _as_member(_reshaped(array, rng))
        case _:
            return _as_member(_with_extreme(array, rng))


def _cast(array: np.ndarray, kind: str) -> np.ndarray:
    try:
        return array.astype(kind)
    except (ValueError, TypeError, OverflowError):
        return np.zeros(array.shape, kind)


def _reshaped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    forms = [array.ravel(), array[..., None], array[:0], array[:1], np.concatenate([array, array])]
    return forms[int(rng.integers(len(forms)))] if array.ndim else array.reshape(1)


def _with_extreme(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    changed = array.copy()
    if not changed.size:
        return changed
    place = int(rng.integers(changed.size))
    if changed.dtype.kind in "iu":
        info = np.iinfo(changed.dtype)
        changed.flat[place] = int(rng.choice([info.min, info.max, 0, 1, info.max // 2]))
    elif changed.dtype.kind == "f":
        changed.flat[place] = float(rng.choice([np.nan, np.inf, 1e308, -0.0, 0.5]))
    elif changed.dtype.kind == "U":
        codes = changed.view(np.uint32)
        codes.flat[place % codes.size] = int(rng.choice([0xD800, 2**31, 0x110000, 27, 0]))
    return changed


def _as_member(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()
