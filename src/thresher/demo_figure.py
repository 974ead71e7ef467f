"""The picture of `thresher demo`: who is fooled by which attack, and who lost trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thresher.auditing import Findings
from thresher.demo import ATTACKS, METHODS, N_SPLITS, SHOWN
from thresher.files import replacing
from thresher.rendering import palette
from thresher.simulate.poisoning import PoisonedSplit
from thresher.validation import FloatArray

COLORS = (palette.GREEN, palette.RED, palette.LIGHT_BLUE)
MARKERS = ("o", "s", "D")
CLEAN, PLANTED = palette.LIGHT_BLUE, palette.RED


def draw(world: PoisonedSplit, findings: Findings, errors: FloatArray, out: Path) -> None:
    """Write the picture: errors on the left, weights of the rows of one table on the right."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _draw_errors(left, errors)
    _draw_weights(right, world, findings)
    figure.suptitle("One row of ten is planted: who is fooled?", fontsize=14)
    with replacing(out) as file:
        figure.savefig(file, dpi=150, format="png")


def _draw_errors(axes: Any, errors: FloatArray) -> None:
    places = np.arange(len(ATTACKS))[::-1]
    for name, row, color, marker in zip(METHODS, errors, COLORS, MARKERS):
        axes.plot(
            100 * row,
            places,
            marker,
            color=color,
            markeredgecolor="black",
            markersize=9,
            label=name,
        )
    axes.set_yticks(places, list(ATTACKS.values()))
    axes.set_xlim(left=0)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"error on clean rows, % (mean of {N_SPLITS} splits)")
    axes.set_title("Error by what was planted")
    axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.97))
    axes.spines[["top", "right"]].set_visible(False)


def _draw_weights(axes: Any, world: PoisonedSplit, findings: Findings) -> None:
    weight = findings.suspicion.weight
    clean, planted = weight[~world.is_planted], weight[world.is_planted]
    _, _, (_, bars) = axes.hist(
        [clean, planted],
        bins=np.linspace(0, 1, 11),
        color=[CLEAN, PLANTED],
        edgecolor="black",
        linewidth=0.6,
        label=[f"{clean.size} rows of the data", f"{planted.size} planted rows"],
    )
    for bar in bars:
        bar.set_hatch("///")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("weight  (0 = looks planted, 1 = above suspicion)")
    axes.set_ylabel("number of rows (logarithmic)")
    axes.set_title(f"What Thresher thinks of each row ({ATTACKS[SHOWN]})")
    axes.legend(frameon=False, loc="upper center")
    axes.spines[["top", "right"]].set_visible(False)
