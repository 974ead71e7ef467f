"""A verb of the command line, and how verbs are added to a parser."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NoReturn

from thresher.wording import did_you_mean, quoted, visible

MISUSE = 2  # the exit code


@dataclass(frozen=True)
class Verb:
    """One command: how it is named, parsed and run.

    The docstring of `run` is its help: one sentence, and a line that begins with "Example:".
    """

    name: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]

    @property
    def description(self) -> str:
        """What it does, in one sentence."""
        return str(self.run.__doc__).partition("\n")[0]

    @property
    def example(self) -> str:
        """A command line that runs."""
        return " ".join(str(self.run.__doc__).partition("Example: ")[2].split())


class Parser(argparse.ArgumentParser):
    """A parser that reports misuse in one line, without the usage.

    Attributes
    ----------
    verbs : the verbs below it, if the first is meant where none is named
    """

    verbs: tuple[str, ...] = ()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        given = list(sys.argv[1:] if args is None else args)
        if self.verbs and not (given and given[0] in self.verbs):
            given.insert(0, self.verbs[0])
        if self._subparsers is None:  # else what follows the verb is for the verb's own parser
            self._refuse_unknown_options(given)
        options, unknown = super().parse_known_args(given, namespace)
        if unknown:
            self._refuse_unknown_options(unknown)
            self.error(f"unexpected arguments: {' '.join(unknown)}")
        return options, unknown

    def _refuse_unknown_options(self, given: Sequence[str]) -> None:
        """Before argparse complains about an option that is missing because it is misspelled."""
        known = list(self._option_string_actions)
        for text in takewhile(lambda text: text != "--", given):
            name = text.partition("=")[0]
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                self.error(_unknown("option", name, known))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = action.choices
        if known is not None and value not in known:
            what = "verb" if isinstance(action, argparse._SubParsersAction) else "value"
            message = _unknown(what, str(value), list(map(str, known)))
            raise argparse.ArgumentError(None if what == "verb" else action, message)

    def error(self, message: str) -> NoReturn:
        shown = visible(f"thresher: error: {message} (see '{self.prog} --help')")
        self.exit(MISUSE, f"{shown}\n")


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    """That there is no such option, verb or value, and what may have been meant."""
    meant = did_you_mean(name, known)
    if not meant and what != "option":  # there are too many options to list
        meant = f"choose from {quoted(known)}"
    return f"unknown {what} {name!r}" + (f"; {meant}" if meant else "")


class Misuse(Exception):
    """Options that the library refuses: out of range, unknown, or contradicting each other."""


@contextmanager
def refusing_misuse() -> Iterator[None]:
    """Inside the block, errors of the library about its parameters become `Misuse`.

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


def chosen(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The options of these names, as arguments for the library.

    Examples
    --------
    >>> chosen(argparse.Namespace(sparsity=3, debug=False), ["sparsity", "noise_rate"])
    {'sparsity': 3}
    """
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def add_verbs(
    parser: argparse.ArgumentParser, verbs: Sequence[Verb], *, first_is_default: bool = False
) -> None:
    """Add the verbs to a parser, one of them required, or the first of them meant without a name.

    Examples
    --------
    >>> parser = Parser(prog="thresher")
    >>> add_verbs(parser, [Verb("greet", lambda parser: None, print)])
    >>> options = parser.parse_args(["greet"])
    >>> options.verb.name, options.program
    ('greet', 'thresher greet')
    """
    if first_is_default and isinstance(parser, Parser):
        parser.verbs = tuple(verb.name for verb in verbs)
    places = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in verbs:
        own = places.add_parser(
            verb.name,
            help=verb.description[0].lower() + verb.description[1:].rstrip("."),
            description=verb.description,
            epilog=f"example: {verb.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,  # examples are not broken
        )
        # Before its options, because the verbs under a verb overwrite these.
        own.set_defaults(verb=verb, program=own.prog)
        verb.add_options(own)
        # Suppressed, so that `thresher --debug demo` is not undone by the verb's own default.
        own.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show tracebacks",
        )
