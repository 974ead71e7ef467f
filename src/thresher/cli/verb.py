"""What a verb of the command line is, and how verbs come under a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

MISUSE = 2  # the exit code


@dataclass(frozen=True)
class Verb:
    """One command: how it is named, explained, parsed and run.

    Examples
    --------
    >>> verb = Verb("greet", "say hello", "thresher greet", lambda _: None, lambda _: None)
    >>> verb.name
    'greet'
    """

    name: str
    summary: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


class Parser(argparse.ArgumentParser):
    """A parser that reports misuse in one line, without the usage.

    Examples
    --------
    >>> Parser(prog="thresher").parse_args([])
    Namespace()
    """

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSE, f"thresher: error: {message} (see '{self.prog} --help')\n")


class Misuse(Exception):
    """Options that the library refuses: out of range, unknown, or at odds with each other.

    Examples
    --------
    >>> str(Misuse("noise_rate must be below 0.5"))
    'noise_rate must be below 0.5'
    """


@contextmanager
def refusing_misuse() -> Iterator[None]:
    """A block in which what the library says about its parameters is about the user's options.

    Examples
    --------
    >>> with refusing_misuse():
    ...     int("x")
    Traceback (most recent call last):
    thresher.cli.verb.Misuse: invalid literal for int() with base 10: 'x'
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise Misuse(str(error)) from error


def add_verbs(parser: argparse.ArgumentParser, verbs: Sequence[Verb]) -> None:
    """Let one of the verbs follow what the parser has read.

    Examples
    --------
    >>> parser = Parser(prog="thresher")
    >>> add_verbs(parser, [Verb("greet", "say hello", "thresher greet", lambda _: None, print)])
    >>> options = parser.parse_args(["greet"])
    >>> options.verb.name, options.program
    ('greet', 'thresher greet')
    """
    places = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in verbs:
        own = places.add_parser(
            verb.name,
            help=verb.summary,
            description=verb.summary[0].upper() + verb.summary[1:] + ".",
            epilog=f"example: {verb.example}",
        )
        # Before its options: the verbs under a verb overwrite what is set here.
        own.set_defaults(verb=verb, program=own.prog)
        verb.add_options(own)
        # Suppressed, so that `thresher --debug demo` is not undone by the verb's own default.
        own.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show the traceback of a failure",
        )
