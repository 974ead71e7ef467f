"""Every kind of figure: which numbers of the summary become which curves.

Each function of `FIGURES` gives the figures for which a summary has what they need.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from thresher.experiments.arena import summary as frames
from thresher.experiments.arena.figures import sketch
from thresher.experiments.arena.figures.sketch import Axis, Curve, Figure, Panel, Points
from thresher.experiments.arena.summary import Summary
from thresher.experiments.spec import NO_ADVERSARY, THRESHER, SimulationSpec
from thresher.wording import count

PROBLEM = ["n_features", "sparsity", "target_error"]  # what decides how many labels are needed
LABEL_FLOOR = "label floor (approximate)"
ENOUGH_SEEDS = 0.8
FEWEST_CELLS = 4  # of fewer, a share says little
LARGEST_FACTOR = 100.0  # beyond it, nothing is close to the best
SPIKE = "sparse-spike"  # the names of its variants begin with it
SWITCH = "schedule.sparse_removal"


def figures_of(summary: Summary) -> list[Figure]:
    """Every figure for which the records have what it needs."""
    return [figure for make in FIGURES for figure in make(summary)]


# -- error against noise rate ------------------------------------------------------------------


def worst_case_by_noise(summary: Summary) -> Iterator[Figure]:
    """The largest median error over all attacks, and Kearns and Li's floor."""
    for name, cells in _noise_ladders(summary):
        worst = frames.worst_cases(cells)
        floor = () if cells["table"].iloc[0] is not None else _noise_floor(worst)
        promise = "no method can guarantee less than Kearns and Li's floor, η/(2(1 − η))"
        caption = sketch.sentences(
            "The largest median error over all attacks, at each noise rate",
            promise if floor else "",
            name,
            sketch.how_measured(summary, cells),
        )
        panels = (Panel("", sketch.curves_of(worst, "noise_rate"), floor),)
        axes = sketch.NOISE, sketch.ERROR, sketch.LARGE, "Kearns and Li's floor"
        title = "Worst case over the suite of attacks"
        yield Figure("worst case by noise", title, caption, panels, *axes)


def error_by_noise(summary: Summary) -> Iterator[Figure]:
    """One small panel for each attack that was made at more than one noise rate."""
    for name, cells in _noise_ladders(summary):
        attacks = [attack for attack in cells["adversary"].unique() if attack != NO_ADVERSARY]
        # Without noise there is no attack: that cell begins every curve.
        parts = [(a, cells[cells["adversary"].isin([a, NO_ADVERSARY])]) for a in attacks]
        panels = tuple(
            Panel(attack, sketch.curves_of(part, "noise_rate"))
            for attack, part in parts
            if part["world"].nunique() > 1
        )
        caption = sketch.sentences(
            "One panel for each attack", name, sketch.how_measured(summary, cells)
        )
        title = "Error against noise rate, attack by attack"
        if panels:
            yield Figure("error by noise", title, caption, panels, sketch.NOISE, sketch.ERROR)


