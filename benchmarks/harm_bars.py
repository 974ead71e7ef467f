"""What the records of the harm study say: its cells, and the bars that they keep or miss.

    python -m benchmarks.harm_bars records.jsonl [--studies docs/studies]

With --studies, the cells and the bars are also written there; `python docs/studies/studies.py` then
makes the page. All errors and differences are in points (percent).

The peer is the one of the two undefended classifiers that its own cross-validation prefers on the
same rows. A difference to it is averaged over attacks and strengths within each split first; its
standard error is that of the mean over the splits. A rise is the mean error under an attack less
the mean error on the clean table.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from benchmarks.harm import UNDEFENDED
from benchmarks.harm_tables import ENRON
from benchmarks.wide_tables import MOST_TIMES, WIDE
from thresher.experiments.arena.run import latest_records, read_records
from thresher.experiments.spec import NO_ADVERSARY, THRESHER

PEER = "peer"
SPLIT = ["table", "seed", "attack", "strength"]  # what two methods have in common that are paired
MEANS = ("error", "balanced_error", "cpu_seconds", "trust_planted", "trust_clean")
CELL = ["table", "attack", "strength", "method"]

SMALL = 1.0  # points
LEAST_ROWS = 1000  # of a table on which protection is asked for
LEAST_RISE = 0.7  # points
PROTECTED = ("spambase", "cina", "mnist_1v7", "reuters_earn_v_acq", "rcv1_small")
LARGEST_RISE = 3.0
REVIEWS, SEVER = "movie_reviews", "sever"
FOREST, TRUSTED_FOREST = "forest", "trusted-forest"
FOREST_TABLES = ("spambase", "cina", "mnist_1v7")
FLIPS = {0.0: 1.0, 1.0: 3.0}  # points above the clean forest, by strength of the label flips
WORSE_THAN_FOREST = 0.5
ENRON_LIMITS = {1.0: 6.6, 3.0: 8.0}


@dataclass(frozen=True)
class Bar:
    """One number that is asked for: `value` at most `limit`, or within two standard errors of 0."""

    bar: str
    table: str
    what: str
    value: float
    limit: float
    standard_error: float = 0.0

    @property
    def is_measured(self) -> bool:
        """Whether all that it needs was measured."""
        return not (math.isnan(self.value) or math.isnan(self.limit))

    @property
    def holds(self) -> bool:
        """Whether it is kept."""
        return self.value <= self.limit or self.value <= 2 * self.standard_error

    @property
    def verdict(self) -> str:
        """In one word."""
        return ("yes" if self.holds else "NO") if self.is_measured else "not measured"


# -- from records to cells -----------------------------------------------------------------------


def load(path: str | Path) -> pd.DataFrame:
    """The last record of each fit, errors in points."""
    frame = pd.DataFrame(latest_records(read_records(path)).values())
    for name in (*MEANS, "cv_error", "n_train"):
        frame[name] = frame[name].astype(float) if name in frame else math.nan
    frame[["error", "balanced_error"]] *= 100
    frame["strength"] = frame["strength"].astype(float).fillna(-1.0)  # a key, which NaN is not
    frame["source"] = frame["source"].fillna("") if "source" in frame else ""
    return frame


def source_of(sources: Iterable[str]) -> str:
    """The code that all of these were measured with; nothing if it differs, or is not known."""
    found = set(sources)
    return str(found.pop()) if len(found) == 1 else ""


def with_peer(frame: pd.DataFrame) -> pd.DataFrame:
    """The finished fits, and for each split those of the peer under its own name."""
    done = frame[frame["status"] == "finished"]
    both = done[done["method"].isin(UNDEFENDED)].dropna(subset="cv_error")
    both = both.groupby(SPLIT).filter(lambda group: len(group) == len(UNDEFENDED))
    both = both.assign(cv_error=both["cv_error"].round(9))  # equal but for rounding: the first one
    order = both.sort_values(["cv_error", "method"], kind="stable")
    peers = order.groupby(SPLIT, as_index=False).first().assign(method=PEER)
    return pd.concat([done, peers], ignore_index=True)


def paired(done: pd.DataFrame, ours: str, theirs: str) -> pd.DataFrame:
    """The difference of the errors of two methods on every split that both have met."""
    sides = [done[done["method"] == name].set_index(SPLIT)["error"] for name in (ours, theirs)]
    difference = (sides[0] - sides[1]).dropna().rename("difference")
    return difference.reset_index()


def mean_and_error(values: pd.Series) -> tuple[float, float]:
    """The mean, NaN of no values, and its standard error (0 of fewer than two)."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), spread / math.sqrt(max(len(values), 1))


