"""Records as data frames: one line per run, one line per cell, and the worst cases.

A *cell* is everything that a run fixes but the seed. Cells that differ only in strength are a
*family*; a *world* is everything in a cell but learner, adversary and strength. A new column of the
summary is computed in `summarize` and described in `COLUMNS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from thresher.experiments.arena.run import FlatRecord, Run, Spec, latest_records, needing
from thresher.experiments.arena.sweep import Sweep
from thresher.experiments.spec import LATER, SimulationSpec, TableSpec
from thresher.files import inert, write_text
from thresher.rendering.text import decimals, rate
from thresher.wording import MISSING, count

with needing("pandas", "lab"):
    import pandas as pd

WORST_ERROR = 0.5  # of a run that did not finish: as good as guessing

CELL_KEYS = ("table", *(name for name in SimulationSpec.__dataclass_fields__ if name != "schedule"))
WORLD_KEYS = tuple(k for k in CELL_KEYS if k not in {"adversary", "strength", *LATER})
_SCHEDULE = "schedule."
_NUMBERS = ["error", "error_floor", "n_labels", "n_draws", "seconds", "n_uncertified"]
_TEXTS = ("run", "arena", "learner", "seed", "status", "message")

# Title and text of each column; of every one, more is worse.
COLUMNS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "median_error": ("median\nerror", rate),
    "ratio": ("error /\nfloor", decimals(2)),
    "error_10": ("10%\nquantile", rate),
    "error_90": ("90%\nquantile", rate),
    "n_labels": ("labels", count),
    "n_draws": ("draws", count),
    "seconds": ("seconds", decimals(1)),
    "n_uncertified": ("uncertified\nphases", count),
    "n_unfinished": ("not\nfinished", count),
}
SOURCE = "source"  # the digest of the code that made the runs of a cell
CSV_COLUMNS = (
    *("arena", "seeds", "learner", *CELL_KEYS, "n_runs", "n_finished", "n_at_target"),
    *("median_error", "error_10", "error_90", "error_floor"),
    *("n_labels", "n_draws", "seconds", "n_uncertified", SOURCE),
)
_WHOLE = {"n_runs", "n_finished", "n_at_target", "n_uncertified"}

# How a value of a world is said, and what its absence means.
_WORDS = {
    "table": ("table {}", ""),
    "n_features": ("{:,} features", ""),
    "sparsity": ("{:,} relevant", ""),
    "noise_rate": ("noise rate {:g}", ""),
    "told_noise_rate": ("learners assume noise rate {:g}", "learners know the noise rate"),
    "distribution": ("{} rows", ""),
    "label_budget": ("at most {:,} labels", "no label budget"),
    "target_error": ("target error {:g}", "no target error"),
}


# -- frames ------------------------------------------------------------------------------------


def frame_of(records: Iterable[FlatRecord]) -> pd.DataFrame:
    """One line per run; of several records of a run the last counts.

    `cell`, `family` and `world` number the groups to which a run belongs, `name` is the learner's
    name with its options where another learner has the same name, and the error of a run that did
    not finish is that of guessing.
    """
    frame = pd.DataFrame(list(latest_records(records).values()), dtype=object)
    for name in (*_TEXTS, *CELL_KEYS, *_NUMBERS):
        if name not in frame:
            frame[name] = None
    frame[SOURCE] = frame.get(f"version.{SOURCE}")  # None before there was one
    frame = frame.astype(object).where(frame.notna(), None)
    for name, default in LATER.items():
        frame[name] = frame[name].where(frame[name].notna(), default)
    keys = cell_keys(frame)
    frame["cell"] = _number(frame, keys)
    frame["family"] = _number(frame, [key for key in keys if key != "strength"])
    frame["world"] = _number(frame, WORLD_KEYS)
    frame["name"] = _names(frame)
    frame[_NUMBERS] = frame[_NUMBERS].astype(float)
    frame["is_finished"] = frame["status"].eq("finished") & frame["status"].notna()
    frame["error"] = frame["error"].where(frame["is_finished"]).fillna(WORST_ERROR)
    return frame


def cell_keys(frame: pd.DataFrame) -> list[str]:
    """The columns that make a cell: learner, spec and schedule."""
    return ["learner", *CELL_KEYS, *sorted(c for c in frame if str(c).startswith(_SCHEDULE))]


def summarize(runs: pd.DataFrame) -> pd.DataFrame:
    """One line per cell, in the order of the first runs; the index is the cell's number.

    Examples
    --------
    >>> run = Run("thresher", SimulationSpec(n_features=9, sparsity=1), seed=0)
    >>> cells = summarize(frame_of([run.unfinished("died", "", None)]))
    >>> cells[["learner", "n_runs", "n_unfinished", "median_error"]].values.tolist()
    [['thresher', 1, 1, 0.5]]
    """
    target = runs["target_error"].astype(float)
    at_target = (runs["error"] <= target).astype(float).where(target.notna())
    groups = runs.assign(at_target=at_target).groupby("cell")
    medians = groups[["error", "error_floor", "n_labels", "n_draws", "seconds"]].median()
    numbers = pd.DataFrame(
        {
            "n_runs": groups.size(),
            "n_finished": groups["is_finished"].sum(),
            "n_unfinished": groups.size() - groups["is_finished"].sum(),
            "n_at_target": groups["at_target"].sum(min_count=1),
            "median_error": medians["error"],
            "error_10": groups["error"].quantile(0.1),
            "error_90": groups["error"].quantile(0.9),
            "ratio": medians["error"] / medians["error_floor"].where(medians["error_floor"] > 0),
            "n_uncertified": groups["n_uncertified"].sum(min_count=1),
            **{name: medians[name] for name in medians if name != "error"},
        }
    )
    first = runs.drop_duplicates("cell").set_index("cell")
    numbers[SOURCE] = groups[SOURCE].agg(
        lambda found: " ".join(sorted(set(map(str, found.dropna()))))
    )
    return first[[*cell_keys(runs), "family", "world", "name"]].join(numbers)


def hardest(cells: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The cell with the largest median error in each group; of equals the first.

    Examples
    --------
    >>> cells = pd.DataFrame({"name": ["a", "a"], "median_error": [0.1, 0.2]})
    >>> hardest(cells, ["name"])["median_error"].tolist()
    [0.2]
    """
    return cells.loc[cells.groupby(list(by), sort=False)["median_error"].idxmax()]