def _noise_ladders(summary: Summary) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cells of worlds that differ in the noise rate alone, with what tells them from others.

    Where budgets differ as well, the largest of those with the most noise rates is shown: error
    against labels is another figure.
    """
    for _, cells in sketch.settings_of(summary, {"noise_rate", "label_budget"}):
        budgets = cells["label_budget"].astype(float).fillna(np.inf)
        n_rates = cells["world"].groupby(budgets).nunique()
        fullest = n_rates[n_rates == n_rates.max()].index.max()
        ladder = cells[budgets == fullest].sort_values("noise_rate", kind="stable")
        if n_rates.max() > 1:
            names = [name for name in summary.varying if name != "noise_rate"]
            yield frames.describe(ladder.iloc[0], names), ladder


def _noise_floor(worst: pd.DataFrame) -> Points:
    rates = np.linspace(0.0, float(worst["noise_rate"].max()), 101)[1:]
    floor = zip(rates.tolist(), (rates / (2 * (1 - rates))).tolist())
    # Towards no noise it falls to zero; what is far below everything measured is not shown.
    least = 0.7 * worst["median_error"].min()
    return tuple((rate, error) for rate, error in floor if error >= least)


# -- error against labels ----------------------------------------------------------------------


def error_by_labels(summary: Summary) -> Iterator[Figure]:
    """The worst case over the attacks against labels, one panel for each noise rate.

    Worlds with a target error are left out: they say how many labels are needed, which is another
    figure.
    """
    for name, cells in sketch.settings_of(summary, {"noise_rate", "label_budget"}):
        panels = tuple(_label_panels(cells))
        if panels and cells["target_error"].iloc[0] is None:
            caption = sketch.sentences(
                "The largest median error over all attacks, against the labels paid with each "
                "budget, one panel for each noise rate",
                "The floor is s(log2(1/ε) + log2(d/s)) for an error of ε: about what any active "
                "learner needs, even without noise",
                name,
                sketch.how_measured(summary, cells),
            )
            size = sketch.LARGE if len(panels) == 1 else sketch.MIDDLE
            axes = sketch.LABELS, sketch.ERROR, size, LABEL_FLOOR
            yield Figure("error by labels", "Error against labels", caption, panels, *axes)


def _label_panels(cells: pd.DataFrame) -> Iterator[Panel]:
    budgeted = cells[cells["label_budget"].notna()].sort_values("label_budget", kind="stable")
    for rate, here in budgeted.groupby("noise_rate"):
        if here["world"].nunique() > 1:
            worst = frames.worst_cases(here)
            # Where no run recorded its labels, all that it might have paid.
            most = (worst["label_budget"] * worst["budget_factor"]).astype(float)
            curves = sketch.curves_of(worst.assign(paid=worst["n_labels"].fillna(most)), "paid")
            yield Panel(f"noise rate {100 * rate:.3g}%", curves, _label_floor(worst))


def _label_floor(worst: pd.DataFrame) -> Points:
    """The floor at every error from guessing to a bit less than the least one measured."""
    n_features, sparsity = worst[["n_features", "sparsity"]].iloc[0]
    least = max(0.8 * worst["median_error"].min(), sketch.SMALLEST_ERROR)
    errors = np.geomspace(least, frames.WORST_ERROR, 60)[::-1].tolist()
    return tuple((label_floor(n_features, sparsity, error), error) for error in errors)


def label_floor(n_features: int, sparsity: int, error: float) -> float:
    """About the fewest labels with which any active learner reaches the error.

    Examples
    --------
    >>> round(label_floor(n_features=500, sparsity=10, error=0.1))
    90
    """
    return SimulationSpec(n_features=n_features, sparsity=sparsity).label_floor(error)


# -- labels needed -----------------------------------------------------------------------------


# In which ways a problem may grow: the field, its size, and how the axis names and writes it.
_DIRECTIONS: tuple[tuple[str, Callable[[float], float], str, Callable[[float], str]], ...] = (
    ("sparsity", float, "sparsity s", "{:,.0f}".format),
    ("n_features", float, "features d", "{:,.0f}".format),
    ("target_error", lambda error: 1 / error, "1/error", "{:.3g}".format),
)
_SYMBOLS = {"n_features": "d = {:,}", "sparsity": "s = {:,}", "target_error": "ε = {:g}"}


def labels_by_size(summary: Summary) -> Iterator[Figure]:
    """The labels needed, one panel for each direction in which there are at least two problems."""
    for name, cells in sketch.settings_of(summary, {*PROBLEM, "noise_rate", "label_budget"}):
        ladders = cells[cells["target_error"].notna() & cells["label_budget"].notna()]
        needed = labels_needed(ladders)
        panels = tuple(panel for each in _DIRECTIONS for panel in _size_panels(needed, *each))
        if panels:
            caption = sketch.sentences(
                "The labels paid with the least budget with which 4 of 5 seeds reach the target "
                "error, under every attack, and with every larger budget",
                "the number at the end of a curve is the exponent of the power law that fits best",
                "the floor is s(log2(1/ε) + log2(d/s)) labels for an error of ε",
                name,
                sketch.how_measured(summary, ladders),
            )
            title, x = "Labels needed as the problem grows", Axis("size", "log", "{:g}".format)
            y = Axis("labels needed", "log", sketch.LABELS.write)
            yield Figure("labels needed", title, caption, panels, x, y, sketch.SMALL, LABEL_FLOOR)


def labels_needed(cells: pd.DataFrame) -> pd.DataFrame:
    """For each learner and problem the labels paid with the least budget that suffices.

    A budget suffices if 4 of 5 seeds reach the target error with it and with every larger one,
    under every attack. A problem for which none does is left out.

    Examples
    --------
    >>> cells = pd.DataFrame({"name": "thresher", "n_features": 9, "sparsity": 1,
    ...                       "target_error": 0.05, "label_budget": [50, 100, 200], "n_runs": 10,
    ...                       "n_at_target": [9, 7, 8], "n_labels": [49.0, 98.0, 190.0]})
    >>> labels_needed(cells)["labels"].tolist()
    [190.0]
    """
    paid = cells["n_labels"].where(cells["n_labels"] > 0, cells["label_budget"])
    enough = cells["n_at_target"] / cells["n_runs"] >= ENOUGH_SEEDS
    ladder = cells.assign(labels=paid.astype(float), is_enough=enough)
    rungs = ladder.groupby(["name", *PROBLEM, "label_budget"], sort=False, as_index=False)
    rungs = rungs.agg(labels=("labels", "max"), is_enough=("is_enough", "all"))
    rungs = rungs.sort_values("label_budget", ascending=False, kind="stable")
    suffices = rungs.groupby(["name", *PROBLEM])["is_enough"].cummin().astype(bool)
    least = rungs[suffices].drop_duplicates(["name", *PROBLEM], keep="last")
    return least.sort_index()[["name", *PROBLEM, "labels"]]


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of the power law that fits best.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [3, 12, 48]), 3)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _size_panels(
    needed: pd.DataFrame,
    field: str,
    measure: Callable[[float], float],
    label: str,
    write: Callable[[float], str],
) -> Iterator[Panel]:
    """A panel of the largest family of problems that grow in this direction alone, if any do."""
    rest = [name for name in PROBLEM if name != field]
    problems = needed.drop_duplicates(PROBLEM)
    if problems.empty:
        return
    largest = problems.groupby(rest, sort=False)["labels"].transform("size").idxmax()
    family = needed[(needed[rest] == needed.loc[largest, rest]).all(axis=1)]
    family = family.assign(size=family[field].map(measure))
    family = family.sort_values("size", kind="stable")
    sizes = family.drop_duplicates("size")
    if len(sizes) < 2:
        return
    title = ", ".join(_SYMBOLS[name].format(sizes[name].iloc[0]) for name in rest)
    floors = [label_floor(*values) for values in sizes[PROBLEM].itertuples(index=False)]
    yield Panel(
        title,
        tuple(_with_exponent(curve) for curve in sketch.curves_of(family, "size", "labels")),
        floor=tuple(zip(sizes["size"], floors)),
        x=Axis(label, "log", write, tuple(sizes["size"])),
    )


def _with_exponent(curve: Curve) -> Curve:
    if len(curve.points) < 2:
        return curve
    return replace(curve, note=f"{exponent(*zip(*curve.points)):.2f}")


# -- sparse against dense removal --------------------------------------------------------------


def sparse_against_dense(summary: Summary) -> Iterator[Figure]:
    """Learners that differ only in the kind of outlier removal, at each strength of a spike.

    Every strength is shown that was tried on seeds that count.
    """
    cells = summary.counted
    is_spike = cells["adversary"].astype(str).str.startswith(SPIKE) & cells["strength"].notna()
    spikes = _in_pairs(cells[is_spike & (cells["method"] == THRESHER)])
    for _, here in spikes.groupby("world", sort=False):
        caption = sketch.sentences(
            "Learners that differ only in how they look for outliers: along few features, or along "
            "all of them",
            "at κ = 1, dense removal can just notice the spike",
            frames.describe(here.iloc[0], summary.varying),
            sketch.say_seeds(here),
            "Vertical lines reach from the 10% to the 90% quantile",
            sketch.say_failures(here),
        )
        here = here.sort_values("strength", kind="stable")
        x = Axis("strength κ of the spike", "log", "{:g}".format, tuple(here["strength"].unique()))
        panels = tuple(
            Panel(str(attack), sketch.curves_of(part, "strength", spread=True))
            for attack, part in here.groupby("adversary", sort=False)
        )
        title = "Sparse against dense outlier removal, under a spike"
        yield Figure("spike", title, caption, panels, x, sketch.ERROR, sketch.MIDDLE)


def _in_pairs(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells for which the other kind of removal was tried as well."""
    if SWITCH not in cells:
        return cells.iloc[:0]
    is_sparse = cells[SWITCH].where(cells[SWITCH].notna(), True).astype(bool)
    rest = [key for key in frames.cell_keys(cells) if key not in ("learner", SWITCH)]
    n_kinds = is_sparse.groupby([cells[key] for key in rest], dropna=False).transform("nunique")
    return cells[n_kinds == 2]