def mean_of_splits(differences: pd.DataFrame) -> tuple[float, float]:
    """The mean difference over splits, and its standard error."""
    return mean_and_error(differences.groupby("seed")["difference"].mean())


def cells_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One line for each table, attack, strength and method: means over the splits."""
    done = with_peer(frame)
    means = dict.fromkeys(("error", "balanced_error", "cpu_seconds"), "mean")
    means |= {"trust_planted": "mean", "trust_clean": "mean"}
    groups = done.groupby(CELL, sort=False)
    whole = {"n_splits": ("seed", "size"), "source": ("source", source_of)}
    cells = groups.agg(**whole, **{name: (name, mean) for name, mean in means.items()})
    unfinished = frame[frame["status"] != "finished"].groupby(CELL).size()
    cells = cells.join(unfinished.rename("n_unfinished"), how="outer").fillna({"n_unfinished": 0})
    pairs = paired(done, THRESHER, PEER).assign(method=THRESHER)
    rows = {key: mean_of_splits(group) for key, group in pairs.groupby(CELL)}
    cells["difference"] = pd.Series({key: mean for key, (mean, _) in rows.items()}, dtype=float)
    cells["difference_error"] = pd.Series({key: e for key, (_, e) in rows.items()}, dtype=float)
    cells = cells.reset_index()
    for name in ("table", "attack", "method"):  # in the order of the records
        order = list(dict.fromkeys([*frame[name], PEER]))
        cells[name] = pd.Categorical(cells[name], order, ordered=True)
    cells = cells.sort_values(CELL, ignore_index=True)
    cells["strength"] = cells["strength"].where(cells["strength"] >= 0)
    return cells


# -- the bars ------------------------------------------------------------------------------------


def bars_of(frame: pd.DataFrame) -> list[Bar]:
    """Every bar that the records speak of, table by table."""
    done = with_peer(frame)
    tables = list(dict.fromkeys(frame["table"]))
    bars = [bar for name in tables for bar in _harm(done[done["table"] == name], name)]
    for name in tables:
        own = done[done["table"] == name]
        bars += [*_protection(own, name), *_forests(own, name), *_cost(own, name)]
    return bars + list(_enron(done[done["table"] == ENRON]))


def _harm(own: pd.DataFrame, table: str) -> Iterator[Bar]:
    pairs = paired(own, THRESHER, PEER)
    is_clean = pairs["attack"] == NO_ADVERSARY
    yield _difference("W1", table, NO_ADVERSARY, pairs[is_clean])
    attacked = pairs[~is_clean]
    mean, _ = mean_of_splits(attacked)
    yield Bar("W2", table, "difference to the peer, mean of all attacks", mean, 0.0)
    for attack, group in attacked.groupby("attack", sort=False):
        yield _difference("W2", table, str(attack), group)


def _difference(bar: str, table: str, attack: str, pairs: pd.DataFrame) -> Bar:
    mean, error = mean_of_splits(pairs)
    name = "clean" if attack == NO_ADVERSARY else attack
    return Bar(bar, table, f"difference to the peer, {name}", mean, SMALL, error)


def largest_rise(own: pd.DataFrame, method: str) -> tuple[float, str]:
    """The largest rise of a method's mean error over that on the clean table, and its attack."""
    means = own[own["method"] == method].groupby(["attack", "strength"])["error"].mean()
    if NO_ADVERSARY not in means.index or len(means) == 1:
        return math.nan, ""
    rises = means - means[NO_ADVERSARY].iloc[0]
    attack, strength = rises.drop(NO_ADVERSARY).idxmax()
    return float(rises[attack, strength]), f"{attack} {strength:g}"