def worst_cases(cells: pd.DataFrame) -> pd.DataFrame:
    """Each learner's worst case in each world, if it met every adversary there.

    Without that, a learner with runs left would look better than it is.
    """
    met = cells.groupby(["world", "name"])["adversary"].transform("nunique")
    in_world = cells.groupby("world")["adversary"].transform("nunique")
    return hardest(cells[met == in_world], ["world", "name"])


def worst_strengths(
    entries: Sequence[tuple[str, Spec]], pilot: Iterable[Run], known: Mapping[str, FlatRecord]
) -> list[tuple[str, Spec]]:
    """Of the entries that differ only in strength, the one with the largest median error.

    Of equals, and without records of the pilot runs, the first is taken.

    Examples
    --------
    >>> attack = {"noise_rate": 0.1, "adversary": "in-band-mass"}
    >>> specs = [SimulationSpec(n_features=9, sparsity=1, strength=c, **attack) for c in (1.0, 2.0)]
    >>> pilot = [Run("thresher", spec, seed=0) for spec in specs]
    >>> known = {pilot[1].id: pilot[1].unfinished("died", "", None)}
    >>> entries = [("thresher", spec) for spec in specs]
    >>> [spec.strength for _, spec in worst_strengths(entries, pilot, known)]
    [2.0]
    """
    ids = [run.id for run in pilot]
    errors = frame_of(known[run] for run in ids if run in known).set_index("run")["error"]
    # The pilot has every entry with each seed in turn.
    found = pd.DataFrame({"error": errors.reindex(ids).to_numpy(dtype=float)})
    place = found.index % len(entries)
    family = [Run(name, spec, 0).family for name, spec in entries]
    medians = found.groupby(place)["error"].median().fillna(0.0)
    cells = pd.DataFrame({"median_error": medians, "family": family})
    return [entries[number] for number in hardest(cells, ["family"]).index]


