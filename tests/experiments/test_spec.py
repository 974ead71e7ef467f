"""What a spec refuses, and seeds as people write them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.experiments.optimizing import SLOW_ADVERSARIES
from thresher.experiments.spec import (
    MAX_SEEDS,
    SimulationSpec,
    TableSpec,
    format_seeds,
    parse_seeds,
)
from thresher.learning import PracticalSchedule, plan
from thresher.rivals.methods.phase_loop import LoopSchedule
from thresher.simulate import ADVERSARIES

SMALL = SimulationSpec(
    n_features=60, sparsity=3, noise_rate=0.1, adversary="in-band-mass", label_budget=120
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_features": 0}, "n_features"),
        ({"sparsity": 61}, "sparsity must be at most"),
        ({"n_features": 2**31}, "n_features must be at most 2,147,483,647"),
        ({"n_features": 10**400}, "n_features must be at most 2,147,483,647"),
        ({"label_budget": 10**400}, "label_budget must be at most 2,147,483,647"),
        ({"noise_rate": 0.5}, "noise_rate"),
        ({"told_noise_rate": -0.1}, "told_noise_rate"),
        ({"distribution": "cauchy"}, "gaussian, laplace"),
        ({"adversary": "nobody"}, "none, label-flip, .*kearns-li"),
        ({"adversary": "none"}, "needs an adversary: one of label-flip"),
        ({"strength": 0.0}, "strength must be greater than 0"),
        ({"strength": 3.0, "adversary": "label-flip"}, "adversary 'label-flip' takes no strength"),
        ({"strength": 2.0, "adversary": "linf-hijack-in-band"}, "at most 1"),
        ({"label_budget": 0}, "label_budget"),
        ({"target_error": 1.5}, "target_error"),
    ],
)
def test_a_spec_refuses_what_cannot_be_run(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)


def test_a_switch_of_a_loop_makes_the_schedule_one() -> None:
    assert replace(SMALL, schedule={"limit_trace": False}).make_schedule() == LoopSchedule(
        limit_trace=False
    )
    assert type(replace(SMALL, schedule={"shrink": 0.5}).make_schedule()) is PracticalSchedule


@pytest.mark.parametrize("name", [*ADVERSARIES, *SLOW_ADVERSARIES])
def test_every_adversary_can_be_named(name: str) -> None:
    assert replace(SMALL, adversary=name).make_adversary() is not None


@pytest.mark.parametrize("name", ["in-band-mass", "far-clump-in-band"])
def test_the_strength_reaches_the_adversary(name: str) -> None:
    made = replace(SMALL, adversary=name, strength=2.5).make_adversary()
    assert getattr(made, "adversary", made).strength == 2.5


def test_what_the_learner_is_told_follows_the_truth_unless_it_was_set() -> None:
    assert replace(SMALL, noise_rate=0.2).task.noise_rate == 0.2
    assert replace(SMALL, noise_rate=0.2, told_noise_rate=0.1).task.noise_rate == 0.1


def test_the_floors_are_those_of_the_plan() -> None:
    answer = plan(n_features=60, sparsity=3, target_error=0.01, noise_rate=0.0)
    assert SMALL.label_floor(0.01) == answer.label_floor
    assert SMALL.error_floor == pytest.approx(0.1 / 1.8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "folder/mail"}, "table must be a file name"),
        ({"adversary": "kearns-li"}, "adversary must be one of none, far-clump"),
        ({"adversary": "none"}, "needs an adversary: one of far-clump"),
        ({"adversary": "none", "noise_rate": 0.0, "strength": 1.0}, "strength needs an adversary"),
        ({"adversary": "linf-hijack", "strength": 2.0}, "at most 1"),
        ({"method": "zhang-2018"}, "method must be one of thresher, .*l1-logistic"),
    ],
)
def test_a_table_spec_refuses_what_cannot_be_run(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TableSpec(table="mail", noise_rate=0.1, adversary="far-clump"), **changes)


# -- seeds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        (" 3 ", (0, 1, 2)),
        ("3-3", (3,)),
        ("1,5", (1, 5)),
        ("0-2, 7", (0, 1, 2, 7)),
        ("5 - 6", (5, 6)),
        ("4,2-5", (4, 2, 3, 5)),
        (f"{MAX_SEEDS}", tuple(range(MAX_SEEDS))),
        ("1" * 30 + ",0", (int("1" * 30), 0)),
    ],
)
def test_seeds_are_read_as_written(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "7,", "-1", "5-3", "1-2-3", "1 2", "a", "1.5", "1,,2", "²", "٣"),
        *(f"{MAX_SEEDS + 1}", "0-10000", "0-9999,10000", "9" * 5000, "0-" + "9" * 5000),
    ],
)
def test_anything_else_is_refused_with_what_may_be(text: str) -> None:
    with pytest.raises(ValueError, match="a count from 1 to 10000, or a list like"):
        parse_seeds(text)


@given(st.text(alphabet="0123456789-, ", max_size=12) | st.text(max_size=5))
def test_any_text_gives_distinct_seeds_or_a_typed_error(text: str) -> None:
    try:
        seeds = parse_seeds(text)
    except ValueError:
        return
    assert 0 < len(seeds) == len(set(seeds)) <= MAX_SEEDS


@given(st.sets(st.integers(0, 300), min_size=2, max_size=30))
def test_what_is_written_is_read_back_in_order(seeds: set[int]) -> None:
    assert parse_seeds(format_seeds(seeds)) == tuple(sorted(seeds))
