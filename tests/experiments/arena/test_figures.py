"""Figures say what the records say, and are left out where the records say nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from thresher.experiments.arena import Run, Sweep
from thresher.experiments.arena.figures import figures_of, figures_section
from thresher.experiments.arena.figures.drawing import MAX_IN_COLOR, draw_panel, rank_learners
from thresher.experiments.arena.figures.kinds import (
    error_by_labels,
    error_by_noise,
    labels_by_size,
    profile,
    sparse_against_dense,
    worst_case_by_noise,
)
from thresher.experiments.arena.figures.sketch import Curve, Figure, Panel, style_of
from thresher.experiments.arena.summary import Summary
from thresher.experiments.spec import SimulationSpec
from thresher.rendering import palette
from thresher.rivals.methods import METHODS

Records = list[dict[str, Any]]
RIVAL = "own labels only"
LEARNERS = f"""
[[learners]]
name = "thresher"
[[learners]]
name = "{RIVAL}"
schedule = {{ reuse_labels = false }}
"""
NOISE = """
[[worlds]]
n_features = 30
sparsity = 2
noise_rate = [0.0, 0.05, 0.1]
label_budget = {budgets}
[[adversaries]]
adversary = ["label-flip", "kearns-li"]
"""


def make_sweep(blocks: str, learners: str = LEARNERS, seeds: str = "0-2", top: str = "") -> Sweep:
    return Sweep.from_text(f'seeds = "{seeds}"\n{top}\n{blocks}{learners}', name="handmade")


def noise_sweep(budgets: str = "60", **options: str) -> Sweep:
    return make_sweep(NOISE.format(budgets=budgets), **options)


def record(run: Run, error: float, **changes: Any) -> dict[str, Any]:
    made = run.unfinished("finished", "", 1.0)  # type: ignore[arg-type]
    labels = (run.spec.label_budget or 0) - 1
    return {**made, "error": error, "n_labels": labels, "arena": "handmade", **changes}


def run(sweep: Sweep, error: Callable[[Run], float]) -> Records:
    return [record(each, error(each)) for each in sweep.runs(sweep.pilot_seeds + sweep.seeds)]


def plain_error(run: Run) -> float:
    """Grows with the noise, more so for the rival; the median is that of seed 1."""
    factor = 1.0 if run.learner == "thresher" else 2.0
    hurt = 2.0 if run.spec.adversary == "kearns-li" else 1.0
    return factor * (0.01 + hurt * run.spec.noise_rate) * (0.9 + 0.1 * (run.seed % 100))


def summary_of(sweep: Sweep, records: Iterable[dict[str, Any]]) -> Summary:
    return Summary.of("handmade", sweep, records)


def without(records: Records, **unwanted: Any) -> Records:
    return [r for r in records if any(r[key] != value for key, value in unwanted.items())]


def points(panel: Panel) -> dict[str, list[tuple[float, float]]]:
    return {
        curve.learner: [(round(x, 6), round(y, 6)) for x, y in curve.points]
        for curve in panel.curves
    }


def only(figures: Iterable[Figure]) -> Figure:
    (figure,) = figures
    return figure


# -- noise -------------------------------------------------------------------------------------


def test_each_attack_has_a_panel_with_the_medians() -> None:
    sweep = noise_sweep()
    figure = only(error_by_noise(summary_of(sweep, run(sweep, plain_error))))
    assert [panel.title for panel in figure.panels] == ["label-flip", "kearns-li"]
    flips, pair = map(points, figure.panels)
    assert flips["thresher"] == [(0.0, 0.01), (0.05, 0.06), (0.1, 0.11)]
    assert pair[RIVAL] == [(0.0, 0.02), (0.05, 0.22), (0.1, 0.42)]
    assert "Medians over 3 seeds" in figure.caption


def test_a_cell_that_is_missing_is_a_missing_point_and_no_worst_case() -> None:
    sweep = noise_sweep()
    records = run(sweep, plain_error)
    lost = without(records, learner=RIVAL, noise_rate=0.1, adversary="kearns-li")
    summary = summary_of(sweep, lost)
    flips, pair = map(points, only(error_by_noise(summary)).panels)
    assert len(flips[RIVAL]) == 3
    assert [x for x, _ in pair[RIVAL]] == [0.0, 0.05]
    worst = points(only(worst_case_by_noise(summary)).panels[0])
    assert [x for x, _ in worst[RIVAL]] == [0.0, 0.05]  # the flips alone would look too good
    assert [x for x, _ in worst["thresher"]] == [0.0, 0.05, 0.1]


def test_the_worst_case_is_the_largest_median_and_the_floor_that_of_kearns_and_li() -> None:
    sweep = noise_sweep()
    panel = only(worst_case_by_noise(summary_of(sweep, run(sweep, plain_error)))).panels[0]
    assert points(panel)["thresher"] == [(0.0, 0.01), (0.05, 0.11), (0.1, 0.21)]
    assert panel.floor[-1] == pytest.approx((0.1, 0.1 / 1.8))
    assert all(error == pytest.approx(rate / (2 * (1 - rate))) for rate, error in panel.floor)


def test_runs_that_did_not_finish_count_as_guessing_and_are_told() -> None:
    sweep = noise_sweep()
    records = run(sweep, plain_error)
    for lost in records:
        if lost["noise_rate"] == 0.1 and lost["seed"] < 2 and lost["learner"] == "thresher":
            lost.update(status="died", error=None, n_labels=None)
    figure = only(worst_case_by_noise(summary_of(sweep, records)))
    assert points(figure.panels[0])["thresher"][-1] == (0.1, 0.5)
    assert "4 runs did not finish and count as guessing (error 0.5)." in figure.caption


def test_the_largest_budget_is_shown_where_there_are_several() -> None:
    sweep = noise_sweep("[60, 30]")
    records = run(sweep, lambda run: 3 / (run.spec.label_budget or 1))
    figure = only(worst_case_by_noise(summary_of(sweep, records)))
    assert {y for found in points(figure.panels[0]).values() for _, y in found} == {0.05}
    assert "At most 60 labels" in figure.caption


def test_strengths_are_those_that_the_pilot_chose() -> None:
    blocks = NOISE.format(budgets="60") + '[[adversaries]]\nadversary = "in-band-mass"\n'
    sweep = make_sweep(blocks + "strength = [1.0, 2.0]\n", top='pilot_seeds = "100-101"')
    records = run(sweep, lambda t: 0.3 if t.spec.strength == (1 if t.seed >= 100 else 2) else 0.1)
    figure = only(error_by_noise(summary_of(sweep, records)))
    assert points(figure.panels[-1])["thresher"] == [(0.0, 0.1), (0.05, 0.1), (0.1, 0.1)]
    assert "chosen for each learner on pilot seeds 100-101, not shown" in figure.caption


def test_one_noise_rate_is_no_figure() -> None:
    blocks = NOISE.format(budgets="60").replace("[0.0, 0.05, 0.1]", "0.05")
    sweep = make_sweep(blocks)
    summary = summary_of(sweep, run(sweep, plain_error))
    assert not list(error_by_noise(summary))
    assert not list(worst_case_by_noise(summary))


# -- labels ------------------------------------------------------------------------------------


def test_errors_stand_over_the_labels_paid_for_them_beside_the_floor() -> None:
    sweep = noise_sweep("[30, 60]")
    records = run(sweep, lambda run: 3 / (run.spec.label_budget or 1))
    figure = only(error_by_labels(summary_of(sweep, records)))
    assert [panel.title for panel in figure.panels] == [f"noise rate {n}%" for n in (0, 5, 10)]
    assert points(figure.panels[1])["thresher"] == [(29.0, 0.1), (59.0, 0.05)]
    spec = SimulationSpec(n_features=30, sparsity=2)
    for labels, error in figure.panels[0].floor[::7]:
        assert labels == pytest.approx(2 * (np.log2(1 / error) + np.log2(15)))
        assert labels == pytest.approx(spec.label_floor(error))


def test_where_no_run_told_its_labels_the_budget_stands_for_them() -> None:
    sweep = noise_sweep("[30, 60]")
    records = run(sweep, plain_error)
    for lost in records:
        if lost["learner"] == RIVAL:
            lost.update(status="timed out", error=None, n_labels=None)
    panel = only(error_by_labels(summary_of(sweep, records))).panels[0]
    assert points(panel)[RIVAL] == [(30.0, 0.5), (60.0, 0.5)]


def test_one_budget_is_no_figure() -> None:
    sweep = noise_sweep()
    assert not list(error_by_labels(summary_of(sweep, run(sweep, plain_error))))


# -- scaling -----------------------------------------------------------------------------------


SCALING = """
[[worlds]]
n_features = 100
sparsity = [2, 4, 8]
target_error = 0.1
label_budget = [20, 40, 80, 160]
"""


def scaling_records(sweep: Sweep) -> Records:
    """Ten labels a feature suffice for Thresher, twenty for the rival; nine of ten seeds do."""

    def error(run: Run) -> float:
        each = 10 if run.learner == "thresher" else 20
        has_enough = (run.spec.label_budget or 0) >= each * run.spec.sparsity
        return 0.05 if has_enough and run.seed else 0.2

    return run(sweep, error)


def test_the_labels_needed_are_those_of_the_least_budget_that_suffices() -> None:
    sweep = make_sweep(SCALING, seeds="0-9")
    panel = only(only(labels_by_size(summary_of(sweep, scaling_records(sweep)))).panels)
    assert panel.title == "d = 100, ε = 0.1"
    assert points(panel) == {
        "thresher": [(2.0, 19.0), (4.0, 39.0), (8.0, 79.0)],
        RIVAL: [(2.0, 39.0), (4.0, 79.0), (8.0, 159.0)],
    }
    assert [curve.note for curve in panel.curves] == ["1.03", "1.01"]
    assert panel.floor[0] == pytest.approx((2.0, 2 * (np.log2(10) + np.log2(50))))


def test_a_budget_below_one_that_fails_does_not_suffice() -> None:
    sweep = make_sweep(SCALING, seeds="0-9")
    records = scaling_records(sweep)
    for bad in records:
        if (bad["sparsity"], bad["label_budget"]) == (4, 80) and bad["seed"] < 3:
            bad["error"] = 0.3
    panel = only(only(labels_by_size(summary_of(sweep, records))).panels)
    assert points(panel)["thresher"][1] == (4.0, 159.0)


def test_a_problem_that_no_budget_solves_is_a_missing_point() -> None:
    sweep = make_sweep(SCALING, seeds="0-9")
    records = scaling_records(sweep)
    for bad in records:
        if bad["sparsity"] == 2 and bad["learner"] == RIVAL:
            bad.update(status="failed", error=None)
    panel = only(only(labels_by_size(summary_of(sweep, records))).panels)
    assert [x for x, _ in points(panel)[RIVAL]] == [4.0, 8.0]


def test_one_size_or_no_target_is_no_figure() -> None:
    for blocks in (SCALING.replace("[2, 4, 8]", "4"), SCALING.replace("target_error = 0.1", "")):
        sweep = make_sweep(blocks)
        assert not list(labels_by_size(summary_of(sweep, run(sweep, lambda _: 0.01))))


# -- the spike ---------------------------------------------------------------------------------


SPIKE = """
[[worlds]]
n_features = 30
sparsity = 2
noise_rate = 0.1
[[adversaries]]
adversary = "sparse-spike"
strength = [2.0, 0.5, 1.0]
"""
DENSE = """
[[learners]]
name = "thresher"
[[learners]]
name = "dense"
schedule = { sparse_removal = false }
"""


def test_sparse_and_dense_removal_are_shown_at_every_strength_with_their_spread() -> None:
    sweep = make_sweep(SPIKE, DENSE)
    factor = {"thresher": 1.0, "dense": 3.0}
    records = run(sweep, lambda t: factor[t.learner] * (0.01 + 0.01 * t.seed) * t.spec.strength)
    panel = only(only(sparse_against_dense(summary_of(sweep, records))).panels)
    assert points(panel)["thresher"] == [(0.5, 0.01), (1.0, 0.02), (2.0, 0.04)]
    assert points(panel)["dense"] == [(0.5, 0.03), (1.0, 0.06), (2.0, 0.12)]
    assert panel.curves[0].ranges[1] == pytest.approx((0.012, 0.028))


def test_a_strength_that_one_of_the_two_lacks_is_left_out() -> None:
    sweep = make_sweep(SPIKE, DENSE)
    records = without(run(sweep, lambda _: 0.1), learner="dense", strength=2.0)
    panel = only(only(sparse_against_dense(summary_of(sweep, records))).panels)
    assert {x for found in points(panel).values() for x, _ in found} == {0.5, 1.0}


def test_without_its_twin_a_learner_is_not_compared() -> None:
    sweep = make_sweep(SPIKE)  # two learners, but both remove sparsely
    assert not list(sparse_against_dense(summary_of(sweep, run(sweep, lambda _: 0.1))))


# -- profiles ----------------------------------------------------------------------------------


def share(curve: Curve, factor: float) -> float:
    """The height of the curve's steps at a factor."""
    return max(y for x, y in curve.points if x <= factor)


