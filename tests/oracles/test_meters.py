"""Meters count everything and stop before a budget is exceeded."""

import numpy as np
import pytest

from thresher.errors import BudgetExceeded, ThresherError
from thresher.geometry import Band
from thresher.oracles import (
    ArrayPool,
    Draw,
    DrawRequest,
    InstanceSource,
    MeteredLabels,
    MeteredSource,
)

TABLE = np.random.default_rng(5).standard_normal((300, 2))
EVERYTHING = Band(normal=np.zeros(2), width=np.inf)
NARROW = Band(normal=np.array([1.0, 0.0]), width=0.2)


def _request(n_rows, **fields):
    return DrawRequest(**{"n_rows": n_rows, "band": EVERYTHING, **fields})


def _pool():
    return ArrayPool(TABLE, random_state=0)


class Greedy:
    """A source that ignores the limit of a request."""

    n_features = 2

    def draw(self, _request):
        return Draw(ids=np.arange(50), X=TABLE[:50], n_drawn=50)


class Recorder:
    """A label source that remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def reveal(self, ids):
        self.asked.append(list(ids))
        return np.where(np.asarray(ids) % 2 == 0, 1.0, -1.0)


def test_a_meter_without_a_budget_changes_nothing_and_counts():
    meter = MeteredSource(_pool())
    draw, plain = meter.draw(_request(20, band=NARROW)), _pool().draw(_request(20, band=NARROW))
    assert np.array_equal(draw.ids, plain.ids)
    assert (meter.n_draws, meter.n_rows, meter.n_requests) == (plain.n_drawn, 20, 1)
    assert meter.n_left is None and isinstance(meter, InstanceSource)


@pytest.mark.parametrize("budget", [1, 7, 100])
def test_a_budget_of_draws_is_used_up_but_never_exceeded(budget):
    meter = MeteredSource(_pool(), max_draws=budget)
    with pytest.raises(BudgetExceeded):
        for _ in range(200):
            meter.draw(_request(3, band=NARROW))
    assert meter.n_draws == budget and meter.n_left == 0


def test_the_smaller_of_two_limits_counts():
    assert MeteredSource(_pool(), max_draws=9).draw(_request(50, max_draws=4)).n_drawn == 4
    assert MeteredSource(_pool(), max_draws=4).draw(_request(50, max_draws=9)).n_drawn == 4


def test_a_source_that_ignores_its_limit_is_caught():
    with pytest.raises(BudgetExceeded, match="50 draws were asked for, but the budget leaves 10"):
        MeteredSource(Greedy(), max_draws=10).draw(_request(50))


def test_a_budget_error_says_what_was_asked_what_is_left_and_what_is_kept():
    meter = MeteredLabels(Recorder(), max_labels=5)
    meter(np.arange(4), TABLE[:4])
    with pytest.raises(BudgetExceeded) as caught:
        meter(np.arange(2, 8), TABLE[:6])
    assert (caught.value.n_asked, caught.value.n_left) == (4, 1)
    assert "4 labels paid before are kept" in str(caught.value)
    assert isinstance(caught.value, ThresherError)


def test_a_refused_call_asks_for_nothing():
    source = Recorder()
    meter = MeteredLabels(source, max_labels=5)
    with pytest.raises(BudgetExceeded):
        meter(np.arange(6), TABLE[:6])
    assert source.asked == [] and (meter.n_labels, meter.n_queries) == (0, 0)


def test_an_id_is_paid_once():
    source = Recorder()
    meter = MeteredLabels(source, max_labels=3)
    assert meter(np.array([4, 4, 1]), TABLE[:3]).tolist() == [1.0, 1.0, -1.0]
    assert meter(np.array([1, 2]), TABLE[:2]).tolist() == [-1.0, 1.0]
    assert meter(np.array([1, 2, 4]), TABLE[:3]).tolist() == [-1.0, 1.0, 1.0]
    assert source.asked == [[1, 4], [2]]
    assert (meter.n_labels, meter.n_queries, meter.n_left) == (3, 8, 0)


def test_a_callable_gets_the_rows_of_the_new_ids():
    seen = []

    def label(ids, X):
        seen.append((list(ids), X.tolist()))
        return np.ones(len(ids))

    meter = MeteredLabels(label)
    meter([7], [[7.0, 0.0]])
    meter([9, 7, 8, 9], [[9.0, 0.0], [7.0, 0.0], [8.0, 0.0], [9.0, 0.0]])
    assert seen == [([7], [[7.0, 0.0]]), ([8, 9], [[8.0, 0.0], [9.0, 0.0]])]


def test_paid_labels_can_be_read_but_not_changed():
    meter = MeteredLabels(Recorder())
    meter([3], TABLE[:1])
    meter.paid[3] = 1.0
    assert meter.paid == {3: -1.0}


@pytest.mark.parametrize("answer", [[0.0], [2.0], [1.0, 1.0], [np.nan], None, ["yes"]])
def test_a_bad_answer_is_refused_and_not_paid(answer):
    meter = MeteredLabels(lambda _ids, _X: answer)
    with pytest.raises((TypeError, ValueError), match="labels"):
        meter([0], TABLE[:1])
    assert meter.n_labels == 0


def test_asking_for_nothing_costs_nothing():
    meter = MeteredLabels(Recorder(), max_labels=0)
    assert meter(np.zeros(0, dtype=np.int64), TABLE[:0]).shape == (0,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MeteredSource(TABLE),
        lambda: MeteredSource(_pool(), max_draws=1.5),
        lambda: MeteredLabels("labels"),
        lambda: MeteredLabels(Recorder(), max_labels="many"),
        lambda: MeteredLabels(Recorder())([0.5], TABLE[:1]),
    ],
)
def test_misuse_is_a_type_error(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("budget", [-1, -100])
def test_a_negative_budget_is_refused(budget):
    with pytest.raises(ValueError, match="max_draws"):
        MeteredSource(_pool(), max_draws=budget)
    with pytest.raises(ValueError, match="max_labels"):
        MeteredLabels(Recorder(), max_labels=budget)