def _protection(own: pd.DataFrame, table: str) -> Iterator[Bar]:
    clean = own[own["attack"] == NO_ADVERSARY]
    if not clean["n_train"].max() >= LEAST_ROWS:
        return
    rise, attack = largest_rise(own, THRESHER)
    theirs, _ = largest_rise(own, PEER)
    limit = max(theirs / 2, LEAST_RISE) if not math.isnan(theirs) else math.nan
    yield Bar("W3", table, f"largest rise ({attack}), half the peer's", rise, limit)
    if table in PROTECTED:
        yield Bar("W3", table, f"largest rise ({attack})", rise, LARGEST_RISE)
    if table == REVIEWS:
        yield Bar(
            "W3", table, f"largest rise ({attack}), Sever's", rise, largest_rise(own, SEVER)[0]
        )


def _forests(own: pd.DataFrame, table: str) -> Iterator[Bar]:
    if table not in FOREST_TABLES:
        return
    means = own.groupby(["method", "attack", "strength"])["error"].mean()
    clean = means.get((FOREST, NO_ADVERSARY, -1.0), math.nan)
    for strength, limit in FLIPS.items():
        found = means.get((TRUSTED_FOREST, "label-flip", strength), math.nan)
        yield Bar(
            "W4",
            table,
            f"trusted forest, flips {strength:g}, above the clean forest",
            found - clean,
            limit,
        )
    pairs = paired(own, TRUSTED_FOREST, FOREST)
    pairs = pairs[pairs["attack"] != NO_ADVERSARY]
    worse = pairs.groupby(["attack", "strength"])["difference"].mean()
    worst, where = (float(worse.max()), worse.idxmax()[0]) if len(worse) else (math.nan, "")
    yield Bar("W4", table, f"trusted forest above the forest ({where})", worst, WORSE_THAN_FOREST)


def _cost(own: pd.DataFrame, table: str) -> Iterator[Bar]:
    if table in WIDE:
        means = own.groupby("method")["cpu_seconds"].mean()
        ratio = means.get(THRESHER, math.nan) / means.get(UNDEFENDED[0], math.nan)
        yield Bar("W5", table, "CPU time over L1 logistic regression's", ratio, MOST_TIMES)


def _enron(own: pd.DataFrame) -> Iterator[Bar]:
    ours = own[own["method"] == THRESHER]
    for percent, limit in ENRON_LIMITS.items() if len(own) else ():
        worst = ours.loc[ours["strength"] == percent, "error"].max()
        yield Bar("W6", ENRON, f"largest error at {percent:g}%", float(worst), limit)


# -- the command ---------------------------------------------------------------------------------


def shown(bars: Sequence[Bar]) -> str:
    """The bars as a table for a terminal, those that are missed first."""
    lines = [f"{'bar':4} {'table':20} {'what':54} {'value':>7} {'2 s.e.':>7} {'limit':>7}  kept"]
    for bar in sorted(bars, key=lambda bar: not bar.is_measured or bar.holds):
        numbers = f"{bar.value:7.2f} {2 * bar.standard_error:7.2f} {bar.limit:7.2f}"
        lines.append(f"{bar.bar:4} {bar.table:20} {bar.what:54} {numbers}  {bar.verdict}")
    return "\n".join(lines)


def write(frame: pd.DataFrame, folder: Path) -> None:
    """Write the cells and the bars as CSV files, which the page is made of."""
    cells_of(frame).round(4).to_csv(folder / "harm.csv", index=False, lineterminator="\n")
    source = source_of(frame.loc[frame["method"] == THRESHER, "source"])
    bars = bars_of(frame)
    lines = pd.DataFrame([{**asdict(bar), "kept": bar.verdict, "source": source} for bar in bars])
    lines.round(4).to_csv(folder / "harm-bars.csv", index=False, lineterminator="\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the bars; 0 if all that were measured are kept, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.harm_bars",
        description="Say which bars of the harm study are kept, from the records of its fits.",
        epilog="example: python -m benchmarks.harm_bars records.jsonl --studies docs/studies",
    )
    parser.add_argument("records", type=Path, help="file that benchmarks.harm has written")
    parser.add_argument("--studies", type=Path, metavar="DIR", help="write harm.csv there")
    options = parser.parse_args(argv)
    frame = load(options.records)
    bars = bars_of(frame)
    print(shown(bars))
    if options.studies:
        write(frame, options.studies)
    return 0 if all(bar.holds for bar in bars if bar.is_measured) else 1


if __name__ == "__main__":
    sys.exit(main())