def _number(frame: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    return frame.groupby(list(keys), sort=False, dropna=False).ngroup()


def _names(frame: pd.DataFrame) -> pd.Series:
    """The learners' names, with their options where one name stands for several learners."""
    learner = frame["learner"].astype(str)
    schedule = [key for key in cell_keys(frame) if key.startswith(_SCHEDULE)]
    given = frame[[*LATER, *schedule]].to_dict("records")
    texts = pd.Series([_options(row) for row in given], index=frame.index, dtype=object)
    several = texts.groupby(learner).transform("nunique") > 1
    return learner.where(~several, learner + " (" + texts.replace("", "defaults") + ")")


def _options(values: Mapping[str, Any]) -> str:
    """What a learner has other than by default: method, share of labels, schedule."""
    given = {name: value for name, value in values.items() if LATER.get(name) != value}
    return ", ".join(f"{name.removeprefix(_SCHEDULE)} {value}" for name, value in given.items())


# -- a sweep's summary -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Summary:
    """What the records say about one sweep, also while it runs.

    Parameters
    ----------
    name : of the sweep
    sweep : None if only records are left
    runs : one line per recorded run, see `frame_of`
    n_left_out : runs recorded under its name that its spec does not contain (any more)

    Examples
    --------
    >>> summary = Summary.of("old", None, [{"run": "a", "arena": "old", "status": "died"},
    ...                                    {"run": "b", "arena": "new", "status": "died"}])
    >>> len(summary.runs), len(summary.cells)
    (1, 1)
    """

    name: str
    sweep: Sweep | None
    runs: pd.DataFrame
    n_left_out: int = 0

    @classmethod
    def of(cls, name: str, sweep: Sweep | None, records: Iterable[FlatRecord]) -> Self:
        """The summary of a sweep among records of any sweep.

        A sweep owns the runs that it contains, whichever sweep ran them. Without the sweep, the
        name in the records decides.
        """
        latest = latest_records(records)
        named = {run for run, record in latest.items() if arena_of(record) == name}
        if sweep is None:
            return cls(name, None, frame_of(latest[run] for run in latest if run in named))
        # In the order of the sweep, so that tables have that of the spec.
        own = [run.id for run in sweep.runs(sweep.pilot_seeds + sweep.seeds) if run.id in latest]
        return cls(name, sweep, frame_of(map(latest.__getitem__, own)), len(named - set(own)))

    @property
    def is_pilot(self) -> pd.Series:
        """Which runs only choose strengths."""
        seeds = self.sweep.pilot_seeds if self.sweep is not None else ()
        return self.runs["seed"].isin(seeds)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Every cell, from all recorded seeds."""
        return summarize(self.runs)

    @cached_property
    def counted(self) -> pd.DataFrame:
        """Every cell, from the seeds that count."""
        return summarize(self.runs[~self.is_pilot])

    @cached_property
    def worst(self) -> pd.DataFrame:
        """World by world, each learner under each adversary at its worst strength.

        The pilot seeds choose the strength, if there are any, and do not count.
        """
        if self.sweep is None or not self.sweep.pilot_seeds:
            found = hardest(self.counted, ["family"])
        else:
            chosen = hardest(summarize(self.runs[self.is_pilot]), ["family"])
            found = self.counted[self.counted.index.isin(chosen.index)]
        return found.sort_values("world", kind="stable")

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """What tells one world from another."""
        return tuple(key for key in WORLD_KEYS if self.cells[key].nunique(dropna=False) > 1)

    def name_world(self, cell: Mapping[str, Any]) -> str:
        """What tells the cell's world from the others; all of it if there are no others."""
        return describe(cell, self.varying or WORLD_KEYS)


def arena_of(record: FlatRecord) -> str:
    """The name of the sweep for which the run was first made."""
    return str(record.get("arena", "unnamed"))


# -- words -------------------------------------------------------------------------------------


def describe(cell: Mapping[str, Any], names: Iterable[str]) -> str:
    """These values of a cell's world in words; what its kind of world lacks is left out."""
    if cell["table"] is None:
        known: Iterable[str] = (name for name in names if name != "table")
    else:
        known = (name for name in names if name in TableSpec.__dataclass_fields__)
    return ", ".join(_say(name, cell[name]) for name in known)


def write(column: str, value: float | None) -> str:
    """A number of the summary as text."""
    return COLUMNS[column][1](None if pd.isna(value) else value)


def write_strength(cell: Mapping[str, Any]) -> str:
    """The adversary's strength as text."""
    return MISSING if cell["strength"] is None else f"{cell['strength']:g}"


def _say(name: str, value: Any) -> str:
    phrase, absence = _WORDS.get(name, (f"{name} {{}}", f"no {name}"))
    return absence if value is None else phrase.format(value)


# -- file --------------------------------------------------------------------------------------


def save_csv(summaries: Sequence[Summary], out: str | Path) -> None:
    """Write one line per cell; those of pilot seeds are marked as such."""
    parts = [pd.DataFrame(columns=CSV_COLUMNS)]
    for summary in summaries:
        for role, wanted in (("pilot", summary.is_pilot), ("counted", ~summary.is_pilot)):
            cells = summarize(summary.runs[wanted]).assign(arena=summary.name, seeds=role)
            parts.append(cells[[*CSV_COLUMNS]].astype(object))
    table = pd.concat([part for part in parts if len(part)] or parts)
    for name in CSV_COLUMNS[CSV_COLUMNS.index("n_runs") : -1]:
        form = ".0f" if name in _WHOLE else ".5g"  # five digits are more than the seeds decide
        table[name] = [None if pd.isna(value) else f"{value:{form}}" for value in table[name]]
    write_text(out, table.map(inert).to_csv(index=False, lineterminator="\n"))
