"""Pictures in a table."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fuzz.mutations import damage
from thresher.label_page import images
from thresher.label_page.images import LONGEST_SIDE, NotAPicture, looks_like_picture, picture

OTHER_ARRAYS = [np.arange(17), np.zeros((2, 3, 4)), [["a"] * 4] * 4, [[1], [1, 2]]]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def decoded(content: bytes) -> Image.Image:
    assert content.startswith(b"\x89PNG")
    return Image.open(io.BytesIO(content))


def saved(kind: str, size: tuple[int, int] = (300, 200), **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(file, kind, **options)
    return file.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "deep").mkdir(parents=True)
    (folder / "cat.png").write_bytes(saved("PNG"))
    (folder / "deep" / "cat.jpg").write_bytes(saved("JPEG"))
    (tmp_path / "secret.png").write_bytes(saved("PNG"))
    return folder


@pytest.mark.parametrize("path", ["cat.png", "deep/cat.jpg", "deep/../cat.png"])
def test_a_file_below_the_root_is_shown(root: Path, path: str) -> None:
    assert decoded(picture(path, root)).size == (300, 200)


def test_a_path_that_is_absolute_and_below_the_root_is_shown(root: Path) -> None:
    assert picture(str(root / "cat.png"), root)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "deep/../../secret.png",
        "missing.png",
        "",
        ".",
        "deep",
        "cat.png\x00.png",
        "http://localhost/cat.png",
        "file:///etc/passwd.png",
        "//localhost/cat.png",
        "/etc/passwd",
        "x" * 5000 + ".png",
        "..\\secret.png",
    ],
)
def test_a_path_that_leaves_the_root_is_refused(root: Path, path: str) -> None:
    with pytest.raises(NotAPicture):
        picture(path, root)


def test_an_absolute_path_outside_the_root_is_refused(root: Path) -> None:
    with pytest.raises(NotAPicture, match="outside"):
        picture(str(root.parent / "secret.png"), root)


def test_a_link_is_followed_before_the_root_is_compared(root: Path) -> None:
    (root / "inside.png").symlink_to(root / "cat.png")
    (root / "outside.png").symlink_to(root.parent / "secret.png")
    (root / "circle.png").symlink_to(root / "circle.png")
    (root / "folder").symlink_to(root.parent)
    assert picture("inside.png", root)
    for path in ("outside.png", "circle.png", "folder/secret.png"):
        with pytest.raises(NotAPicture):
            picture(path, root)


def test_a_path_without_a_root_is_refused() -> None:
    with pytest.raises(NotAPicture, match="--images-root"):
        picture("cat.png", None)


@pytest.mark.parametrize("content", [SVG, b"", b"GIF89a", b"<html>", b"%PDF-1.4", bytes(100)])
@pytest.mark.parametrize("as_file", [True, False])
def test_what_is_not_a_picture_is_refused(root: Path, content: bytes, as_file: bool) -> None:
    (root / "bad.png").write_bytes(content)
    with pytest.raises(NotAPicture):
        picture("bad.png" if as_file else content, root)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_any_usual_format_becomes_png(kind: str) -> None:
    assert decoded(picture(saved(kind), None)).format == "PNG"


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP"])
def test_a_damaged_file_is_refused_or_shown_and_never_worse(kind: str, cut: float) -> None:
    content = saved(kind)
    with suppress(NotAPicture):
        assert decoded(picture(content[: int(cut * len(content))], None)).size == (300, 200)


def test_a_file_may_lie_in_a_dictionary(root: Path) -> None:
    for cell in ({"bytes": saved("PNG"), "path": None}, {"bytes": None, "path": "cat.png"}):
        assert looks_like_picture(cell, root)
        assert decoded(picture(cell, root)).size == (300, 200)
    assert not looks_like_picture({"bytes": 3}, root)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_two_hundred_damaged_files_are_refused_or_shown(kind: str) -> None:
    whole = saved(kind)
    for seed in range(200):
        content = damage(whole, np.random.default_rng(seed))
        with suppress(NotAPicture):
            assert max(decoded(picture(content, None)).size) <= LONGEST_SIDE


def test_hidden_text_of_a_file_is_not_sent() -> None:
    from PIL.PngImagePlugin import PngInfo

    notes = PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script>")
    assert b"alert" in (content := saved("PNG", pnginfo=notes))
    assert b"alert" not in picture(content, None)


def test_a_large_picture_is_made_smaller_and_a_huge_one_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert max(decoded(picture(saved("PNG", (3000, 10)), None)).size) == LONGEST_SIDE
    monkeypatch.setattr(images, "MOST_PIXELS", 299 * 200)
    with pytest.raises(NotAPicture, match="million pixels"):
        picture(saved("PNG"), None)


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    # Its head promises 60,000 x 60,000 pixels; the data is that of a small picture.
    content = bytearray(saved("PNG"))
    content[16:24] = (60_000).to_bytes(4, "big") * 2
    import zlib

    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    with pytest.raises(NotAPicture):
        picture(bytes(content), None)


def test_a_file_that_is_too_large_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 100)
    for value in ("cat.png", saved("PNG")):
        with pytest.raises(NotAPicture, match="larger than"):
            picture(value, root)


@pytest.mark.parametrize(
    "pixels",
    [
        np.arange(64.0),
        np.arange(64.0).reshape(8, 8).tolist(),
        np.random.default_rng(0).random((4, 6, 3)),
        np.full((8, 8), np.nan),
        np.zeros((8, 8)),
        np.linspace(-1, 1, 784),
    ],
)
def test_pixels_become_a_picture_that_can_be_seen(pixels: Any) -> None:
    assert max(decoded(picture(pixels, None)).size) >= 150


@pytest.mark.parametrize(
    ("cell", "is_picture"),
    [
        (list(range(64)), True),
        (np.random.default_rng(0).random((8, 9, 3)).tolist(), True),
        (list(range(63)), False),
        ([1, 2, 3, 4], False),
        (["a", "b"], False),
        ([], False),
        ([[1], [2, 3]], False),
        (np.linspace(-1, 1, 1024).tolist(), False),
        (" ".join(map(str, range(100))), True),
        ("1 2 3 4", False),
        ("word " * 100, False),
    ],
)
def test_a_list_is_a_picture_if_it_can_be_one(cell: Any, is_picture: bool) -> None:
    assert looks_like_picture(cell, None) is is_picture
    if is_picture:
        assert picture(cell, None)


def test_bytes_of_pixels_keep_their_brightness() -> None:
    shown = np.asarray(decoded(picture(np.full((8, 8), 128.0), None)))
    assert set(shown.ravel()) == {128}


@pytest.mark.parametrize("pixels", OTHER_ARRAYS)
def test_other_arrays_are_refused(pixels: Any) -> None:
    with pytest.raises(NotAPicture):
        picture(pixels, None)


@pytest.mark.parametrize(
    ("value", "is_picture"),
    [("cat.png", True), ("CAT.JPG", True), ("a cat", False), ("cat.svg", False), (3.5, False)],
)
def test_a_text_is_a_picture_by_its_ending_if_there_is_a_root(value: Any, is_picture: bool) -> None:
    assert looks_like_picture(value, Path()) is is_picture
    assert not looks_like_picture(value, None)
