"""What an arena runs: a TOML file of worlds, adversaries, learners, budgets and seeds.

docs/laboratory.md describes the file; `specs/` has those that come with the package.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from thresher.errors import DamagedFile
from thresher.experiments.arena.blocks import KINDS, check_keys, expand_blocks, skipped_methods
from thresher.experiments.arena.run import Run, Spec, fingerprint
from thresher.experiments.spec import TableSpec, parse_seeds
from thresher.validation import check_positive

SHIPPED = Path(__file__).parent / "specs"
_KEYS = {"title", "about", "seeds", "pilot_seeds", "time_limit", "learners", *KINDS}


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
        try:
            return cls._of(content, name, text)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{origin}: {error}") from error

    @classmethod
    def _of(cls, content: Mapping[str, Any], name: str, text: str) -> Self:
        check_keys(content, _KEYS, "the file")
        seeds, pilot_seeds = _seeds(content)
        return cls(
            name=name,
            title=_string(content, "title", name),
            about=_string(content, "about", "").strip(),
            seeds=seeds,
            pilot_seeds=pilot_seeds,
            time_limit=check_positive(content.get("time_limit", 600.0), "time_limit"),
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
    def tables(self) -> list[str]:
        """The names of its real tables."""
        specs = (spec for _, spec in self.entries if isinstance(spec, TableSpec))
        return list(dict.fromkeys(spec.table for spec in specs))

    def without_tables(self, names: Sequence[str]) -> Self:
        """The sweep without the runs on these tables, which it then names as skipped."""
        kept = (
            (learner, spec)
            for learner, spec in self.entries
            if not (isinstance(spec, TableSpec) and spec.table in names)
        )
        skipped = {f"the table {name}": f"a file {name}.* in the data folder" for name in names}
        return replace(
            self,
            entries=tuple(kept),
            skipped={**self.skipped, **skipped},
            skipped_tables=(*self.skipped_tables, *names),
        )


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
        shipped = ", ".join(shipped_names())
        raise ValueError(
            f"unknown sweep {name_or_path!r}: give a TOML file or a built-in sweep: {shipped}"
        )
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
    found = {"seeds": parse_seeds("10"), "pilot_seeds": ()}
    for key in found.keys() & content.keys():
        try:
            found[key] = parse_seeds(str(content[key]))
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from error
    both = sorted(set(found["seeds"]) & set(found["pilot_seeds"]))
    if both:  # a strength that was chosen on a seed looks worse on it than it is
        raise ValueError(f"seed {both[0]} is among both seeds and pilot_seeds")
    return found["seeds"], found["pilot_seeds"]
