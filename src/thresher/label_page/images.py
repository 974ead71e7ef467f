"""Pictures in a table, as small PNG files: from pixels, or from files below one folder.

Whatever comes in is decoded and encoded again, so that nothing but pixels reaches a browser.
"""

import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from thresher.validation import FloatArray

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")  # SVG is a document, not a picture
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")
MOST_BYTES = 32 * 2**20  # of a file
MOST_PIXELS = 50_000_000  # of a decoded picture
LONGEST_SIDE = 1_200  # of what is shown
SMALLEST_SIDE = 200  # smaller pictures are enlarged without smoothing
FEWEST_PIXELS = 64  # of a list; shorter ones are shown as text
_OF_NUMBERS = frozenset("0123456789+-.eE[](),; \t\r\n")
_BETWEEN_NUMBERS = re.compile(r"[\s\[\](),;]+")


class NotAPicture(ValueError):
    """A cell that cannot be shown as a picture; the message says why."""


def looks_like_picture(value: Any, root: Path | None) -> bool:
    """Whether a cell holds a picture: pixels, an encoded file, or a path if there is a root.

    Examples
    --------
    >>> looks_like_picture(np.zeros((8, 8)), None), looks_like_picture("cat.png", None)
    (True, False)
    >>> looks_like_picture("0 127 255 64 " * 16, None), looks_like_picture("1, 2, 3", None)
    (True, False)
    """
    value = _file_in(value)
    if isinstance(value, bytes):
        return True
    if isinstance(value, str):
        if root is not None and value.lower().endswith(ENDINGS):
            return True
        value = _pixels_in_text(value)
    return isinstance(value, list | tuple | np.ndarray) and _are_pixels(value)


def picture(value: Any, root: Path | None) -> bytes:
    """The picture of a cell as a PNG file.

    Parameters
    ----------
    value : a path below `root`, an encoded file, or pixels: height × width (× 3), or a square as
        one list, also as text. A dictionary may hold `bytes` or a `path`
    root : folder that no path may leave

    Raises
    ------
    NotAPicture : not one of these, too large, or outside the root

    Examples
    --------
    >>> picture(np.eye(8), None)[:4]
    b'\\x89PNG'
    """
    value = _file_in(value)
    if isinstance(value, bytes):
        return encoded(_decoded(value))
    if not isinstance(value, str):
        return encoded(_from_pixels(value))
    pixels = _pixels_in_text(value)
    if pixels is not None:
        return encoded(_from_pixels(pixels))
    return encoded(_decoded(_content(value, root)))


def _file_in(value: Any) -> Any:
    """The file in a cell of Hugging Face's kind, which has `bytes` or a `path`; others as is."""
    if not isinstance(value, dict) or not {"bytes", "path"} <= value.keys():
        return value
    return value["path"] if value["bytes"] is None else value["bytes"]


def encoded(image: Image.Image) -> bytes:
    """The image as a PNG file, in a size that can be seen and sent."""
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    times = SMALLEST_SIDE // max(image.size)
    if times > 1:
        size = (image.width * times, image.height * times)
        image = image.resize(size, Image.Resampling.NEAREST)
    file = io.BytesIO()
    Image.fromarray(np.asarray(image)).save(file, "PNG")  # pixels alone: no metadata of the source
    return file.getvalue()


def _content(path: str, root: Path | None) -> bytes:
    """The file, which must lie below the root after all links are followed."""
    if root is None:
        raise NotAPicture("no folder of pictures is given; see --images-root")
    if "://" in path or "\x00" in path or not path.lower().endswith(ENDINGS):
        raise NotAPicture("not the path of a picture")
    try:
        real_root = root.resolve(strict=True)
        real = (real_root / path).resolve(strict=True)
        if not real.is_relative_to(real_root) or not real.is_file():
            raise NotAPicture("outside the folder of pictures")
        with real.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise NotAPicture("no such file") from error
    if len(content) > MOST_BYTES:
        raise NotAPicture(f"larger than {MOST_BYTES // 2**20} MB")
    return content


def _decoded(content: bytes) -> Image.Image:
    if len(content) > MOST_BYTES:
        raise NotAPicture(f"larger than {MOST_BYTES // 2**20} MB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # damaged metadata, which is not used
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise NotAPicture(f"more than {MOST_PIXELS // 10**6} million pixels")
                image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # JPEG decodes to about this
                return image.convert("RGB")
    except NotAPicture:
        raise
    except UnidentifiedImageError as error:
        raise NotAPicture("not a picture that can be shown") from error
    except Exception as error:  # decoders of damaged files raise whatever they like
        raise NotAPicture("the picture is damaged") from error


def _pixels_in_text(text: str) -> list[float] | None:
    """The numbers of a text that is a square of them, or None."""
    if len(text) < 2 * FEWEST_PIXELS or not set(text) <= _OF_NUMBERS:
        return None
    try:
        pixels = [float(word) for word in _BETWEEN_NUMBERS.split(text) if word]
    except ValueError:
        return None
    return pixels if _is_square(len(pixels)) else None


def _is_square(number: int) -> bool:
    return bool(round(number**0.5) ** 2 == number)


def _are_pixels(value: Any) -> bool:
    """Whether a list is a picture: enough numbers of the right shape, none negative.

    Other lists, such as tags or embeddings, are shown as text.
    """
    try:
        pixels = _shaped(value)
    except NotAPicture:
        return False
    return pixels.size >= FEWEST_PIXELS and bool(np.nanmin(pixels, initial=0.0) >= 0)


def _from_pixels(value: Any) -> Image.Image:
    return Image.fromarray(_as_bytes(_shaped(value)))


def _shaped(value: Any) -> FloatArray:
    """The numbers as height × width (× 3)."""
    try:
        pixels = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise NotAPicture("not a table of numbers") from error
    if pixels.ndim == 1 and _is_square(pixels.size):
        side = round(pixels.size**0.5)
        pixels = pixels.reshape(side, side)
    right_shape = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)
    if not right_shape or not 0 < pixels.size <= 3 * MOST_PIXELS:
        raise NotAPicture(f"pixels of shape {pixels.shape}; height × width (× 3) is needed")
    return pixels


def _as_bytes(pixels: FloatArray) -> NDArray[np.uint8]:
    """Bytes as they are; anything else is stretched from its own range."""
    pixels = np.nan_to_num(pixels, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0 and 1 < high <= 255):
        pixels = (pixels - low) * (255.0 / (high - low) if high > low else 0.0)
    return pixels.round().astype(np.uint8)
