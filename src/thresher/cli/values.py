"""The kinds of values that options take: what a text means, or why it is refused."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def whole_number(minimum: int) -> Callable[[str], int]:
    """A reader of whole numbers that are at least so large.

    Examples
    --------
    >>> whole_number(0)("12")
    12
    >>> whole_number(1)("0")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must be a whole number from 1 on, got '0'
    """

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < minimum:
            raise ArgumentTypeError(f"must be a whole number from {minimum} on, got {text!r}")
        return int(text)

    return read


def noise_rate(text: str) -> float:
    """A share of planted rows, below one half.

    Examples
    --------
    >>> noise_rate("0.05")
    0.05
    >>> noise_rate("0.7")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: noise_rate must be at least 0 and below 0.5, got 0.7
    """
    from thresher.validation import check_noise_rate  # here, so that --help stays quick

    try:
        rate = float(text)
    except ValueError as error:
        raise ArgumentTypeError(f"must be a share such as 0.05, got {text!r}") from error
    try:
        return check_noise_rate(rate)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def choices(text: str) -> tuple[int | str, ...]:
    """Numbers of features between commas; `all` is one, too.

    Examples
    --------
    >>> choices("10,40,all")
    (10, 40, 'all')
    """
    parts = [part.strip() for part in text.split(",")]
    return tuple("all" if part == "all" else whole_number(1)(part) for part in parts)


def seeds(text: str) -> tuple[int, ...]:
    """How many seeds, or which.

    Examples
    --------
    >>> seeds("2"), seeds("4-5,9")
    ((0, 1), (4, 5, 9))
    """
    from thresher.experiments.spec import parse_seeds  # here, so that --help stays quick

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def new_file(text: str) -> Path:
    """A file that can be written.

    Examples
    --------
    >>> new_file("no/such/folder/runs.json")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: there is no directory 'no/such/folder'
    """
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a directory")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"there is no directory {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise ArgumentTypeError(f"nothing can be written to directory {str(path.parent)!r}")
    return path


def new_file_ending_in(suffix: str) -> Callable[[str], Path]:
    """A reader of files that can be written and whose name ends as it should.

    Examples
    --------
    >>> new_file_ending_in(".png")("runs.txt")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must end in .png, got 'runs.txt'
    """

    def read(text: str) -> Path:
        if Path(text).suffix.lower() != suffix:
            raise ArgumentTypeError(f"must end in {suffix}, got {text!r}")
        return new_file(text)

    return read


def folder(text: str) -> Path:
    """A folder that exists or can be made.

    Examples
    --------
    >>> folder(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    argparse.ArgumentTypeError: '...' is a file, not a folder
    """
    path = Path(text)
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise ArgumentTypeError(f"{str(place)!r} is a file, not a folder")
    return path


def scheduler_address(text: str) -> str:
    """The address of a Dask scheduler.

    Examples
    --------
    >>> scheduler_address("foo")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: scheduler must be an address like tcp://127.0.0.1:8786, got 'foo'
    """
    from thresher.experiments.arena.processes import check_address  # here: --help stays quick

    try:
        return check_address(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