# -- profile -----------------------------------------------------------------------------------


def profile(summary: Summary) -> Iterator[Figure]:
    """For each learner the share of cells in which its error is within a factor of the best.

    Performance profiles (Dolan and Moré 2002). Only attacks that every learner met are compared;
    there is no figure if these are very few, or there is only one learner.
    """
    cells = summary.worst
    n_learners = cells["name"].nunique()
    n_here = cells.groupby(["world", "adversary"])["name"].transform("nunique")
    shared = cells[n_here == n_learners]
    n_shared = len(shared[["world", "adversary"]].drop_duplicates())
    n_lacking = len(cells[["world", "adversary"]].drop_duplicates()) - n_shared
    if n_learners < 2 or n_shared < FEWEST_CELLS:
        return
    ratios = shared.assign(ratio=ratios_to_best(shared))
    end = 1.05 * min(LARGEST_FACTOR, float(ratios["ratio"].max()))
    curves = [_steps(name, own["ratio"], end) for name, own in ratios.groupby("name", sort=False)]
    caption = sketch.sentences(
        f"A cell is one attack in one world; there are {count(n_shared)}",
        "a learner's curve shows the share of cells in which its error is at most t times that of "
        "the best learner; at t = 1, how often it is the best. Higher is better",
        f"cells left out because they lack a learner: {count(n_lacking)}" if n_lacking else "",
        sketch.how_measured(summary, shared),
    )
    title = "How often each learner is close to the best"
    x = Axis("factor t", "log", "{:.3g}".format)
    y = Axis("share of cells within t of the best", "linear", "{:.0%}".format)
    panels = (Panel("", tuple(curves)),)
    yield Figure("profile", title, caption, panels, x, y, sketch.LARGE, "", "steps-post")


def ratios_to_best(cells: pd.DataFrame) -> pd.Series:
    """Each cell's error over the smallest one under the same attack in the same world.

    Examples
    --------
    >>> cells = pd.DataFrame({"world": 0, "adversary": "a", "median_error": [0.125, 0.25]})
    >>> ratios_to_best(cells).tolist()
    [1.0, 2.0]
    """
    errors = cells["median_error"].clip(lower=sketch.SMALLEST_ERROR)
    return errors / errors.groupby([cells["world"], cells["adversary"]]).transform("min")


def _steps(learner: str, ratios: pd.Series, end: float) -> Curve:
    """Steps up at each ratio, from a factor of one to the end of the axis."""
    places = sorted({1.0, *ratios[ratios <= end], end})
    # A ratio of one may be computed a rounding error above it.
    return Curve(learner, tuple((t, float((ratios <= t * (1 + 1e-12)).mean())) for t in places))


FIGURES: tuple[Callable[[Summary], Iterator[Figure]], ...] = (
    worst_case_by_noise,
    profile,
    error_by_noise,
    error_by_labels,
    labels_by_size,
    sparse_against_dense,
)
