"""The command line: a thin layer over the library.

Each verb in `VERBS` has a name, a function that declares its options, and a function that calls
the library, whose docstring is the help text with an example that runs.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from thresher import __version__
from thresher.cli import laboratory, tables
from thresher.cli.verb import MISUSE, Misuse, Parser, Verb, add_verbs

__all__ = ["VERBS", "Verb", "build_parser", "main"]

FAILURE, INTERRUPTED, CLOSED = 1, 130, 141  # the last two as shells number signals
VERBS = (
    laboratory.DEMO,
    tables.LEARN,
    tables.PREDICT,
    tables.AUDIT,
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
    options = build_parser().parse_args(argv)
    verb: Verb = options.verb
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            verb.run(options)
    except BrokenPipeError:  # the reader of a pipe, such as head, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except KeyboardInterrupt:
        print("thresher: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Misuse as error:
        hint = f"(see '{options.program} --help')"
        print(f"thresher: error: {_one_line(error)} {hint}", file=sys.stderr)
        return MISUSE
    except Exception as error:
        if options.debug:
            raise
        print(f"thresher: error: {_one_line(error)}", file=sys.stderr)
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


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"thresher: warning: {_one_line(message)}", file=sys.stderr)


def _one_line(error: Exception | str) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