def test_a_profile_is_the_share_of_cells_within_a_factor_of_the_best() -> None:
    sweep = noise_sweep()
    better = {("label-flip", 0.05), ("label-flip", 0.1)}  # where the rival is the better one

    def error(run: Run) -> float:
        is_rival = run.learner == RIVAL
        cell = run.spec.adversary, run.spec.noise_rate
        return 0.01 * (1 if is_rival == (cell in better) else 3)

    thresher, rival = only(profile(summary_of(sweep, run(sweep, error)))).panels[0].curves
    assert [share(thresher, t) for t in (1.0, 2.9, 3.0)] == [0.6, 0.6, 1.0]
    assert [share(rival, t) for t in (1.0, 2.9, 3.0)] == [0.4, 0.4, 1.0]


def test_only_cells_that_everybody_was_tried_in_are_compared() -> None:
    sweep = noise_sweep()
    records = run(sweep, plain_error)
    lost = without(records, learner=RIVAL, noise_rate=0.1, adversary="kearns-li")
    figure = only(profile(summary_of(sweep, lost)))
    assert "there are 4. " in figure.caption
    assert "Cells left out because they lack a learner: 1." in figure.caption
    assert share(figure.panels[0].curves[0], 1.0) == 1.0


def test_a_profile_needs_two_learners_and_a_few_cells() -> None:
    alone = noise_sweep(learners='[[learners]]\nname = "thresher"\n')
    assert not list(profile(summary_of(alone, run(alone, plain_error))))
    few = make_sweep(NOISE.format(budgets="60").replace("[0.0, 0.05, 0.1]", "0.05"))
    assert not list(profile(summary_of(few, run(few, plain_error))))


