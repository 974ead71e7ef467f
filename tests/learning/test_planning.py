"""What a plan says about cost and about what no method can do."""

from __future__ import annotations

import math

import pytest

from thresher.learning.planning import Plan, plan
from thresher.learning.practical import PracticalSchedule
from thresher.learning.task import Cost, Task
from thresher.learning.theory import TheorySchedule

QUESTION = {
    "n_features": 500,
    "sparsity": 10,
    "target_error": 0.01,
    "noise_rate": 0.005,
    "failure_probability": 0.05,
}


def answer(**changes: float) -> Plan:
    """A plan with given costs, which needs no schedule."""
    costs = {
        "theory": Cost(phases=3, draws=10**400, labels=10**6),
        "practical": Cost(phases=5, draws=20_000, labels=1234),
    }
    return Plan(**{**QUESTION, **costs, **changes})


def test_the_theory_column_is_the_cost_of_the_theory_schedule() -> None:
    assert plan(**QUESTION).theory == TheorySchedule(**QUESTION).cost()


def test_the_practical_column_is_the_cost_of_the_practical_schedule() -> None:
    task = Task(**{k: v for k, v in QUESTION.items() if k != "failure_probability"})
    assert plan(**QUESTION).practical == PracticalSchedule().cost(task)


def test_the_practical_schedule_can_be_paid() -> None:
    practical = plan(**QUESTION).practical
    assert practical.phases >= 1
    assert 1 <= practical.labels <= practical.draws < 10**12


def test_the_label_floor_is_the_hand_computed_one() -> None:
    # 10·(log2 100 + log2 50) = 10·log2 5000, and 2¹² = 4096: 10·(12 + .28771)
    assert answer().label_floor == pytest.approx(122.8771, abs=1e-4)


@pytest.mark.parametrize(("target_error", "limit"), [(0.5, 1 / 2), (0.25, 1 / 3), (0.01, 1 / 51)])
def test_the_noise_limit_is_the_hand_computed_one(target_error: float, limit: float) -> None:
    assert answer(target_error=target_error).noise_limit == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("target_error", [1e-6, 0.01, 0.1, 0.3])
def test_at_the_noise_limit_the_unavoidable_error_is_the_target(target_error: float) -> None:
    limit = answer(target_error=target_error).noise_limit
    assert limit / (2 * (1 - limit)) == pytest.approx(target_error, rel=1e-12)


def test_noise_at_the_limit_is_impossible_and_just_below_it_is_not() -> None:
    limit = answer().noise_limit
    assert not answer(noise_rate=limit).possible
    assert answer(noise_rate=math.nextafter(limit, 0)).possible


def test_an_impossible_question_names_the_limit_and_the_error_within_reach() -> None:
    # η/(2(1 − η)) = .05/1.9 = .0263
    message = answer(noise_rate=0.05).message
    assert message.startswith("Impossible")
    assert "0.0196" in message
    assert "0.0263" in message


def test_noise_between_the_two_limits_draws_a_warning() -> None:
    # ε/(1 + ε) = .0099 and 2ε/(1 + 2ε) = .0196
    between = answer(noise_rate=0.015)
    assert between.possible
    assert "but not below" in between.message
    assert "Kearns and Li" in between.message


def test_the_warning_starts_at_the_limit_of_kearns_and_li() -> None:
    limit = 0.01 / 1.01
    assert "but not below" in answer(noise_rate=limit).message
    assert "but not below" not in answer(noise_rate=math.nextafter(limit, 0)).message


def test_an_impossible_question_is_still_answered() -> None:
    assert plan(**{**QUESTION, "noise_rate": 0.4}).possible is False


def test_the_printed_table_is_aligned_and_survives_numbers_beyond_floats() -> None:
    lines = str(answer()).splitlines()
    table = lines[2:7]
    assert len({len(line) for line in table}) == 1
    assert table[0].split() == ["theory", "practical"]
    assert table[2].split() == ["draws", "1.0e+400", "20,000"]
    assert table[3].split() == ["labels", "1,000,000", "1,234"]
    assert answer().message in lines


def test_labels_are_also_printed_as_a_multiple_of_the_floor() -> None:
    # 1234/122.877 = 10.04
    assert "labels / floor     8,138.2        10.0" in str(answer())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features", 0),
        ("sparsity", 501),
        ("target_error", 0.0),
        ("target_error", 1.5),
        ("noise_rate", 0.5),
        ("noise_rate", math.nan),
        ("failure_probability", 1.0),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        plan(**{**QUESTION, name: value})


@pytest.mark.parametrize("name", list(QUESTION))
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        plan(**{**QUESTION, name: "many"})


def test_a_plan_knows_what_real_pools_needed() -> None:
    lenient, strict = (answer(target_error=e, noise_rate=0.0).pool_labels for e in (0.3, 0.001))
    assert set(lenient.values()) == {50} and set(strict.values()) == {None}
    assert "real pools without planted rows: " in str(answer(target_error=0.3, noise_rate=0.0))
    assert "real pools" not in str(answer(target_error=0.001, noise_rate=0.0))


def test_more_noise_than_was_measured_has_no_pools() -> None:
    assert answer(target_error=0.3, noise_rate=0.11).pool_labels == {}
    assert answer(target_error=0.3, noise_rate=0.01).pool_labels.keys()
