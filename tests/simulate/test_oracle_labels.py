"""Labels are written down when a row is drawn, and ids are the only way to them."""

import numpy as np
import pytest

from thresher.errors import UnknownId
from thresher.geometry import Band
from thresher.oracles import DrawRequest
from thresher.simulate import Gaussian, LabelFlip, MaliciousOracle, random_target

D, S = 20, 3
EVERYTHING = Band(normal=np.zeros(D), width=np.inf)
NARROW = Band(normal=random_target(D, S, 1), width=0.1)


class Script:
    """An adversary that does what a function says and counts how often it is asked."""

    def __init__(self, answer):
        self.answer = answer
        self.n_calls = 0

    def corrupt(self, n_rows, view, rng):
        self.n_calls += 1
        return self.answer(n_rows, view, rng)


def _oracle(adversary=None, noise_rate=0.1):
    return MaliciousOracle(
        distribution=Gaussian(D),
        target=random_target(D, S, 0),
        noise_rate=noise_rate,
        adversary=adversary or LabelFlip(),
        random_state=0,
    )


def _request(n_rows, band=EVERYTHING):
    return DrawRequest(n_rows=n_rows, band=band)


def test_labels_are_fixed_at_the_draw_and_the_adversary_is_never_asked_again():
    def fickle(n_rows, view, _rng):
        return np.zeros((n_rows, view.n_features)), np.full(n_rows, fickle.mood)

    fickle.mood = 1.0
    adversary = Script(fickle)
    oracle = _oracle(adversary, noise_rate=0.5)
    draw = oracle.draw(_request(100))
    n_calls = adversary.n_calls
    fickle.mood = -1.0
    assert (oracle.reveal(draw.ids)[~oracle.is_clean(draw.ids)] == 1).all()
    assert adversary.n_calls == n_calls


def test_rows_and_labels_survive_an_adversary_that_keeps_its_arrays():
    kept = []

    def keeper(n_rows, view, _rng):
        kept.append((np.ones((n_rows, view.n_features)), np.ones(n_rows)))
        return kept[-1]

    oracle = _oracle(Script(keeper), noise_rate=0.5)
    draw = oracle.draw(_request(100))
    X, labels = draw.X.copy(), oracle.reveal(draw.ids)
    for rows, signs in kept:
        rows[:], signs[:] = 7.0, -1.0
    assert np.array_equal(draw.X, X) and np.array_equal(oracle.reveal(draw.ids), labels)


def test_changing_revealed_labels_changes_nothing_in_the_book():
    oracle = _oracle()
    ids = oracle.draw(_request(10)).ids
    labels = oracle.reveal(ids)
    oracle.reveal(ids)[:] = 0.0
    assert np.array_equal(oracle.reveal(ids), labels)


def test_labels_are_counted_once_for_each_id():
    oracle = _oracle()
    ids = oracle.draw(_request(30)).ids
    assert oracle.n_labels == 0
    oracle.reveal(ids[[0, 0, 1]])
    oracle.reveal(ids[[1, 2]])
    oracle.is_clean(ids)
    assert oracle.n_labels == 3


def test_ids_are_never_used_twice():
    oracle = _oracle()
    draws = [oracle.draw(_request(50, band)) for band in (EVERYTHING, NARROW, EVERYTHING)]
    ids = np.concatenate([draw.ids for draw in draws])
    assert np.unique(ids).size == ids.size == 150


@pytest.mark.parametrize("ids", [[3, 10, 99], [10], [3, 10, -1]])
def test_the_first_unknown_id_is_named_and_nothing_is_counted(ids):
    oracle = _oracle()
    oracle.draw(_request(10))
    for ask in (oracle.reveal, oracle.is_clean):
        with pytest.raises(UnknownId, match="id 10 was never drawn"):
            ask(ids)
    assert oracle.n_labels == 0


def test_negative_ids_do_not_count_from_the_end():
    oracle = _oracle()
    oracle.draw(_request(10))
    with pytest.raises(UnknownId, match="id -1"):
        oracle.reveal([-1])