# -- styles ------------------------------------------------------------------------------------


def test_thresher_is_green_and_nobody_else_is() -> None:
    assert style_of("thresher").color == palette.GREEN
    assert palette.GREEN not in {style_of(name).color for name in [*METHODS, "a", "b", RIVAL]}


def test_every_method_looks_different_in_grey_or_in_color() -> None:
    looks = {(style_of(name).color, style_of(name).marker) for name in METHODS}
    assert len(looks) == len(METHODS)


def test_an_unknown_name_keeps_its_looks_from_one_process_to_the_next() -> None:
    assert style_of("dense outlier removal").words == "dashed blue line with four-pointed stars"


def test_of_many_learners_thresher_and_the_best_are_drawn_in_color() -> None:
    names = [f"number {n:02}" for n in range(20)]
    text = "".join(
        f'[[learners]]\nname = "{name}"\nschedule = {{ max_unlabeled = {9000 + n} }}\n'
        for n, name in enumerate([*names, "thresher"])
    )
    sweep = noise_sweep(learners=text)
    skill = {name: n for n, name in enumerate([*names, "thresher"])}
    records = run(sweep, lambda t: 0.01 * (1 + skill[t.learner]))
    summary = summary_of(sweep, records)
    assert rank_learners(summary) == ["thresher", *names]
    others = names[MAX_IN_COLOR - 1 :]
    section = figures_section(summary)
    assert section.count(f"{len(others)} others") == 3
    assert f"from best to worst, those with more labels last: {', '.join(others)}." in section


