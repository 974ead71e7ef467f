"""Arrays from archives that may come from anybody."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresher import archives, memory
from thresher.archives import ArrayArchive, BadArchive, BadRows, PickledObjects
from thresher.errors import NotEnoughMemory


def member(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def with_header(text: str) -> bytes:
    """An array of eight bytes whose header says this."""
    header = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00v\x00" + header + bytes(8)


def pack(
    path: Path, *members: tuple[str, bytes], packing: int = zipfile.ZIP_STORED
) -> ArrayArchive:
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, packing)
    return ArrayArchive(path)


EYE = member(np.eye(2))
HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "array 'a'"),
    "another magic": (b"\x93NUMPZ" + EYE[6:], "magic string"),
    "another version": (EYE[:6] + b"\x02\x00" + EYE[8:], "not of version 1.0"),
    "an open bracket": (with_header("{'descr': ("), "array 'a'"),
    "no dict": (with_header("[1, 2]"), "array 'a'"),
    "code": (with_header("__import__('os').abort()"), "array 'a'"),
    "a negative shape": (with_header(HEADER.replace("(1,)", "(-1,)")), "shorter than its header"),
    "a long shape": (with_header(HEADER.replace("(1,)", "(9, 9)")), "shorter than its header"),
    "a huge shape": (with_header(HEADER.replace("1", "2" * 30)), "shorter than its header"),
    "texts of no length": (with_header(HEADER.replace("<f8", "<U0")), "shorter than its header"),
    "an unknown type": (with_header(HEADER.replace("<f8", "<z9")), "array 'a'"),
    "half of a pair": (member(np.array(["a\ud800"])), "not Unicode"),
    "characters that do not exist": (
        member(np.array([2**31], np.uint32).view("U1")),
        "not Unicode",
    ),
    "cut": (EYE[:-8], "expected 32 bytes got 24"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_array_is_named(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    with pack(tmp_path / "a.npz", ("a", content)) as arrays, pytest.raises(BadArchive) as caught:
        arrays["a"]
    assert "array 'a'" in str(caught.value)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_what_numpy_writes_is_unpacked(tmp_path: Path, packing: int) -> None:
    with (
        pack(tmp_path / "a.npz", ("a", EYE), packing=packing) as arrays,
        pytest.raises(BadArchive, match=r"not compressed as numpy\.savez does"),
    ):
        arrays["a"]


def test_what_numpy_compresses_is_unpacked(tmp_path: Path) -> None:
    with pack(tmp_path / "a.npz", ("a", EYE), packing=zipfile.ZIP_DEFLATED) as arrays:
        assert np.array_equal(arrays["a"], np.eye(2))


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    content = member(np.array([print], dtype=object), allow_pickle=True)
    with (
        pack(tmp_path / "a.npz", ("a", content)) as arrays,
        pytest.raises(PickledObjects, match="could run arbitrary code"),
    ):
        arrays["a"]


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), pytest.raises(BadArchive, match="same name"):
        pack(tmp_path / "a.npz", ("a", EYE), ("a", EYE))


def test_an_array_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pack(tmp_path / "a.npz", ("a", EYE)) as arrays,
        pytest.raises(BadArchive, match="no array 'b'"),
    ):
        arrays["b"]


@pytest.mark.parametrize(
    "content", [b"", b"PK\x05\x06", b"text" * 99], ids=["empty", "end", "text"]
)
def test_what_is_not_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(BadArchive, match="not a ZIP archive"):
        ArrayArchive(tmp_path / "a.npz")


def test_an_array_is_estimated_as_numbers_and_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = pack(tmp_path / "a.npz", ("a", member(np.zeros(1000, np.uint8))))
    monkeypatch.setattr(memory, "available_memory", lambda: 8_999)
    with arrays, pytest.raises(NotEnoughMemory, match="the array 'a' of shape"):
        arrays["a"]
    monkeypatch.setattr(memory, "available_memory", lambda: 9_000)
    with ArrayArchive(tmp_path / "a.npz") as enough:
        assert enough["a"].size == 1000


def test_memory_that_is_not_there_after_all_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(archives.npy, "read_array", fail)
    with pack(tmp_path / "a.npz", ("a", EYE)) as arrays, pytest.raises(NotEnoughMemory):
        arrays["a"]


PARTS = {
    "data": np.array([1.0, 2.0]),
    "indices": np.array([0, 1]),
    "indptr": np.array([0, 1, 2]),
    "shape": np.array([2, 2]),
}
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"indices": np.array([0, 2**30])}, "indices|index values"),
    ({"indices": np.array([0, -1])}, "indices|index values"),
    ({"indices": np.array([0.0, 1.0])}, "must hold integers"),
    ({"indptr": np.array([0, 2, 1])}, "must rise"),
    ({"indptr": np.array([0, -(2**62), 2])}, "must rise"),
    ({"indptr": np.array([], int)}, "must rise"),
    ({"data": np.array(["a", "b"])}, "must hold numbers"),
    ({"shape": np.array([2])}, "two of them"),
    ({"shape": np.array([2, 2**63], np.uint64)}, "."),
]


@pytest.mark.parametrize(("changes", "words"), CHANGES)
def test_parts_that_do_not_fit_together_are_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    parts = {**PARTS, **changes}
    members = [(f"m.{name}", member(part)) for name, part in parts.items()]
    with pack(tmp_path / "a.npz", *members) as arrays, pytest.raises(BadRows, match=words):
        arrays.csr("m.")


def test_parts_that_fit_together_are_rows(tmp_path: Path) -> None:
    members = [(f"m.{name}", member(part)) for name, part in PARTS.items()]
    with pack(tmp_path / "a.npz", *members) as arrays:
        rows = arrays.csr("m.")
    assert np.array_equal(rows.toarray(), [[1.0, 0.0], [0.0, 2.0]])
    assert rows.indices.dtype == rows.indptr.dtype == np.int32  # forests take no others
