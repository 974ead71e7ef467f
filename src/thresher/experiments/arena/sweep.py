"""What an arena runs: a TOML file of worlds, adversaries, learners, budgets and seeds.

docs/laboratory.md describes the file; `specs/` has those that come with the package.
"""

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from thresher.errors import DamagedFile
from thresher.experiments import spec as specs
from thresher.experiments.arena.run import Run, Spec, fingerprint
from thresher.experiments.spec import LATER, NO_ADVERSARY, THRESHER, SimulationSpec, TableSpec
from thresher.rivals.methods import MISSING
from thresher.validation import check_positive

SHIPPED = Path(__file__).parent / "specs"
MAX_RUNS = 1_000_000
KINDS = ("worlds", "adversaries", "budgets")
LEARNER_KEYS = {"schedule", *LATER}  # of the spec; a learner has a name as well
_FIELDS = SimulationSpec.__dataclass_fields__.keys() | TableSpec.__dataclass_fields__.keys()
SPEC_KEYS = _FIELDS - LEARNER_KEYS
_LIMITS = ("time_limit", "memory_limit")
_KEYS = {"title", "about", "seeds", "pilot_seeds", "learners", *_LIMITS, *KINDS}


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Inside the block, errors about parameters begin with what they are about."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error


@dataclass(frozen=True)
class Sweep:
    """A set of learners and specs, each run with every seed.

    Parameters
    ----------
    name : what the records call it
    title, about : what the report says first
    seeds : of the runs that count
    pilot_seeds : of the runs that choose each adversary's strength (default: run every strength)
    time_limit : seconds per run
    memory_limit : gigabytes per run
    entries : pairs of a learner's name and a spec
    skipped : methods and tables that are left out, each with what is missing
    hash : changes with the content of the file
    text : the file itself
    skipped_tables : names of the tables among what is skipped

    Examples
    --------
    >>> sweep = Sweep.from_text('''
    ... seeds = "0-1"
    ... [[worlds]]
    ... n_features = 30
    ... sparsity = [2, 3]
    ... ''', name="tiny")
    >>> len(sweep.entries), len(sweep.runs(sweep.seeds))
    (2, 4)
    """

    name: str
    title: str
    about: str
    seeds: tuple[int, ...]
    pilot_seeds: tuple[int, ...]
    time_limit: float
    memory_limit: float
    entries: tuple[tuple[str, Spec], ...]
    skipped: dict[str, str]
    hash: str
    text: str
    skipped_tables: tuple[str, ...] = ()

    @classmethod
    def load(cls, name_or_path: str) -> Self:
        """The sweep of a TOML file, or the shipped sweep of that name.

        Raises
        ------
        DamagedFile : the file is not TOML, or not encoded as UTF-8
        TypeError, ValueError : there is no such sweep, or its content is invalid
        """
        path, text = _read(name_or_path)
        return cls.from_text(text, name=path.stem, origin=str(path))

    @classmethod
    def from_text(cls, text: str, *, name: str, origin: str = "the spec") -> Self:
        """The sweep that a TOML text describes; `origin` is what errors call the text.

        Raises
        ------
        DamagedFile : the text is not TOML
        TypeError, ValueError : its content is invalid
        """
        content = _parse(text, origin)
        with _naming(origin):
            check_keys(content, _KEYS, "the file")
            seeds, pilot_seeds = _seeds(content)
            return cls(
                name=name,
                title=_string(content, "title", name),
                about=_string(content, "about", "").strip(),
                seeds=seeds,
                pilot_seeds=pilot_seeds,
                time_limit=check_positive(content.get("time_limit", 600.0), "time_limit"),
                memory_limit=check_positive(content.get("memory_limit", 8.0), "memory_limit"),
                entries=expand_blocks(content, len(seeds) + len(pilot_seeds)),
                skipped=skipped_methods(content),
                hash=fingerprint(content),
                text=text,
            )

    def runs(
        self, seeds: Sequence[int], entries: Sequence[tuple[str, Spec]] | None = None
    ) -> list[Run]:
        """Every entry (or those given) with every seed, seed by seed."""
        chosen = self.entries if entries is None else entries
        return [Run(learner, spec, seed) for seed in seeds for learner, spec in chosen]

    @property
    def n_runs(self) -> int:
        """How many runs the sweep has; with a pilot, one strength of each family counts."""
        if not self.pilot_seeds:
            return len(self.seeds) * len(self.entries)
        n_families = len({Run(learner, spec, 0).family for learner, spec in self.entries})
        return len(self.pilot_seeds) * len(self.entries) + len(self.seeds) * n_families

    @property
    def pilot(self) -> str:
        """The pilot seeds with their name."""
        noun = "pilot seeds" if len(self.pilot_seeds) > 1 else "pilot seed"
        return f"{noun} {specs.format_seeds(self.pilot_seeds)}"

    @property
    def tables(self) -> list[str]:
        """The names of its real tables."""
        specs = (spec for _, spec in self.entries if isinstance(spec, TableSpec))
        return list(dict.fromkeys(spec.table for spec in specs))

    def without_tables(self, names: Sequence[str]) -> Self:
        """The sweep without the runs on these tables, which it then names as skipped."""
        kept = tuple(e for e in self.entries if getattr(e[1], "table", None) not in names)
        missing = {f"the table {name}": f"a file {name}.* in the data folder" for name in names}
        tables = (*self.skipped_tables, *names)
        return replace(self, entries=kept, skipped=self.skipped | missing, skipped_tables=tables)


