"""Types of option values: what a text means, or why it is refused."""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def _giving_reasons() -> Iterator[None]:
    """In the function, argparse prints the library's reason for refusing a value."""
    try:
        yield
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def whole_number(minimum: int) -> Callable[[str], int]:
    """A type of integers with a minimum."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < minimum:
            raise ArgumentTypeError(f"must be an integer ≥ {minimum}, got {text!r}")
        return int(text)

    return read


@_giving_reasons()
def noise_rate(text: str) -> float:
    """A noise rate: at least 0 and below 0.5."""
    from thresher.validation import check_noise_rate  # here, so that --help stays quick

    try:
        rate = float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"must be a number such as 0.05, got {text!r}") from error
    return check_noise_rate(rate, "the value")


NAMED = ("auto", "all")  # numbers of features with a name


def choices(text: str) -> tuple[int | str, ...]:
    """Numbers of features, `auto` or `all`, separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(part if part in NAMED else whole_number(1)(part) for part in parts)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"must be 'auto', 'all' or integers ≥ 1, got {text!r}") from None


def two_labels(text: str) -> tuple[str, str]:
    """Two different labels, separated by a comma."""
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second or first == second:
        raise ArgumentTypeError(f"must be two different labels, such as ham,spam, got {text!r}")
    return first, second


def separator(text: str) -> str:
    """One character between cells; `tab` and `\\t` are the tabulator."""
    mark = "\t" if text in ("tab", "\\t") else text
    if len(mark) != 1 or not mark.isascii() or mark in '\r\n"\0':
        raise ArgumentTypeError(f"must be one character, or 'tab', got {text!r}")
    return mark


@_giving_reasons()
def seeds(text: str) -> tuple[int, ...]:
    """A number of seeds, or the seeds themselves."""
    from thresher.experiments.spec import parse_seeds  # here, so that --help stays quick

    return parse_seeds(text)


def new_file(text: str) -> Path:
    """A path to write to."""
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"folder {str(path.parent)!r} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise ArgumentTypeError(f"folder {str(path.parent)!r} is not writable")
    return path


def new_file_ending_in(suffix: str) -> Callable[[str], Path]:
    """A type of paths to write to, with this suffix."""

    def read(text: str) -> Path:
        if text == "-":
            raise ArgumentTypeError(
                f"cannot be standard output; name a file that ends in {suffix}, got '-'"
            )
        if Path(text).suffix.lower() != suffix:
            raise ArgumentTypeError(f"must end in {suffix}, got {text!r}")
        return new_file(text)

    return read


def folder(text: str) -> Path:
    """A folder that exists or can be made."""
    path = Path(text)
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise ArgumentTypeError(f"{str(place)!r} is a file, not a folder")
    return path


@_giving_reasons()
def scheduler_address(text: str) -> str:
    """The address of a Dask scheduler."""
    from thresher.experiments.arena.processes import check_address  # here: --help stays quick

    return check_address(text)
