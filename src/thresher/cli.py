"""The command line: thin, one function per verb.

A verb is a line in `VERBS`: its name, what it does, an example that runs, a function that declares
its options, and a function that does the work by calling the library.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from thresher import __version__

MISUSE, FAILURE, INTERRUPTED = 2, 1, 130


@dataclass(frozen=True)
class Verb:
    """One command: how it is named, explained, parsed and run."""

    name: str
    summary: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 for success, 1 for failure, 2 for misuse, 130 after an interrupt."""
    options = build_parser().parse_args(argv)
    verb: Verb = options.verb
    try:
        verb.run(options)
    except KeyboardInterrupt:
        print("thresher: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if options.debug:
            raise
        print(f"thresher: error: {_one_line(error)}", file=sys.stderr)
        return FAILURE
    return 0


def build_parser() -> argparse.ArgumentParser:
    """The parser of all verbs; each help text ends in an example."""
    parser = _Parser(
        prog="thresher",
        description="Find planted rows in data that somebody may have poisoned, with proof.",
        epilog=f"example: {VERBS[0].example}",
    )
    parser.add_argument("--version", action="version", version=f"thresher {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of a failure")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        _add_verb(verbs, verb)
    return parser


def _add_verb(verbs: argparse._SubParsersAction[_Parser], verb: Verb) -> None:
    parser = verbs.add_parser(
        verb.name,
        help=verb.summary,
        description=verb.summary[0].upper() + verb.summary[1:] + ".",
        epilog=f"example: {verb.example}",
    )
    verb.add_options(parser)
    # Suppressed, so that `thresher --debug demo` is not undone by the verb's own default.
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of a failure",
    )
    parser.set_defaults(verb=verb)


class _Parser(argparse.ArgumentParser):
    """A parser that reports misuse in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSE, f"thresher: error: {message} (see '{self.prog} --help')\n")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# -- kinds of values ---------------------------------------------------------------------------


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on, got {text!r}")
    return int(text)


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() != ".png":
        raise argparse.ArgumentTypeError(f"must end in .png, got {text!r}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {str(path.parent)!r}")
    return path


# -- demo --------------------------------------------------------------------------------------


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=_seed, default=0, help="of the random data (default: 0)")
    parser.add_argument(
        "--out",
        type=_picture,
        default=Path("thresher-demo.png"),
        metavar="FILE.png",
        help="where the picture goes (default: thresher-demo.png)",
    )


def _demo(options: argparse.Namespace) -> None:
    from thresher.demo import run_demo  # here, so that --help and --version stay quick

    run_demo(seed=options.seed, out=options.out)


VERBS = (
    Verb(
        name="demo",
        summary="plant outliers among clean rows, remove them, and draw what happened",
        example="thresher demo --seed 1 --out thresher-demo.png",
        add_options=_demo_options,
        run=_demo,
    ),
)
