"""What an arena runs: a TOML file of worlds, adversaries, learners, budgets and seeds.

The blocks are multiplied, and a list inside a block stands for each of its values::

    title = "Two attacks"
    seeds = "0-4"
    time_limit = 60              # seconds that a run may take

    [[worlds]]
    n_features = 60
    sparsity = 3
    noise_rate = [0.05, 0.1]

    [[adversaries]]
    adversary = "in-band-mass"
    strength = [1, 2, 3]

    [[learners]]
    name = "thresher"

    [[learners]]
    name = "own labels only"
    schedule = { reuse_labels = false }

    [[budgets]]
    label_budget = 200

With `pilot_seeds`, every strength is tried on these first, and the seeds that count meet only the
strength that was worst for each learner in each world.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.errors import DamagedFile
from thresher.experiments.arena.trials import Trial, fingerprint
from thresher.experiments.seeds import parse_seeds
from thresher.experiments.spec import NOBODY, SimulationSpec
from thresher.validation import check_positive

SHIPPED = Path(__file__).parent / "specs"
MAX_RUNS = 1_000_000
_KINDS = ("worlds", "adversaries", "budgets")  # of blocks whose keys are those of a spec
_KEYS = {"title", "about", "seeds", "pilot_seeds", "time_limit", "learners", *_KINDS}
_SPEC_KEYS = set(SimulationSpec.__dataclass_fields__) - {"schedule"}
_REQUIRED = {"n_features", "sparsity"}


@dataclass(frozen=True)
class Sweep:
    """A set of experiments, each to be run with every seed.

    Parameters
    ----------
    name : what the records call it
    title, about : what the report says over its tables
    seeds : of the runs that count
    pilot_seeds : of the runs that choose each adversary's strength; none to run every strength
    time_limit : seconds that a run may take
    entries : the learner's name and the spec of each experiment
    hash : changes with the content of the file
    text : the file itself

    Examples
    --------
    >>> sweep = Sweep.from_text('''
    ... seeds = "0-1"
    ... [[worlds]]
    ... n_features = 30
    ... sparsity = [2, 3]
    ... ''', name="tiny")
    >>> len(sweep.entries), len(sweep.trials(sweep.seeds))
    (2, 4)
    """

    name: str
    title: str
    about: str
    seeds: tuple[int, ...]
    pilot_seeds: tuple[int, ...]
    time_limit: float
    entries: tuple[tuple[str, SimulationSpec], ...]
    hash: str
    text: str

    @classmethod
    def load(cls, name_or_path: str) -> Sweep:
        """The sweep of a TOML file, or of that name among those shipped with the package.

        Raises
        ------
        DamagedFile : the file is not TOML, or not encoded as UTF-8
        TypeError, ValueError : no such sweep, or something in it is refused
        """
        path = Path(name_or_path)
        if not path.suffix:
            path = SHIPPED / f"{name_or_path}.toml"
        if not path.is_file():
            raise ValueError(
                f"there is no spec {name_or_path!r}: neither a TOML file, nor one of those shipped "
                f"({', '.join(shipped_names())})"
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DamagedFile(str(path), str(error)) from error
        return cls.from_text(text, name=path.stem, origin=str(path))

    @classmethod
    def from_text(cls, text: str, *, name: str, origin: str = "the spec") -> Sweep:
        """The sweep that a TOML text describes; `origin` is what errors call the text.

        Raises
        ------
        DamagedFile : the text is not TOML
        TypeError, ValueError : something in it is refused
        """
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise DamagedFile(origin, str(error)) from error
        _check_keys(content, _KEYS, origin)
        seeds, pilot_seeds = _seeds(content, origin)
        return cls(
            name=name,
            title=_words(content, "title", name, origin),
            about=_words(content, "about", "", origin).strip(),
            seeds=seeds,
            pilot_seeds=pilot_seeds,
            time_limit=check_positive(content.get("time_limit", 600.0), f"{origin}, time_limit"),
            entries=_expand(content, len(seeds) + len(pilot_seeds), origin),
            hash=fingerprint(content),
            text=text,
        )

    def trials(
        self, seeds: Sequence[int], entries: Sequence[tuple[str, SimulationSpec]] | None = None
    ) -> list[Trial]:
        """Every entry (or those given) with every seed, seed by seed."""
        chosen = self.entries if entries is None else entries
        return [Trial(learner, spec, seed) for seed in seeds for learner, spec in chosen]


def shipped_names() -> list[str]:
    """The sweeps that come with the package.

    Examples
    --------
    >>> "smoke" in shipped_names()
    True
    """
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _words(content: Mapping[str, Any], key: str, default: str, origin: str) -> str:
    words = content.get(key, default)
    if not isinstance(words, str):
        raise TypeError(f"{origin} must write {key} as a string, got {words!r}")
    return words


def _seeds(content: Mapping[str, Any], origin: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds that count and the pilot ones, none of which is both."""
    found = {"seeds": parse_seeds("10"), "pilot_seeds": ()}
    for key in found.keys() & content.keys():
        try:
            found[key] = parse_seeds(str(content[key]))
        except ValueError as error:
            raise ValueError(f"{origin}, {key}: {error}") from error
    both = sorted(set(found["seeds"]) & set(found["pilot_seeds"]))
    if both:  # a strength that was chosen on a seed looks worse on it than it is
        raise ValueError(f"{origin} has seed {both[0]} among both seeds and pilot_seeds")
    return found["seeds"], found["pilot_seeds"]


