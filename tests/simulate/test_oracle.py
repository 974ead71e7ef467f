"""The malicious oracle: a binomial share of dirty rows, labels fixed at the draw, honest counts."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import thresher.simulate
from thresher.geometry import Band
from thresher.oracles import DrawRequest, InstanceSource
from thresher.simulate import (
    Exponential,
    Gaussian,
    InBandMass,
    LabelFlip,
    Laplace,
    MaliciousOracle,
    OnSupportTilt,
    random_target,
)
from thresher.simulate import (
    oracle as oracle_module,
)

D, S = 20, 3
TARGET = random_target(D, S, 0)
EVERYTHING = Band(normal=np.zeros(D), width=np.inf)
NARROW = Band(normal=random_target(D, S, 1), width=0.1)


class Script:
    """An adversary that does what a function says and remembers what it saw."""

    def __init__(self, answer):
        self.answer = answer
        self.views = []

    def corrupt(self, n_rows, view, rng):
        self.views.append(view)
        return self.answer(n_rows, view, rng)


def _marked(n_rows, view, _rng):
    """Rows of ones, which the test recognises; labels +1."""
    return np.ones((n_rows, view.n_features)), np.ones(n_rows)


def _oracle(adversary=None, *, noise_rate=0.1, distribution=Gaussian, seed=0, **options):
    return MaliciousOracle(
        distribution=distribution(D),
        target=TARGET,
        noise_rate=noise_rate,
        adversary=adversary or LabelFlip(),
        random_state=seed,
        **options,
    )


def _request(n_rows, band=EVERYTHING, **fields):
    return DrawRequest(n_rows=n_rows, band=band, **fields)


def test_an_oracle_is_an_instance_source():
    assert isinstance(_oracle(), InstanceSource)


@pytest.mark.parametrize("noise_rate", [0.0, 0.05, 0.4])
def test_the_share_of_dirty_rows_is_binomial(noise_rate):
    # 40 requests of 500 rows: the total is Binomial(20,000, η), 5 standard deviations wide; and the
    # 40 counts vary like binomial ones (a chi-square of 40 degrees at level 1e-6, both sides).
    oracle = _oracle(Script(_marked), noise_rate=noise_rate)
    counts = []
    for _ in range(40):
        draw = oracle.draw(_request(500))
        is_dirty = (draw.X == 1).all(axis=1)
        assert np.array_equal(is_dirty, ~oracle.is_clean(draw.ids))
        counts.append(np.count_nonzero(is_dirty))
    variance = 500 * noise_rate * (1 - noise_rate)
    assert abs(np.sum(counts) - 20_000 * noise_rate) <= 5 * np.sqrt(40 * variance)
    if noise_rate:
        spread = np.sum((np.array(counts) - 500 * noise_rate) ** 2) / variance
        assert stats.chi2(40).ppf(1e-6) < spread < stats.chi2(40).isf(1e-6)


def test_dirty_rows_are_in_no_special_place():
    # Mean place of about 2,000 dirty rows among 20,000: five standard errors of a uniform mean.
    oracle = _oracle(Script(_marked))
    places = np.flatnonzero(~oracle.is_clean(oracle.draw(_request(20_000)).ids)) / 20_000
    assert abs(places.mean() - 0.5) < 5 * np.sqrt(1 / 12 / places.size)
    assert stats.kstest(places, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("distribution", [Gaussian, Laplace, Exponential])
@pytest.mark.parametrize("band", [EVERYTHING, NARROW], ids=["everything", "narrow"])
def test_clean_rows_have_their_true_label(distribution, band):
    oracle = _oracle(distribution=distribution)
    draw = oracle.draw(_request(500, band))
    labels, is_clean = oracle.reveal(draw.ids), oracle.is_clean(draw.ids)
    assert np.array_equal(labels == np.where(draw.X @ TARGET >= 0, 1.0, -1.0), is_clean)


@pytest.mark.parametrize("distribution", [Gaussian, Laplace])
def test_every_row_lies_in_the_band(distribution):
    oracle = _oracle(OnSupportTilt(), distribution=distribution)
    draw = oracle.draw(_request(1000, NARROW))
    assert draw.n_rows == 1000 and NARROW.admits(draw.X).all()


def test_rejected_draws_are_counted_as_if_drawn_one_by_one():
    # Without noise a request for n rows takes a negative binomial number of draws: mean n/p,
    # variance n(1−p)/p² and excess kurtosis 6/n. 300 requests: five standard errors for their mean
    # and for their variance alarm falsely with probability about 1e-6.
    oracle = _oracle(noise_rate=0.0)
    p, n = stats.norm.cdf(0.1) - stats.norm.cdf(-0.1), 20
    counts = np.array([oracle.draw(_request(n, NARROW)).n_drawn for _ in range(300)])
    variance = n * (1 - p) / p**2
    assert oracle.n_draws == counts.sum()
    assert abs(counts.mean() - n / p) < 5 * np.sqrt(variance / 300)
    spread = np.mean((counts - n / p) ** 2) / variance
    assert abs(spread - 1) < 5 * np.sqrt((2 + 6 / n) / 300)


def test_mass_in_the_band_owns_the_share_the_theory_says():
    # All dirty rows are kept and a share p of clean ones: the in-band rate is η/(η + (1−η)p).
    oracle = _oracle(InBandMass(), noise_rate=0.05)
    draw = oracle.draw(_request(10_000, NARROW, phase=2))
    p = stats.norm.cdf(0.1) - stats.norm.cdf(-0.1)
    rate = 0.05 / (0.05 + 0.95 * p)
    share = np.mean(~oracle.is_clean(draw.ids))
    assert abs(share - rate) < 5 * np.sqrt(rate * (1 - rate) / 10_000)


def test_the_adversary_sees_the_request_and_may_not_write_into_it():
    adversary, record = Script(_marked), object()
    oracle = _oracle(adversary, noise_rate=0.9)
    oracle.draw(_request(5, NARROW, max_abs_entry=7.5, phase=4, phase_record=record))
    view = adversary.views[0]
    assert np.array_equal(view.target, TARGET) and view.distribution == Gaussian(D)
    assert np.array_equal(view.halfspace, NARROW.normal) and view.band_width == 0.1
    assert (view.noise_rate, view.n_features, view.max_abs_entry) == (0.9, D, 7.5)
    assert view.phase == 4 and view.phase_record is record
    with pytest.raises(ValueError, match="read-only"):
        view.target[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        view.halfspace[0] = 1.0


def test_in_phase_one_the_halfspace_is_zero_and_the_band_is_infinite():
    adversary = Script(_marked)
    _oracle(adversary, noise_rate=0.9).draw(_request(5))
    assert not adversary.views[0].halfspace.any() and adversary.views[0].band_width == np.inf


@pytest.mark.parametrize("distribution", [Gaussian, Laplace, Exponential])
def test_one_seed_gives_the_same_bits(distribution):
    def run(seed):
        oracle = _oracle(InBandMass(), distribution=distribution, seed=seed)
        draws = [oracle.draw(_request(200, band)) for band in (EVERYTHING, NARROW)]
        labels = oracle.reveal(np.concatenate([draw.ids for draw in draws]))
        return np.concatenate([draw.X for draw in draws]), labels, oracle.n_draws

    first, second, other = run(5), run(5), run(6)
    assert all(np.array_equal(a, b) for a, b in zip(first, second))
    assert not np.array_equal(first[0], other[0])


def test_what_the_adversary_draws_for_itself_does_not_touch_the_clean_rows():
    # One stream for both would also let an adversary foretell the clean rows from its generator.
    def greedy(n_rows, view, rng):
        rng.standard_normal(1000)
        return _marked(n_rows, view, rng)

    def clean_rows(answer):
        oracle = _oracle(Script(answer))
        draws = [oracle.draw(_request(200)) for _ in range(2)]
        return np.concatenate([draw.X[oracle.is_clean(draw.ids)] for draw in draws])

    assert np.array_equal(clean_rows(_marked), clean_rows(greedy))


@pytest.mark.parametrize("limit", [1, 50, 3000])
def test_max_draws_is_kept_even_when_rows_are_missing(limit):
    oracle = _oracle(noise_rate=0.0)
    draw = oracle.draw(_request(5000, NARROW, max_draws=limit))
    assert draw.n_drawn == limit and draw.n_rows < 5000


def test_a_band_of_almost_no_mass_ends_with_fewer_rows():
    needle = Band(normal=NARROW.normal, width=1e-9)
    draw = _oracle(noise_rate=0.0, max_draws_per_request=100_000).draw(_request(3, needle))
    assert (draw.n_rows, draw.n_drawn, draw.X.shape) == (0, 100_000, (0, D))


def test_small_blocks_change_neither_share_nor_count(monkeypatch):
    monkeypatch.setattr(oracle_module, "_DIRTY_ENTRIES_PER_BLOCK", 100)
    oracle = _oracle(Script(_marked))
    draw = oracle.draw(_request(1000))
    assert (draw.n_rows, draw.n_drawn) == (1000, 1000)
    assert abs(np.mean(~oracle.is_clean(draw.ids)) - 0.1) < 5 * np.sqrt(0.09 / 1000)


def test_an_oracle_without_noise_needs_no_adversary():
    oracle = MaliciousOracle(distribution=Gaussian(D), target=TARGET, noise_rate=0, adversary=None)
    assert oracle.is_clean(oracle.draw(_request(10)).ids).all()


def test_only_the_direction_of_a_target_matters():
    oracle = MaliciousOracle(
        distribution=Gaussian(D), target=5 * TARGET, noise_rate=0.1, adversary=LabelFlip()
    )
    assert np.allclose(oracle.target, TARGET)


def test_the_error_rate_is_that_of_the_distribution():
    w = random_target(D, S, 7)
    assert _oracle().error_rate(w) == Gaussian(D).error_rate(w, TARGET)
    assert _oracle(distribution=Laplace).error_rate(w) == Laplace(D).error_rate(w, TARGET)
    assert _oracle().estimate_error(w).standard_error == 0


def test_any_distribution_that_can_be_sampled_will_do():
    class Cube:
        n_features = D

        def sample(self, n_rows, rng):
            return rng.choice([-1.0, 1.0], size=(n_rows, D))

    oracle = MaliciousOracle(
        distribution=Cube(), target=TARGET, noise_rate=0.1, adversary=LabelFlip(), random_state=0
    )
    draw = oracle.draw(_request(100, Band(normal=NARROW.normal, width=0.5)))
    assert draw.n_rows == 100 and (np.abs(draw.X) == 1).all()
    assert oracle.error_rate(TARGET) == 0.0


def test_the_laboratory_imports_nothing_that_learns():
    folder = Path(thresher.simulate.__file__).parent
    imported = {
        node.module
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    allowed = ("simulate", "oracles", "geometry", "validation", "errors", "memory", "wording")
    ours = {module.split(".")[1] for module in imported if module.startswith("thresher.")}
    assert ours <= set(allowed)


# -- the adversary sees the past -------------------------------------------------------------


def watched(remembers: bool) -> tuple[Script, MaliciousOracle]:
    """An oracle, and its adversary."""
    adversary = Script(_marked)
    adversary.remembers = remembers
    asked = {"distribution": Gaussian(D), "target": TARGET, "noise_rate": 0.5}
    return adversary, MaliciousOracle(**asked, adversary=adversary, random_state=0)


def test_an_adversary_that_remembers_sees_past_rows_labels_and_which_were_revealed() -> None:
    adversary, source = watched(remembers=True)
    first = source.draw(DrawRequest(n_rows=20, band=EVERYTHING))
    source.reveal(first.ids[:3])
    source.draw(DrawRequest(n_rows=20, band=EVERYTHING, phase=2))
    (past,) = adversary.views[-1].past
    assert adversary.views[0].past == ()
    assert past.phase == 1 and np.array_equal(past.X, first.X)
    assert past.is_revealed.tolist() == [True] * 3 + [False] * 17
    assert np.array_equal(past.is_clean, source.is_clean(first.ids))
    assert np.array_equal(past.labels, source.reveal(first.ids))
    with pytest.raises(ValueError, match="read-only"):
        past.X[0, 0] = 1.0


def test_an_adversary_that_does_not_remember_costs_no_memory() -> None:
    adversary, source = watched(remembers=False)
    for _ in range(2):
        source.draw(DrawRequest(n_rows=20, band=EVERYTHING))
    assert adversary.views[-1].past == ()
