"""What the oracle refuses: adversaries that answer badly, and worlds that make no sense."""

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import memory
from thresher.errors import AdversaryError, NotEnoughMemory
from thresher.geometry import Band
from thresher.oracles import DrawRequest
from thresher.simulate import Gaussian, LabelFlip, MaliciousOracle, random_target

D = 20
TARGET = random_target(D, 3, 0)
EVERYTHING = Band(normal=np.zeros(D), width=np.inf)
FIELDS = {
    "distribution": Gaussian(D),
    "target": TARGET,
    "noise_rate": 0.5,
    "adversary": LabelFlip(),
    "random_state": 0,
}


class Script:
    """An adversary that answers what a function says."""

    def __init__(self, answer):
        self.answer = answer

    def corrupt(self, n_rows, view, rng):
        return self.answer(n_rows, view, rng)


def _oracle(**changes):
    return MaliciousOracle(**{**FIELDS, **changes})


def _request(n_rows, band=EVERYTHING):
    return DrawRequest(n_rows=n_rows, band=band)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda n, _v, _r: (np.ones((n, D + 1)), np.ones(n)), "shape"),
        (lambda n, _v, _r: (np.ones((n + 1, D)), np.ones(n)), "shape"),
        (lambda n, _v, _r: (np.ones((n, D)), np.ones(n + 1)), "y must have length"),
        (lambda n, _v, _r: (np.full((n, D), np.nan), np.ones(n)), "finite"),
        (lambda n, _v, _r: (np.full((n, D), np.inf), np.ones(n)), "finite"),
        (lambda n, _v, _r: (np.ones((n, D)), np.zeros(n)), "-1 or \\+1"),
        (lambda n, _v, _r: (np.ones((n, D)), ["+"] * n), "y must hold"),
        (lambda n, _v, _r: np.ones((n, D)), ""),
        (lambda _n, _v, _r: None, ""),
    ],
)
def test_an_adversary_that_answers_badly_is_named(answer, reason):
    oracle = _oracle(adversary=Script(answer))
    with pytest.raises(AdversaryError, match=f"adversary Script .*{reason}"):
        oracle.draw(_request(50))
    assert oracle.n_draws == 0


def test_an_adversary_may_answer_in_sparse_rows_and_lists():
    oracle = _oracle(adversary=Script(lambda n, _v, _r: (sp.csr_array(np.ones((n, D))), [1] * n)))
    draw = oracle.draw(_request(50))
    assert ((draw.X == 1).all(axis=1) == ~oracle.is_clean(draw.ids)).all()


@pytest.mark.parametrize(
    ("changes", "error", "named"),
    [
        ({"distribution": "normal"}, TypeError, "distribution"),
        ({"distribution": Gaussian}, TypeError, "distribution"),
        ({"target": np.zeros(D)}, ValueError, "target"),
        ({"target": np.ones(D + 1)}, ValueError, "target"),
        ({"target": np.full(D, np.nan)}, ValueError, "target"),
        ({"noise_rate": 1.0}, ValueError, "noise_rate"),
        ({"noise_rate": -0.1}, ValueError, "noise_rate"),
        ({"noise_rate": "low"}, TypeError, "noise_rate"),
        ({"adversary": None}, TypeError, "adversary"),
        ({"adversary": LabelFlip}, TypeError, "adversary"),
        ({"max_draws_per_request": 0}, ValueError, "max_draws_per_request"),
    ],
)
def test_an_oracle_that_makes_no_sense_is_refused_by_name(changes, error, named):
    with pytest.raises(error, match=named):
        _oracle(**changes)


def test_a_request_about_other_features_is_refused():
    with pytest.raises(ValueError, match="features"):
        _oracle().draw(_request(5, Band(normal=np.zeros(D + 1), width=1.0)))


def test_rows_too_large_to_project_are_rejected_without_a_warning():
    oracle = _oracle(adversary=Script(lambda n, _v, _r: (np.full((n, D), 1e308), np.ones(n))))
    narrow = Band(normal=np.full(D, 0.5), width=0.5)
    draw = oracle.draw(_request(50, narrow))
    assert draw.n_rows == 50 and oracle.is_clean(draw.ids).all()


def test_an_adversary_that_fails_is_heard():
    def fail(_n, _v, _r):
        raise RuntimeError("out of ideas")

    with pytest.raises(RuntimeError, match="out of ideas"):
        _oracle(adversary=Script(fail)).draw(_request(50))


def test_rows_that_do_not_fit_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    oracle = _oracle()
    with pytest.raises(NotEnoughMemory, match="drawing 10,000,000 rows of 20 features needs about"):
        oracle.draw(_request(10**7))
    assert oracle.n_draws == 0


def test_a_target_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    with pytest.raises(NotEnoughMemory, match="of 1,000,000,000 features"):
        random_target(10**9, 3, 0)