def shipped_names() -> list[str]:
    """The names of the sweeps that come with the package.

    Examples
    --------
    >>> "smoke" in shipped_names()
    True
    """
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def load_sweeps(name_or_path: str) -> list[Sweep]:
    """The sweep of that name or file, or each of the `parts` that the file lists.

    A part that is a file is looked for beside the file that lists it.

    Raises
    ------
    DamagedFile, TypeError, ValueError : see `Sweep.load`

    Examples
    --------
    >>> [sweep.name for sweep in load_sweeps("smoke")]
    ['smoke']
    """
    path, text = _read(name_or_path)
    content = _parse(text, str(path))
    if "parts" not in content:
        return [Sweep.from_text(text, name=path.stem, origin=str(path))]
    check_keys(content, {"parts"}, f"{path}, which has parts")
    parts = content["parts"]
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise TypeError(f"{path}: parts must be a list of names, got {parts!r}")
    named = [part if not Path(part).suffix else str(path.parent / part) for part in parts]
    return [Sweep.load(part) for part in named]


def _read(name_or_path: str) -> tuple[Path, str]:
    path = Path(name_or_path)
    if not path.suffix:
        path = SHIPPED / f"{name_or_path}.toml"
    if not path.is_file():
        known = f"give a TOML file or a built-in sweep: {', '.join(shipped_names())}"
        raise ValueError(f"unknown sweep {name_or_path!r}: {known}")
    try:
        return path, path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DamagedFile(str(path), str(error)) from error


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(origin, str(error)) from error


def _string(content: Mapping[str, Any], key: str, default: str) -> str:
    value = content.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key} must be a string, got {value!r}")
    return value