def test_who_got_more_labels_is_drawn_after_those_who_did_not() -> None:
    sweep = noise_sweep(
        learners="[[learners]]\nname = 'thresher'\n"
        "[[learners]]\nmethod = 'zhang-2018'\nbudget_factor = 10\n"
        "[[learners]]\nmethod = 'sever'\n"
    )
    records = run(sweep, lambda t: 0.2 if t.learner == "sever" else 0.1)
    names = ["thresher", "sever", "zhang-2018, 10 x labels"]
    assert rank_learners(summary_of(sweep, records)) == names


# -- drawing -----------------------------------------------------------------------------------


def test_the_panels_of_a_figure_have_one_y_axis_and_zero_is_drawn_on_it() -> None:
    pytest.importorskip("matplotlib")
    sweep = noise_sweep()
    records = run(sweep, lambda t: 0.0 if t.spec.adversary == "kearns-li" else 0.2)
    summary = summary_of(sweep, records)
    figure = only(error_by_noise(summary))
    drawn = [draw_panel(figure, panel, rank_learners(summary)) for panel in figure.panels]
    low, high = drawn[0].axes[0].get_ylim()
    assert drawn[1].axes[0].get_ylim() == (low, high)
    assert 0 < low < high
    heights = [line.get_ydata().min() for each in drawn for line in each.axes[0].lines]
    assert min(heights) > low


