"""The command line: a thin layer over the library.

Each verb in `VERBS` has a name, a function that declares its options, and a function that calls
the library, whose docstring is the help text with an example that runs.
"""

import argparse
import codecs
import io
import os
import sys
import warnings
from collections.abc import Sequence

from thresher import __version__
from thresher.cli import label, laboratory, tables
from thresher.cli.verb import MISUSE, Misuse, Parser, Verb, add_verbs
from thresher.rendering.text import say

__all__ = ["VERBS", "Verb", "build_parser", "main"]

PLAIN = "thresher-plain"  # how characters are treated that cannot be encoded
IN_ASCII = {"±": "+/-", "≥": ">=", "≤": "<=", "…": "...", "–": "-", "²": "^2"}
FAILURE, INTERRUPTED, CLOSED = 1, 130, 141  # the last two as shells number signals
VERBS = (
    laboratory.DEMO,
    tables.LEARN,
    tables.PREDICT,
    tables.AUDIT,
    label.LABEL,
    laboratory.PLAN,
    laboratory.SIMULATE,
    laboratory.ARENA,
)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 for success, 1 for failure, 2 for misuse, 130 after an interrupt.

    Examples
    --------
    >>> main(["plan", "--features", "9", "--sparsity", "1", "--error", "0.1"])
    1 of 9 features, error 0.1, ...
    0
    """
    _print_what_the_terminal_can()
    options = argparse.Namespace(debug=False)
    try:
        build_parser().parse_args(argv, options)
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            options.verb.run(options)
    except BrokenPipeError:  # the reader of a pipe, such as head, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except KeyboardInterrupt:
        say("thresher: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Misuse as error:
        hint = f"(see '{options.program} --help')"
        say(f"thresher: error: {_one_line(error)} {hint}", file=sys.stderr)
        return MISUSE
    except Exception as error:
        if options.debug:
            raise
        say(f"thresher: error: {_one_line(error)}", file=sys.stderr)
        return FAILURE
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The parser of all verbs; each help text ends in an example.

    Examples
    --------
    >>> build_parser().parse_args(["demo", "--seed", "3"]).seed
    3
    """
    parser = Parser(
        prog="thresher",
        description="Learn from data that may be poisoned, and find the planted rows.",
        epilog=f"example: {VERBS[0].example}",
    )
    parser.add_argument("--version", action="version", version=f"thresher {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    add_verbs(parser, VERBS)
    return parser


def _print_what_the_terminal_can() -> None:
    """Let no character end a command, whatever the encoding of the terminal or the log."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is printed for a character that the encoding lacks: signs of ours in ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    if character in IN_ASCII:
        return IN_ASCII[character], error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error(PLAIN, _plainly)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"thresher: warning: {_one_line(message)}", file=sys.stderr)


def _one_line(error: Exception | str) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
