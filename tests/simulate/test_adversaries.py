"""What every adversary keeps to: valid rows, from the view and the seed alone, in every phase."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from thresher.geometry import Band
from thresher.simulate import (
    ADVERSARIES,
    Adversary,
    Exponential,
    Gaussian,
    InBandMass,
    LabelFlip,
    Laplace,
    MovedIntoBand,
    StudentT,
    View,
    random_target,
)

D, S = 30, 4
OFF_SUPPORT = np.flatnonzero(random_target(D, S, 0) == 0)[0]


def make_view(phase=1, distribution=Gaussian, n_features=D, sparsity=S, **changes):
    """A view of phase 1, or of a later phase with a halfspace near the target."""
    target = random_target(n_features, sparsity, 0)
    near = target + 0.5 * random_target(n_features, sparsity, 1)
    later = {"halfspace": near / np.linalg.norm(near), "band_width": 0.2, "max_abs_entry": 9.0}
    first = {"halfspace": np.zeros(n_features), "band_width": np.inf, "max_abs_entry": np.inf}
    fields = {
        "target": target,
        "distribution": distribution(n_features),
        "noise_rate": 0.1,
        "n_features": n_features,
        "phase": phase,
        "phase_record": None,
    }
    return View(**{**fields, **(first if phase == 1 else later), **changes})


VIEWS = {
    "phase 1": make_view(),
    "later phase": make_view(phase=3),
    "skewed": make_view(phase=2, distribution=Exponential),
    "heavy-tailed": make_view(distribution=StudentT),
    "one feature matters": make_view(phase=2, sparsity=1),
    "every feature matters": make_view(phase=2, n_features=6, sparsity=6),
    "the learner is right": make_view(phase=2, halfspace=random_target(D, S, 0)),
    "the learner is off the support": make_view(phase=2, halfspace=np.eye(D)[OFF_SUPPORT]),
}
NOT_MOVED = [name for name in ADVERSARIES if not name.endswith("in-band")]
MADE = {name: make() for name, make in ADVERSARIES.items()}
WITH_STRENGTH = [
    name for name, made in MADE.items() if hasattr(getattr(made, "adversary", made), "strength")
]
every_adversary = pytest.mark.parametrize("name", ADVERSARIES)
every_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


@every_adversary
@every_view
def test_rows_are_finite_and_labels_are_signs(name, view):
    X, y = ADVERSARIES[name]().corrupt(50, view, np.random.default_rng(0))
    assert X.shape == (50, view.n_features) and y.shape == (50,)
    assert np.isfinite(X).all() and np.isin(y, [-1.0, 1.0]).all()


@every_adversary
@every_view
def test_one_seed_gives_the_same_rows(name, view):
    first, second = (
        ADVERSARIES[name]().corrupt(20, view, np.random.default_rng(4)) for _ in range(2)
    )
    assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])


@every_adversary
def test_a_view_is_all_an_adversary_needs_and_it_leaves_it_as_it_was(name):
    view = VIEWS["later phase"]
    bare = SimpleNamespace(**{field: getattr(view, field) for field in View.__dataclass_fields__})
    bare.target, bare.halfspace = view.target.copy(), view.halfspace.copy()
    bare.target.flags.writeable = bare.halfspace.flags.writeable = False
    X, y = ADVERSARIES[name]().corrupt(20, bare, np.random.default_rng(4))
    same_X, same_y = ADVERSARIES[name]().corrupt(20, view, np.random.default_rng(4))
    assert np.array_equal(X, same_X) and np.array_equal(y, same_y)


@every_adversary
def test_no_rows_can_be_asked_for(name):
    X, y = ADVERSARIES[name]().corrupt(0, VIEWS["later phase"], np.random.default_rng(0))
    assert X.shape == (0, D) and y.shape == (0,)


@every_adversary
def test_an_adversary_says_what_it_is(name):
    adversary = ADVERSARIES[name]()
    assert isinstance(adversary, Adversary)
    assert repr(adversary).startswith(type(adversary).__name__)
    assert adversary == ADVERSARIES[name]()


@every_adversary
@pytest.mark.parametrize("distribution", [Gaussian, Laplace])
def test_rows_moved_into_the_band_lie_in_it(name, distribution):
    view = make_view(phase=2, distribution=distribution)
    X, _ = MovedIntoBand(ADVERSARIES[name]()).corrupt(200, view, np.random.default_rng(0))
    assert Band(normal=view.halfspace, width=view.band_width).admits(X).all()


@pytest.mark.parametrize("name", NOT_MOVED)
def test_moving_changes_only_the_component_along_the_halfspace(name):
    view, adversary = VIEWS["later phase"], ADVERSARIES[name]()
    X, y = adversary.corrupt(40, view, np.random.default_rng(7))
    moved, same_y = MovedIntoBand(adversary).corrupt(40, view, np.random.default_rng(7))
    along = (moved - X) @ view.halfspace
    assert np.allclose(moved - X, np.outer(along, view.halfspace), atol=1e-12)
    assert np.array_equal(y, same_y)


@every_adversary
def test_in_phase_one_there_is_no_band_to_move_into(name):
    adversary, view = ADVERSARIES[name](), VIEWS["phase 1"]
    X, _ = adversary.corrupt(40, view, np.random.default_rng(7))
    moved, _ = MovedIntoBand(adversary).corrupt(40, view, np.random.default_rng(7))
    assert np.array_equal(X, moved)


def test_moved_rows_fill_the_band_evenly():
    # The mean of 4,000 uniform draws in ±b has standard error b/√12,000; five of them alarm
    # falsely with probability 6e-7. So do the mean squares, b²/3 with error b²·√(4/45/4,000).
    view = VIEWS["later phase"]
    X, _ = MovedIntoBand(LabelFlip()).corrupt(4000, view, np.random.default_rng(1))
    t = X @ view.halfspace / view.band_width
    assert abs(t.mean()) < 5 / np.sqrt(12_000)
    assert abs(np.mean(t**2) - 1 / 3) < 5 * np.sqrt(4 / 45 / 4000)


def test_moving_copies_rows_that_may_not_be_written():
    class Frozen:
        def corrupt(self, n_rows, view, _rng):
            X = np.ones((n_rows, view.n_features))
            X.flags.writeable = False
            return X, np.ones(n_rows)

    X, _ = MovedIntoBand(Frozen()).corrupt(3, VIEWS["later phase"], np.random.default_rng(0))
    assert not np.array_equal(X, np.ones_like(X))


@pytest.mark.parametrize("bad", [None, "tilt", LabelFlip, 3])
def test_only_an_adversary_can_be_moved(bad):
    with pytest.raises(TypeError, match="adversary"):
        MovedIntoBand(bad)


@pytest.mark.parametrize("name", WITH_STRENGTH)
def test_options_reach_the_adversary_through_its_name(name):
    usual, changed = ADVERSARIES[name](), ADVERSARIES[name](strength=0.5)
    if isinstance(changed, MovedIntoBand):
        usual, changed = usual.adversary, changed.adversary
    assert changed == replace(usual, strength=0.5)


@pytest.mark.parametrize("name", WITH_STRENGTH)
@pytest.mark.parametrize("strength", [0, -1.0, np.nan, np.inf, "strong"])
def test_a_strength_that_is_no_positive_number_is_refused(name, strength):
    with pytest.raises((TypeError, ValueError), match="strength"):
        ADVERSARIES[name](strength=strength)


def test_a_late_starter_is_clean_before_its_phase():
    early, late = make_view(phase=2), make_view(phase=3)
    adversary = InBandMass(from_phase=3)
    X, y = adversary.corrupt(100, early, np.random.default_rng(0))
    assert np.array_equal(y, np.where(X @ early.target >= 0, 1.0, -1.0))
    X, y = adversary.corrupt(100, late, np.random.default_rng(0))
    assert np.abs(X @ late.halfspace).max() <= late.band_width