def test_the_section_has_every_figure_with_words_for_it() -> None:
    pytest.importorskip("matplotlib")
    sweep = noise_sweep("[30, 60]")
    summary = summary_of(sweep, run(sweep, plain_error))
    section = figures_section(summary)
    names = [figure.name for figure in figures_of(summary)]
    assert names == ["worst case by noise", "profile", "error by noise", "error by labels"]
    assert all(f'data-figure="{name}"' in section for name in names)
    assert section.count("<figcaption>") == 4
    assert "Thresher from 0.01 at 0% to 0.11 at 10%" in section


def test_names_cannot_become_part_of_the_page() -> None:
    pytest.importorskip("matplotlib")
    nasty = '"><script>$x$'
    sweep = noise_sweep(learners=LEARNERS.replace(f'"{RIVAL}"', f"'{nasty}'"))
    section = figures_section(summary_of(sweep, run(sweep, plain_error)))
    assert "<script>" not in section
    assert "&quot;&gt;&lt;script&gt;$x$" in section


def test_without_matplotlib_the_section_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sweep = noise_sweep()
    section = figures_section(summary_of(sweep, run(sweep, plain_error)))
    assert 'pip install "thresher[plot]"' in section.replace("&quot;", '"')
    assert "<figure" not in section


def test_nothing_to_show_is_no_section() -> None:
    sweep = noise_sweep()
    assert figures_section(summary_of(sweep, [])) == ""
