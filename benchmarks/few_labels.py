"""Bar L4: how few labels `ActiveLearner` needs in setting Q, without noise and under every attack.

    python -m benchmarks.few_labels --out records.jsonl [--part clean --part 750] [--seeds 10]

Setting Q: 500 features of which 10 matter, a random target, Gaussian rows, the true noise rate. A
run that is in the records already is not repeated, so an interrupted measurement continues. At the
end, and with `--seeds none`, the bars are printed from what is there: medians over the seeds, and
the largest of them over the attacks. Strengths are those that hurt the learner without
a posterior most; the whole measurement takes two hours or more on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.ratio import Ratio
from benchmarks.report import table
from thresher.experiments import SimulationSpec, run_simulation
from thresher.experiments.arena.run import RecordFile
from thresher.experiments.spec import NO_ADVERSARY, parse_seeds

SETTING: dict[str, Any] = {"n_features": 500, "sparsity": 10}
ATTACKS: dict[str, tuple[float | None, ...]] = {
    "kearns-li": (None,),
    "query-following": (1.0, 1.5, 2.0, 3.0),
    "in-band-mass": (1.5, 2.0),
    "on-support-tilt-in-band": (1.5, 2.0),
    "label-flip-near": (None,),
    "point-mass-in-band": (8.0,),
    "far-clump-in-band": (8.0,),
    "in-band-mass-late": (1.5,),
    "sparse-spike-in-band": (1.0, 2.0),
    "in-band-mass-on-support": (1.5,),
    "clean-label": (1.5, 2.0),
    "planted-features": (1.0, 3.0),
    "linf-hijack-in-band": (0.25, 1.0),
    "label-flip": (None,),
    "label-flip-far": (None,),
    "on-support-tilt": (2.0, 3.0),
    "far-clump": (1.5, 3.0),
    "point-mass": (2.0, 8.0),
    "linf-hijack": (0.1, 0.5),
    "sparse-spike": (1.0,),
}


class Cell(NamedTuple):
    """One question of the bar: a budget, a noise rate, an attack."""

    label_budget: int
    noise_rate: float = 0.0
    adversary: str = NO_ADVERSARY
    strength: float | None = None


class Part(NamedTuple):
    """Cells that are judged together, and what their errors may be."""

    what: str
    label_budget: int
    noise_rate: float
    bound: float


PARTS = {
    "clean": Part("no noise, 430 labels: ninth of ten errors", 430, 0.0, 0.01),
    "clean-370": Part("no noise, 370 labels: ninth of ten errors", 370, 0.0, 0.01),
    "750": Part("noise rate 0.05, 750 labels: worst median", 750, 0.05, 0.032),
    "1500": Part("noise rate 0.05, 1,500 labels: worst median", 1500, 0.05, 0.034),
    "1500-10": Part("noise rate 0.1, 1,500 labels: worst median", 1500, 0.1, 0.060),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing, print the bars; 0 if all that were measured are kept, else 1."""
    arguments = _parser().parse_args(argv)
    with RecordFile(arguments.out) as file:
        known = {record["run"] for record in file.records}
        for name in dict.fromkeys(arguments.part or PARTS):
            for seed, cell in _runs(PARTS[name], arguments.seeds, arguments.attack):
                if _name(cell, seed) not in known:
                    file.append(_measured(cell, seed))
        bars = list(_bars(file.records))
    print(table(bars))
    return 0 if all(bar.holds for bar in bars) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.few_labels",
        description="Measure bar L4: the errors that few labels buy in setting Q.",
        epilog="example: python -m benchmarks.few_labels --part clean --out records.jsonl",
    )
    parser.add_argument("--out", type=Path, required=True, help="records, one JSON object a line")
    parser.add_argument("--part", action="append", choices=PARTS, help="(default: all)")
    parser.add_argument("--attack", action="append", choices=ATTACKS, help="(default: all)")
    seeds = 'like 5 or 1000-1003, or "none" to measure nothing (default: 10)'
    parser.add_argument("--seeds", type=_seeds, default=range(10), help=seeds)
    return parser


def _seeds(text: str) -> Sequence[int]:
    return () if text == "none" else parse_seeds(text)


def _runs(
    part: Part, seeds: Sequence[int], attacks: list[str] | None
) -> Iterator[tuple[int, Cell]]:
    for name, strengths in ATTACKS.items() if part.noise_rate else [(NO_ADVERSARY, (None,))]:
        if name == NO_ADVERSARY or attacks is None or name in attacks:
            for strength in strengths:
                cell = Cell(part.label_budget, part.noise_rate, name, strength)
                yield from ((seed, cell) for seed in seeds)


def _name(cell: Cell, seed: int) -> str:
    """The identity of a run in the file of records."""
    return "/".join(str(value) for value in (*cell, seed))


def _measured(cell: Cell, seed: int) -> dict[str, Any]:
    run = run_simulation(SimulationSpec(**SETTING, **cell._asdict()), seed)
    record = {"run": _name(cell, seed), "status": "finished", **cell._asdict(), "seed": seed}
    record |= {"error": run.error, "n_labels": run.n_labels, "n_uncertified": run.n_uncertified}
    print(cell, seed, f"{run.error:.4f}", file=sys.stderr, flush=True)
    return {**record, "seconds": run.seconds}


def _bars(records: Sequence[dict[str, Any]]) -> Iterator[Ratio]:
    by_cell: dict[Cell, list[float]] = defaultdict(list)
    for record in records:
        by_cell[Cell(*(record[name] for name in Cell._fields))].append(record["error"])
    for part in PARTS.values():
        own = {c: e for c, e in by_cell.items() if c[:2] == (part.label_budget, part.noise_rate)}
        if not own:
            continue
        if part.noise_rate == 0:
            (found,) = own.values()
            value = sorted(found)[max(len(found) - 2, 0)]
            note = f"median {median(found):.4f}, {len(found)} seeds"
        else:
            worst = max(own, key=lambda cell: median(own[cell]))
            value, n_seeds = median(own[worst]), {len(found) for found in own.values()}
            under = " ".join(str(x) for x in worst[2:] if x is not None)
            note = f"under {under}; {len(own)} cells of {min(n_seeds)} to {max(n_seeds)} seeds"
        yield Ratio("L4", part.what, value, 1.0, part.bound, note=note)


if __name__ == "__main__":
    sys.exit(main())
