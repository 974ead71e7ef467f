"""The table a reader sees and the record a later run is compared with."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks.ratio import Ratio

HEADER = ("bar", "what", "measured", "bound", "aim", "holds", "note")
RIGHT = {"measured", "bound", "aim"}
PACKAGES = ("thresher", "numpy", "scipy", "scikit-learn", "scs", "clarabel", "cvxpy")


def table(ratios: Sequence[Ratio]) -> str:
    """The ratios as aligned text, one line each under a header."""
    lines = [HEADER, *(_cells(ratio) for ratio in ratios)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if name in RIGHT else cell.ljust(width)
            for name, cell, width in zip(HEADER, line, widths)
        ).rstrip()
        for line in lines
    )


def _cells(ratio: Ratio) -> tuple[str, ...]:
    sign = "≥" if ratio.higher_is_better else "≤"
    aim = "" if ratio.aim is None else f"{sign} {ratio.aim:g}"
    measured, holds = f"{ratio.ratio:.3g}", "yes" if ratio.holds else "NO"
    return ratio.bar, ratio.what, measured, f"{sign} {ratio.bound:g}", aim, holds, ratio.note


def write_record(ratios: Sequence[Ratio], path: Path) -> None:
    """Write machine and ratios as JSON; a number that JSON cannot hold becomes null."""
    measured = [{**asdict(ratio), "ratio": ratio.ratio, "holds": ratio.holds} for ratio in ratios]
    record = {"machine": machine(), "ratios": [_finite(entry) for entry in measured]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8"
    )


def _finite(entry: dict[str, Any]) -> dict[str, Any]:
    unfit = (float("inf"), float("-inf"))
    return {
        name: None if isinstance(value, float) and (value != value or value in unfit) else value
        for name, value in entry.items()
    }


def machine() -> dict[str, Any]:
    """What the ratios depend on: processor, cores, threads and versions. No names, no paths."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "blas": sorted(
            {f"{pool['internal_api']}, {pool['num_threads']} threads" for pool in threadpool_info()}
        ),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
