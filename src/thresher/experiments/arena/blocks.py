"""The blocks of a sweep's file, multiplied: one spec for each combination."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from thresher.experiments.arena.run import Run, Spec
from thresher.experiments.spec import LATER, NO_ADVERSARY, THRESHER, SimulationSpec, TableSpec
from thresher.rivals.methods import MISSING

MAX_RUNS = 1_000_000
KINDS = ("worlds", "adversaries", "budgets")
LEARNER_KEYS = {"schedule", *LATER}  # of the spec; a learner has a name as well
_FIELDS = SimulationSpec.__dataclass_fields__.keys() | TableSpec.__dataclass_fields__.keys()
SPEC_KEYS = _FIELDS - LEARNER_KEYS


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
    try:
        if "table" in merged:
            return _table_spec(merged, learner)
        return SimulationSpec(**merged, **learner)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        values = (f"{name} = {value}" for name, value in merged.items() if value is not None)
        raise kind(f"{', '.join(values)}: {error}") from error


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
