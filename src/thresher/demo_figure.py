"""The picture of `thresher demo`: who kept its weight, and what that did to the variance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thresher.demo import GROUPS, N_ROWS, SETTING, Planted, variances
from thresher.outliers import OutlierRemoval

# Okabe and Ito's colours, for colour-blind readers; hatching and lightness serve in grey.
CLEAN, DIRTY = "#56B4E9", "#D55E00"
BEFORE, AFTER = "0.85", "#009E73"


def draw(planted: Planted, removal: OutlierRemoval, out: Path) -> None:
    """Write the picture: weights on the left, variance in the planted directions on the right."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_weights(left, planted, removal)
    _draw_variances(right, planted, removal)
    figure.suptitle(
        f"{N_ROWS:,} rows, {int((~planted.is_clean).sum())} of them planted: "
        "Thresher takes their weight away without being told which",
        fontsize=14,
    )
    figure.savefig(out, dpi=150)


def _draw_weights(axes: Any, planted: Planted, removal: OutlierRemoval) -> None:
    clean, dirty = removal.weights[planted.is_clean], removal.weights[~planted.is_clean]
    _, _, (_, dirty_bars) = axes.hist(
        [clean, dirty],
        bins=np.linspace(0, 1, 11),
        color=[CLEAN, DIRTY],
        edgecolor="black",
        linewidth=0.6,
        label=[f"{clean.size:,} clean rows", f"{dirty.size:,} planted rows"],
    )
    for bar in dirty_bars:
        bar.set_hatch("///")
    axes.set_yscale("log")
    axes.set_ylim(0.7, 30_000)
    axes.set_xlabel("weight of the row  (0 = removed, 1 = kept)")
    axes.set_ylabel("number of rows (logarithmic)")
    axes.set_title(
        f"Planted rows kept {dirty.mean():.0%} of their weight, clean rows {clean.mean():.0%}"
    )
    axes.text(
        0.5,
        300,
        f"{SETTING['outlier_fraction']:.0%} of all weight may be taken\naway, and all of it is: a "
        "few\nclean rows lose theirs too",
        ha="center",
    )
    axes.legend(loc="upper center", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_variances(axes: Any, planted: Planted, removal: OutlierRemoval) -> None:
    places = np.arange(len(GROUPS))
    before = variances(planted, np.ones(N_ROWS))
    after = variances(planted, removal.weights)
    style = {"width": 0.38, "edgecolor": "black", "linewidth": 0.6}
    for offset, heights, color, label in (
        (-0.2, before, BEFORE, "before: all rows count alike"),
        (0.2, after, AFTER, "after: rows count by their weight"),
    ):
        bars = axes.bar(places + offset, heights, color=color, label=label, **style)
        axes.bar_label(bars, fmt="%.2f", padding=2, bbox={"fc": "white", "ec": "none", "pad": 0})
    bound = removal.variance_upper
    axes.axhline(bound, color="black", linestyle="--")
    axes.axhline(1.0, color="0.4", linestyle=":")
    edge = len(GROUPS) - 0.45
    axes.text(
        edge, bound + 0.03, f"proven after:\nno sparse direction\nexceeds {bound:.2f}", va="bottom"
    )
    axes.text(edge, 0.97, "clean rows\nshow about 1", va="top", color="0.3")
    axes.set_xlim(-0.55, edge + 1.15)
    axes.set_ylim(0, 1.3 * before.max())
    axes.set_xticks(places, [f"{group.n_rows} rows:\n{group.name}" for group in GROUPS])
    axes.set_ylabel("variance along the planted direction")
    axes.set_title("The planted directions no longer stand out")
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