def _expand(
    content: Mapping[str, Any], n_seeds: int, origin: str
) -> tuple[tuple[str, SimulationSpec], ...]:
    """The distinct experiments of all combinations of blocks, in the order of the file."""
    if not content.get("worlds"):
        raise ValueError(f"{origin} must have at least one [[worlds]] block")
    learners = _learners(content, origin)
    parts = [_blocks(content, key, origin) for key in _KINDS]
    _check_size(n_seeds * math.prod(map(len, [learners, *parts])), origin)
    entries: dict[str, tuple[str, SimulationSpec]] = {}
    for (name, schedule), *blocks in itertools.product(learners.items(), *parts):
        spec = _make_spec(blocks, schedule, origin)
        entries.setdefault(Trial(name, spec, 0).id, (name, spec))
    return tuple(entries.values())


def _make_spec(
    blocks: Sequence[Mapping[str, Any]], schedule: Mapping[str, Any], origin: str
) -> SimulationSpec:
    merged: dict[str, Any] = {}
    for block in blocks:
        twice = merged.keys() & block.keys()
        if twice:
            raise ValueError(f"{origin} gives {', '.join(sorted(twice))} in two kinds of blocks")
        merged.update(block)
    lacking = _REQUIRED - merged.keys()
    if lacking:
        raise ValueError(f"{origin} must give every world its {' and '.join(sorted(lacking))}")
    if merged.get("noise_rate", 0) == 0:  # whoever the adversary is, it has nothing to do
        merged.update(adversary=NOBODY, strength=None)
    try:
        return SimulationSpec(**merged, schedule=dict(schedule))
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{origin}, {_describe(merged)}: {error}") from error


def _learners(content: Mapping[str, Any], origin: str) -> dict[str, dict[str, Any]]:
    """The schedule of each learner by its name; values of a list are told apart in the name."""
    found: dict[str, dict[str, Any]] = {}
    for block in _block_list(content, "learners", origin) or [{"name": "thresher"}]:
        _check_keys(block, {"name", "schedule"}, f"{origin}, [[learners]]")
        name, schedule = block.get("name"), block.get("schedule", {})
        if not isinstance(name, str) or not name:
            raise ValueError(f"{origin}: every block of [[learners]] must have a name")
        where = f"{origin}, the schedule of {name!r}"
        if not isinstance(schedule, dict):
            raise TypeError(f"{where} must be a table, got {schedule!r}")
        varied = [key for key, value in schedule.items() if isinstance(value, list)]
        for choice in _choices(schedule, where):
            full_name = ", ".join([name, *(f"{key} {choice[key]}" for key in varied)])
            if found.setdefault(full_name, choice) != choice:
                raise ValueError(f"{origin} has two learners {full_name!r} with unequal schedules")
    return found


def _blocks(content: Mapping[str, Any], key: str, origin: str) -> list[dict[str, Any]]:
    """The choices of all blocks of a kind; one empty choice if there is no block."""
    found = []
    for block in _block_list(content, key, origin):
        _check_keys(block, _SPEC_KEYS, f"{origin}, [[{key}]]")
        found.extend(_choices(block, f"{origin}, [[{key}]]"))
    return found or [{}]


def _block_list(content: Mapping[str, Any], key: str, origin: str) -> list[dict[str, Any]]:
    blocks = content.get(key, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError(f"{origin} must write {key} as blocks that begin with [[{key}]]")
    return blocks


def _choices(block: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The block once for every combination of the values in its lists."""
    values = [value if isinstance(value, list) else [value] for value in block.values()]
    if not all(values):
        raise ValueError(f"{where} has a list without values")
    _check_size(math.prod(map(len, values)), where)
    return [dict(zip(block, chosen)) for chosen in itertools.product(*values)]


def _check_size(n_runs: int, where: str) -> None:
    if n_runs > MAX_RUNS:
        raise ValueError(f"{where} asks for {n_runs:,} runs; at most {MAX_RUNS:,} may be")


def _check_keys(block: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(block.keys() - known)
    if unknown:
        raise ValueError(
            f"{where} has the unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )


def _describe(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
