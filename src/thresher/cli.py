"""The command line: thin, one function per verb.

A verb is a line in `VERBS`: its name, what it does, an example that runs, a function that declares
its options, and a function that does the work by calling the library.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from thresher import __version__

MISUSE, FAILURE, INTERRUPTED = 2, 1, 130
MAX_SEEDS = 10_000


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
    except _Misuse as error:
        hint = f"(see 'thresher {verb.name} --help')"
        print(f"thresher: error: {_one_line(error)} {hint}", file=sys.stderr)
        return MISUSE
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


class _Misuse(Exception):
    """Options that the library refuses: out of range, unknown, or at odds with each other."""


@contextmanager
def _refusing_misuse() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise _Misuse(str(error)) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# -- kinds of values ---------------------------------------------------------------------------


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on, got {text!r}")
    return int(text)


def _seeds(text: str) -> tuple[int, ...]:
    if text.isascii() and text.isdigit():
        seeds = [range(int(text))]
    else:
        ends = [part.partition("-") for part in text.split(",")]
        seeds = [range(_seed(a), _seed(b if dash else a) + 1) for a, dash, b in ends]
    n_seeds = sum(part.stop - part.start for part in seeds)
    if not all(seeds) or n_seeds > MAX_SEEDS:
        raise argparse.ArgumentTypeError(
            f"must be a number of seeds from 1 to {MAX_SEEDS}, or a list like 0-9 or 1,5,7; "
            f"got {text!r}"
        )
    return tuple(dict.fromkeys(seed for part in seeds for seed in part))


def _picture(text: str) -> Path:
    if Path(text).suffix.lower() != ".png":
        raise argparse.ArgumentTypeError(f"must end in .png, got {text!r}")
    return _new_file(text)


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory")
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


# -- plan --------------------------------------------------------------------------------------


def _plan_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--features", type=int, required=True, metavar="D", help="how many features there are")
    add("--sparsity", type=int, required=True, metavar="S", help="how many of them matter")
    add("--error", type=float, required=True, metavar="E", help="the error rate to reach")
    add("--noise-rate", type=float, default=0.0, metavar="N", help="dirty share (default: 0)")
    add(
        "--failure-probability",
        type=float,
        default=0.05,
        metavar="P",
        help="chance of missing the error that is accepted (default: 0.05)",
    )
    add("--json", action="store_true", help="print a JSON record instead of a table")


def _plan(options: argparse.Namespace) -> None:
    from thresher.learning import plan

    with _refusing_misuse():
        answer = plan(
            n_features=options.features,
            sparsity=options.sparsity,
            target_error=options.error,
            noise_rate=options.noise_rate,
            failure_probability=options.failure_probability,
        )
    if options.json:
        names = ("noise_limit", "label_floor", "possible", "message")
        print(json.dumps(asdict(answer) | {name: getattr(answer, name) for name in names}))
    else:
        print(answer)


# -- simulate ----------------------------------------------------------------------------------


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "thresher simulate [options]"
    add = parser.add_argument
    add("--features", type=int, default=500, metavar="D", help="length of a row (500)")
    add("--sparsity", type=int, default=10, metavar="S", help="features that matter (10)")
    add("--noise-rate", type=float, default=0.05, metavar="N", help="dirty share (0.05)")
    add("--told-noise-rate", type=float, metavar="N", help="what the learner believes (the truth)")
    names = "gaussian, laplace, logistic, uniform, exponential or student-t"
    add("--distribution", default="gaussian", metavar="NAME", help=names)
    add("--adversary", metavar="NAME", help="in-band-mass, none, ...; a wrong name lists all")
    add("--strength", type=float, metavar="C", help="of the adversary (its own default)")
    add("--label-budget", type=int, metavar="M", help="most labels to pay (10 x the floor)")
    add(
        "--target-error",
        type=float,
        metavar="E",
        help="where to stop (1%%, or noise/5)",
    )
    add("--seeds", type=_seeds, default="5", help="how many, or which: 0-9 or 1,5,7 (5)")
    add("--verbose", action="store_true", help="tell the phases of every seed, not of the first")
    add("--json", type=_new_file, metavar="FILE", help="write the records, seed by seed")
    add("--figure", type=_picture, metavar="FILE.png", help="draw error and dirt by phase")


def _simulate(options: argparse.Namespace) -> None:
    from thresher.experiments import SimulationSpec
    from thresher.experiments.terminal import Output, simulate

    with _refusing_misuse():
        spec = SimulationSpec(
            n_features=options.features,
            sparsity=options.sparsity,
            noise_rate=options.noise_rate,
            told_noise_rate=options.told_noise_rate,
            distribution=options.distribution,
            adversary=options.adversary or ("in-band-mass" if options.noise_rate else "none"),
            strength=options.strength,
            label_budget=options.label_budget,
            target_error=options.target_error,
        )
    output = Output(verbose=options.verbose, json=options.json, figure=options.figure)
    simulate(spec, options.seeds, output)


VERBS = (
    Verb(
        name="demo",
        summary="plant outliers among clean rows, remove them, and draw what happened",
        example="thresher demo --seed 1 --out thresher-demo.png",
        add_options=_demo_options,
        run=_demo,
    ),
    Verb(
        name="plan",
        summary="say what learning would cost, and whether the noise allows it",
        example="thresher plan --features 500 --sparsity 10 --error 0.01",
        add_options=_plan_options,
        run=_plan,
    ),
    Verb(
        name="simulate",
        summary="learn from rows that a simulated adversary poisons, and tell phase by phase",
        example="thresher simulate --features 60 --sparsity 3 --seeds 2",
        add_options=_simulate_options,
        run=_simulate,
    ),
)