def _seeds(content: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seeds that count and the pilot seeds; no seed is both."""
    found = {"seeds": specs.parse_seeds("10"), "pilot_seeds": ()}
    for key in found.keys() & content.keys():
        with _naming(key):
            found[key] = specs.parse_seeds(str(content[key]))
    both = sorted(set(found["seeds"]) & set(found["pilot_seeds"]))
    if both:  # a strength that was chosen on a seed looks worse on it than it is
        raise ValueError(f"seed {both[0]} is among both seeds and pilot_seeds")
    return found["seeds"], found["pilot_seeds"]


# -- blocks, multiplied ------------------------------------------------------------------------


def expand_blocks(content: Mapping[str, Any], n_seeds: int) -> tuple[tuple[str, Spec], ...]:
    """The learner's name and the spec of each combination of blocks, in the order of the file.

    Duplicates are dropped, and so are learners whose package is missing: `skipped_methods` names
    them. `n_seeds` is the number of seeds of each.

    Examples
    --------
    >>> content = {"worlds": [{"n_features": 30, "sparsity": [2, 3]}]}
    >>> [(name, spec.sparsity) for name, spec in expand_blocks(content, n_seeds=1)]
    [('thresher', 2), ('thresher', 3)]
    """
    if not content.get("worlds"):
        raise ValueError("at least one [[worlds]] block is required")
    learners = _learners(content)
    parts = [_blocks(content, key) for key in KINDS]
    _check_size(n_seeds * math.prod(map(len, [learners, *parts])))
    entries: dict[str, tuple[str, Spec]] = {}
    for (name, learner), *blocks in itertools.product(learners.items(), *parts):
        spec = _make_spec(blocks, learner)
        entries.setdefault(Run(name, spec, 0).id, (name, spec))
    return tuple(entries.values())


def skipped_methods(content: Mapping[str, Any]) -> dict[str, str]:
    """The methods of the sweep whose package is not installed, with the package."""
    blocks = content.get("learners", [])
    named = (name for block in blocks for name in _as_list(block.get("method", THRESHER)))
    return {name: f"the package {MISSING[name]}" for name in named if _is_missing(name)}


def check_keys(block: Mapping[str, Any], known: set[str], where: str) -> None:
    """Raise if the block has an unknown key; the known ones are listed."""
    unknown = sorted(block.keys() - known)
    if unknown:
        listed = ", ".join(sorted(known))
        raise ValueError(f"unknown key {unknown[0]!r} in {where}; known keys: {listed}")


def _make_spec(blocks: Sequence[Mapping[str, Any]], learner: Mapping[str, Any]) -> Spec:
    merged: dict[str, Any] = {}
    for block in blocks:
        twice = sorted(merged.keys() & block.keys())
        if twice:
            raise ValueError(f"{', '.join(twice)} is given in two kinds of blocks")
        merged.update(block)
    lacking = sorted({"n_features", "sparsity"} - merged.keys())
    if lacking and "table" not in merged:
        raise ValueError(f"every world needs {' and '.join(lacking)}, or a table")
    if merged.get("noise_rate", 0) == 0:  # no adversary has anything to do
        merged.update(adversary=NO_ADVERSARY, strength=None)
    values = (f"{name} = {value}" for name, value in merged.items() if value is not None)
    with _naming(", ".join(values)):
        if "table" in merged:
            return _table_spec(merged, learner)
        return SimulationSpec(**merged, **learner)


def _table_spec(values: Mapping[str, Any], learner: Mapping[str, Any]) -> TableSpec:
    given = {**values, **{name: value for name, value in learner.items() if value != {}}}
    simulated = sorted(given.keys() - TableSpec.__dataclass_fields__.keys())
    if simulated:
        raise ValueError(f"{simulated[0]} is for simulated worlds, not for a table; leave it out")
    return TableSpec(**given)


def _learners(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The spec's part of each learner by its name; a name says which value of a list it has."""
    found: dict[str, dict[str, Any]] = {}
    for block in _block_list(content, "learners") or [{"name": THRESHER}]:
        check_keys(block, {"name", *LEARNER_KEYS}, "[[learners]]")
        for full_name, learner in _learners_of(block):
            if found.setdefault(full_name, learner) != learner:
                raise ValueError(f"two different learners are called {full_name!r}")
    if not found:
        lacking = ", ".join(sorted(set(skipped_methods(content).values())))
        raise ValueError(f"no learner can run here: {lacking} is missing")
    return found


def _learners_of(block: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every learner of one block: one for each combination of the values in its lists."""
    name, schedule = block.get("name", block.get("method") and ""), block.get("schedule", {})
    if not isinstance(name, str) or not (name or "method" in block):
        raise ValueError("every [[learners]] block needs a name or a method")
    where = f"learner {name or block['method']!r}"
    if not isinstance(schedule, dict):
        raise TypeError(f"{where}: schedule must be a table, got {schedule!r}")
    options = {key: block[key] for key in LATER if key in block}
    named = [key for key, value in {**options, **schedule}.items() if isinstance(value, list)]
    if not name:  # the method is the name, and the same for every share of labels
        named = [key for key in {**options, **schedule} if key != "method"]
    for chosen, plan in itertools.product(_choices(options, where), _choices(schedule, where)):
        values = {**chosen, **plan}
        parts = [str(name or values["method"]), *(_say(key, values[key]) for key in named)]
        if not _is_missing(values.get("method")):
            yield ", ".join(parts), {**chosen, "schedule": plan}


def _is_missing(method: object) -> bool:
    return isinstance(method, str) and method in MISSING


def _say(key: str, value: Any) -> str:
    return f"{value} x labels" if key == "budget_factor" else f"{key} {value}"


def _blocks(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The choices of all blocks of a kind; one empty choice if there is no block."""
    found = []
    for block in _block_list(content, key):
        check_keys(block, SPEC_KEYS, f"[[{key}]]")
        found.extend(_choices(block, f"[[{key}]]"))
    return found or [{}]


def _block_list(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    blocks = content.get(key, [])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError(f"{key} must be written as blocks that begin with [[{key}]]")
    return blocks


def _choices(block: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The block once for every combination of the values in its lists."""
    values = [_as_list(value) for value in block.values()]
    if not all(values):
        raise ValueError(f"{where} has an empty list")
    _check_size(math.prod(map(len, values)))
    return [dict(zip(block, chosen)) for chosen in itertools.product(*values)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _check_size(n_runs: int) -> None:
    if n_runs > MAX_RUNS:
        raise ValueError(f"{n_runs:,} runs are too many; the limit is {MAX_RUNS:,}")
