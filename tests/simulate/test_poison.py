"""What every attack on a table keeps to, whatever the kind of the table; and that it does harm."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from thresher.simulate import POISON_STRENGTHS, PoisonedTable, poison
from thresher.simulate.poisoning.attacks import ATTACKS
from thresher.simulate.poisoning.clean_table import (
    CleanTable,
    measure_columns,
    n_moved,
    scaled_norms,
    spread,
)
from thresher.simulate.poisoning.decoys import feasible_set
from thresher.simulate.poisoning.models import fit
from thresher.simulate.poisoning.patterns import decoy_columns, learned_pattern

N, D = 180, 8
FRACTION = 0.1
N_PLANTED = 20


def make_rows(n_rows=N, seed=0):
    """Columns as real tables have them: counts, flags, a long tail, a constant, and plain ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, D))
    X[:, 0] += 3 * rng.choice([-1.0, 1.0], size=n_rows)
    X[:, 1] = rng.poisson(0.3, size=n_rows)
    X[:, 2] = rng.integers(0, 2, size=n_rows)
    X[:, 3] = 1000 * np.exp(X[:, 3])
    X[:, 4] = 7.0
    return X, np.where(X[:, 0] + X[:, 1] + X[:, 5] > 0.3, "spam", "ham")


def as_pandas(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def as_polars(X):
    names = [f"c{j}" for j in range(X.shape[1])]
    return pytest.importorskip("polars").DataFrame(dict(zip(names, X.T)))


KINDS = {
    "array": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "whole": lambda X: np.round(X).astype(np.int64),
    "list": np.ndarray.tolist,
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "pandas": as_pandas,
    "polars": as_polars,
}
every_attack = pytest.mark.parametrize("attack", POISON_STRENGTHS)
every_planter = pytest.mark.parametrize(
    "attack", [name for name in ATTACKS if name != "label-flip"]
)
every_kind = pytest.mark.parametrize("kind", KINDS)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@cache  # many tests look at the same table
def poisoned(attack, kind="array", **changes):
    X, y = make_rows()
    options = {"attack": attack, "fraction": FRACTION, "random_state": 0, **changes}
    X = KINDS[kind](X)
    return X, y, poison(X, y, **options)


@every_attack
@every_kind
def test_the_result_is_of_the_kind_that_was_handed_over(attack, kind):
    X, _, table = poisoned(attack, kind)
    assert isinstance(table, PoisonedTable)
    assert type(table.X) is (np.ndarray if kind == "list" else type(X))
    for name in ("dtype", "format", "columns", "schema"):
        if hasattr(X, name):
            assert np.all(getattr(table.X, name) == getattr(X, name))
    if hasattr(X, "indices"):
        assert table.X.indices.dtype == X.indices.dtype
        assert table.X.indptr.dtype == X.indptr.dtype


@every_attack
@every_kind
def test_clean_rows_are_unchanged_once_the_order_is_undone(attack, kind):
    X, y, table = poisoned(attack, kind)
    is_clean = table.origins >= 0
    back = np.argsort(table.origins[is_clean])
    assert np.array_equal(np.sort(table.origins[is_clean]), np.arange(N))
    assert np.array_equal(dense(table.X)[is_clean][back], dense(X))
    is_same = np.asarray(table.y)[is_clean][back] == y
    assert is_same.sum() == (N - round(FRACTION * N) if attack == "label-flip" else N)


@every_planter
@every_kind
def test_planted_entries_keep_to_the_range_and_whole_numbers_of_their_column(attack, kind):
    X, _, table = poisoned(attack, kind)
    planted, X = dense(table.X)[table.is_planted], dense(X)
    assert (planted >= X.min(axis=0)).all() and (planted <= X.max(axis=0)).all()
    whole = (X % 1 == 0).all(axis=0)
    assert np.array_equal(planted[:, whole], np.floor(planted[:, whole]))


@every_planter
@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0])
def test_any_strength_keeps_to_the_ranges(attack, strength):
    X, _, table = poisoned(attack, strength=strength)
    assert np.array_equal(np.clip(table.X, X.min(axis=0), X.max(axis=0)), table.X)


@every_planter
@pytest.mark.parametrize(("fraction", "n_planted"), [(0.0, 0), (0.1, 20), (0.25, 60), (0.5, 180)])
def test_the_share_of_planted_rows_in_the_result_is_the_fraction(attack, fraction, n_planted):
    _, _, table = poisoned(attack, fraction=fraction)
    assert table.X.shape == (N + n_planted, D)
    assert table.y.shape == table.is_planted.shape == table.origins.shape == (N + n_planted,)
    assert table.is_planted.sum() == n_planted
    assert np.array_equal(table.is_planted, table.origins == -1)


@pytest.mark.parametrize("strength", POISON_STRENGTHS["label-flip"])
def test_flipping_marks_just_the_rows_whose_label_changed(strength):
    X, y, table = poisoned("label-flip", strength=strength)
    assert table.X.shape == X.shape and table.is_planted.sum() == round(FRACTION * N)
    assert np.array_equal(table.is_planted, table.y != y[table.origins])


def test_the_strongest_flips_are_far_from_the_boundary():
    _, _, table = poisoned("label-flip", strength=1.0)
    score = np.abs(table.X[:, 0])
    assert score[table.is_planted].mean() > score[~table.is_planted].mean()


@every_attack
def test_one_seed_gives_the_same_table_and_another_seed_another(attack):
    make = poisoned.__wrapped__  # the same table made again, not looked up
    first, second, other = (make(attack, random_state=seed)[2] for seed in (3, 3, 4))
    assert np.array_equal(first.X, second.X) and np.array_equal(first.y, second.y)
    assert np.array_equal(first.is_planted, second.is_planted)
    assert not np.array_equal(first.X, other.X)


@every_attack
def test_a_generator_is_as_good_as_a_seed(attack):
    _, _, by_seed = poisoned(attack, random_state=3)
    _, _, by_generator = poisoned(attack, random_state=np.random.default_rng(3))
    assert np.array_equal(by_seed.X, by_generator.X)


@every_attack
def test_what_was_handed_over_is_left_as_it_was(attack):
    X, y = make_rows()
    before = X.copy()
    X.flags.writeable = y.flags.writeable = False
    table = poison(X, y, attack=attack, fraction=FRACTION, random_state=0)
    assert table.X.flags.writeable and np.array_equal(X, before)


@every_attack
def test_a_sparse_table_is_poisoned_as_its_dense_twin(attack):
    _, _, from_dense = poisoned(attack)
    _, _, from_sparse = poisoned(attack, "csr_array")
    assert np.array_equal(from_dense.is_planted, from_sparse.is_planted)
    assert np.allclose(from_dense.X, from_sparse.X.toarray(), rtol=1e-3, atol=1e-3)


@every_attack
@pytest.mark.parametrize(
    "classes", [(0, 1), (-1.0, 1.0), (False, True), ("ham", "spam"), (np.int8(3), np.int8(9))]
)
def test_labels_of_any_two_classes_keep_their_type(attack, classes):
    X, y = make_rows()
    labels = np.where(y == "spam", classes[1], classes[0])
    table = poison(X, labels, attack=attack, fraction=FRACTION, random_state=0)
    assert table.y.dtype == labels.dtype and set(table.y.tolist()) == set(labels.tolist())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_of_labels_stays_one(library):
    series = pytest.importorskip(library).Series
    X, y = make_rows()
    table = poison(X, series(y.tolist()), attack="far-clump", fraction=FRACTION, random_state=0)
    plain = poison(X, y, attack="far-clump", fraction=FRACTION, random_state=0)
    assert isinstance(table.y, series) and table.y.to_list() == plain.y.tolist()


def test_a_frame_of_many_types_keeps_each():
    pandas = pytest.importorskip("pandas")
    X, y = make_rows()
    frame = pandas.DataFrame({0: X[:, 0], "n": X[:, 1].astype(np.int32), "flag": X[:, 2] > 0})
    frame["big"] = np.arange(N) + 2**53 + 1  # no float holds every one of these
    frame["gaps possible"] = pandas.array(X[:, 1].astype(int), dtype="Int64")
    frame.index = np.arange(N) + 500
    table = poison(frame, y, attack="far-clump", fraction=FRACTION, random_state=0)
    assert table.X.dtypes.equals(frame.dtypes)
    is_clean = ~table.is_planted
    assert np.array_equal(table.X["big"][is_clean], frame["big"].iloc[table.origins[is_clean]])


@every_attack
def test_two_columns_of_four_rows_can_be_poisoned(attack):
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 0, 1, 1]
    assert poison(X, y, attack=attack, fraction=0.5, random_state=0).is_planted.any()


@every_attack
def test_a_single_column_can_be_poisoned(attack):
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    assert poison(X, y, attack=attack, fraction=0.4, random_state=0).is_planted.any()


@every_attack
def test_a_constant_table_stays_constant(attack):
    X, y = np.ones((6, 3)), [0, 0, 0, 1, 1, 1]
    assert (poison(X, y, attack=attack, fraction=0.4, random_state=0).X == 1).all()


# Harm: text-like and plain tables on which an ordinary linear classifier is nearly perfect.


def text_table(n_rows=600, n_words=60, seed=0):
    """Word counts in CSR: of 60 words, 12 go with each class."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], size=n_rows)
    rates = np.full((n_rows, n_words), 0.03)
    rates[signs > 0, :12] = rates[signs < 0, 12:24] = 0.4
    return sp.csr_array(rng.poisson(rates).astype(float)), signs


def plain_table(n_rows=600, seed=0):
    """Twenty correlated columns of very different scales; five of them matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20)) + rng.normal(size=(n_rows, 1))
    signs = np.where(X[:, :3].sum(axis=1) - 1.5 * X[:, 3:5].sum(axis=1) > 0, 1, -1)
    return X * np.logspace(-3, 3, 20), signs


TABLES = {"text": text_table, "plain": plain_table}


@cache
def error_after(make_table, attack=None, strength=None):
    """The error of a linear support vector machine on clean rows, fitted after the attack."""
    X, y = make_table()
    X_test, y_test = make_table(seed=1)
    scale = measure_columns(X).scale
    if attack is not None:
        table = poison(X, y, attack=attack, fraction=0.15, strength=strength, random_state=0)
        X, y = table.X, table.y
    learner = LinearSVC(C=0.01, dual=False).fit(X @ sp.diags_array(1 / scale), y)
    return 1 - learner.score(X_test @ sp.diags_array(1 / scale), y_test)


# The others are made for what they do to active learning and to filters: test_trust_attacks.py.
@pytest.mark.parametrize(
    "attack",
    [
        "far-clump",
        "on-support-tilt",
        "linf-hijack",
        "model-targeted",
        "min-max",
        "duplicated-spam",
    ],
)
@pytest.mark.parametrize("name", TABLES)
def test_the_worst_strength_harms_a_linear_classifier_more_than_random_flips(attack, name):
    clean, control = error_after(TABLES[name]), error_after(TABLES[name], "label-flip")
    worst = max(error_after(TABLES[name], attack, c) for c in POISON_STRENGTHS[attack])
    assert clean < 0.05 and worst > clean + 0.05 and worst > control + 0.02


@every_planter
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_planted_texts_are_hardly_longer_than_clean_ones(attack, strength):
    X, y = text_table()
    table = poison(X, y, attack=attack, fraction=0.1, strength=strength, random_state=0)
    n_words = np.diff(table.X.indptr)
    assert n_words[table.is_planted].max() <= n_words[~table.is_planted].max() + 100
    assert table.X.nnz < 0.25 * np.prod(table.X.shape)


@pytest.mark.parametrize("attack", ["model-targeted", "min-max"])
@pytest.mark.parametrize("name", TABLES)
def test_decoy_attacks_stay_within_the_norms_of_the_class_they_claim(attack, name):
    X, y = TABLES[name]()
    table = poison(X, y, attack=attack, fraction=0.1, random_state=0)
    columns = measure_columns(X)
    for label in (-1, 1):
        radius = np.quantile(scaled_norms(X[y == label], columns), 0.99)
        planted = table.X[table.is_planted & (table.y == label)]
        assert (scaled_norms(planted, columns) <= radius * (1 + 1e-6)).all()


# The parts.


def test_sparse_and_dense_columns_measure_the_same():
    X, _ = make_rows()
    X[:, 6] = np.where(X[:, 6] > 1, X[:, 6], 0.0)
    sparse = sp.csr_array(X)
    dense_columns, sparse_columns = measure_columns(X), measure_columns(sparse)
    for name in ("center", "scale", "lowest", "highest", "is_whole"):
        assert np.allclose(getattr(dense_columns, name), getattr(sparse_columns, name))
    for measure in (scaled_norms, n_moved, spread):
        assert np.allclose(measure(X, dense_columns), measure(sparse, dense_columns))


def test_rounding_keeps_the_mean():
    # A count that should be 0.3 is 0 or 1: the mean of 10,000 has standard error 0.0046, and five
    # of them alarm falsely with probability 6e-7.
    columns = measure_columns(np.array([[0.0], [0.0], [0.0], [2.0]]))
    steps = np.full((10_000, 1), 0.3 / columns.scale[0])
    entries = columns.moved(np.zeros(1), steps, np.array([0]), np.random.default_rng(0))
    assert set(entries.ravel().tolist()) == {0.0, 1.0}
    assert abs(entries.mean() - 0.3) < 5 * np.sqrt(0.21 / 10_000)


def test_the_movement_across_leaves_the_score_alone():
    X, y = plain_table()
    table = CleanTable(rows=X[:, 2:4], signs=y.astype(float))
    weights, pattern = fit(table)[:-1], learned_pattern(table)
    assert pattern.features.size == 2 and np.linalg.norm(pattern.across) > 0.1
    assert abs(weights @ pattern.across) < 1e-9 * np.linalg.norm(weights)


def test_the_movement_along_raises_the_score_by_one_standard_deviation():
    X, y = plain_table()
    table = CleanTable(rows=X[:, 2:4], signs=y.astype(float))
    weights, pattern = fit(table)[:-1], learned_pattern(table)
    assert np.isclose(weights @ pattern.along, table.scores(weights).std())


def test_decoys_are_outside_the_support():
    X, y = text_table()
    table = CleanTable(rows=X, signs=y.astype(float))
    support = learned_pattern(table).features
    decoys, signs = decoy_columns(table, support)
    assert not np.intersect1d(decoys, support).size and np.isin(signs, [-1.0, 1.0]).all()
    assert set(range(24)) <= set(support.tolist())


def test_the_farthest_feasible_point_satisfies_the_optimality_conditions():
    X, y = plain_table()
    rng = np.random.default_rng(0)
    feasible = feasible_set(CleanTable(rows=X, signs=y.astype(float)), 1.0)
    lower, upper = feasible.columns.lower, feasible.columns.upper
    for _ in range(20):
        gain = rng.normal(size=20)
        z = feasible.farthest(gain)
        assert (z >= lower).all() and (z <= upper).all()
        assert np.isclose(np.linalg.norm(z), feasible.radius)
        inside = (z > lower) & (z < upper)
        ratios = z[inside] / gain[inside]
        assert np.allclose(ratios, ratios[0])
        assert (np.abs(z[~inside]) <= ratios[0] * np.abs(gain[~inside]) + 1e-9).all()


# Misuse.


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"attack": "tickle"}, ValueError, "attack must be one of far-clump.*got 'tickle'"),
        ({"attack": None}, ValueError, "attack must be one of"),
        ({"attack": ["far-clump"]}, ValueError, "attack must be one of"),
        ({"fraction": 1.0}, ValueError, "fraction must be at least 0 and below 1, got 1.0"),
        ({"fraction": -0.1}, ValueError, "fraction"),
        ({"fraction": "half"}, TypeError, "fraction"),
        ({"strength": -1.0}, ValueError, "strength must be at least 0, got -1"),
        ({"strength": np.nan}, ValueError, "strength must be finite"),
        ({"strength": "strong"}, TypeError, "strength must be a number"),
        (
            {"attack": "linf-hijack", "strength": 1.1},
            ValueError,
            "0 and at most 1, got 1.1",
        ),
        ({"target": object()}, ValueError, "'far-clump' takes no target; only 'trust-keeping'"),
        ({"random_state": "seed"}, TypeError, "random_state"),
        ({"random_state": -1}, ValueError, "random_state"),
        ({"random_state": True}, TypeError, "random_state must be an integer, .*, got True"),
        ({"fraction": 1e-6}, ValueError, r"fraction must be 0, or above 1/361 .*, got 1e-06"),
        ({"X": np.ones(3)}, ValueError, "X must have two dimensions"),
        ({"X": np.full((N, 2), np.nan)}, ValueError, "X must be finite"),
        ({"X": [["a", "b"]] * N}, TypeError, "X must hold"),
        ({"y": np.zeros(3)}, ValueError, "y must hold one label for each of 180 rows"),
        ({"y": np.zeros((N, 1))}, ValueError, "y must hold one label"),
        ({"y": np.zeros(N)}, ValueError, "y must hold exactly two classes, got 1: 0.0"),
        ({"y": np.arange(N)}, ValueError, "y must hold exactly two classes, got 180"),
        (
            {"y": [0.0] * (N - 1) + [np.nan]},
            ValueError,
            r"but y\[179\] is nan; drop unlabeled",
        ),
        (
            {"y": np.array(["a", None] * (N // 2))},
            ValueError,
            r"but y\[1\] is None; drop",
        ),
        ({"y": np.array(["a", 1] * (N // 2), dtype=object)}, TypeError, "labels of one type"),
    ],
)
def test_misuse_is_named(changes, error, message):
    X, y = make_rows()
    arguments = {"X": X, "y": y, "attack": "far-clump", "fraction": FRACTION, **changes}
    with pytest.raises(error, match=message):
        poison(**arguments)


def test_an_empty_frame_is_refused_as_empty():
    frame = pytest.importorskip("pandas").DataFrame()
    with pytest.raises(ValueError, match=r"X is empty, with shape \(0, 0\)"):
        poison(frame, [], attack="far-clump", fraction=FRACTION)


def test_a_frame_with_one_name_for_two_columns_is_refused():
    frame = pytest.importorskip("pandas").DataFrame(np.eye(2), columns=["a", "a"])
    with pytest.raises(ValueError, match="X must have distinct column names, got 'a' twice"):
        poison(frame, [0, 1], attack="far-clump", fraction=0.1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (["x"] * N, TypeError, r"X\['bad'\] must hold numbers, got objects: .*'x'"),
        (
            [1.0] * 7 + [None] * (N - 7),
            ValueError,
            r"X\['bad'\] must be finite, but .*\[7\]",
        ),
    ],
)
def test_a_column_without_numbers_is_named(library, bad, error, message):
    X, y = make_rows()
    frame = pytest.importorskip(library).DataFrame({"good": X[:, 0], "bad": bad})
    with pytest.raises(error, match=message):
        poison(frame, y, attack="far-clump", fraction=FRACTION)


@pytest.mark.parametrize("dtype", ["Int64", "string"])
def test_a_gap_in_a_series_of_labels_is_named(dtype):
    y = pytest.importorskip("pandas").Series(["1", None] + ["0"] * (N - 2), dtype=dtype)
    with pytest.raises(ValueError, match=r"y must hold a label for every row, but y\[1\] is"):
        poison(make_rows()[0], y, attack="far-clump", fraction=FRACTION)


def test_a_lazy_frame_has_to_be_collected():
    X, y = make_rows()
    frame = pytest.importorskip("polars").DataFrame(X)
    with pytest.raises(TypeError, match="collect the lazy frame first"):
        poison(frame.lazy(), y, attack="far-clump", fraction=FRACTION)


@pytest.mark.parametrize(("attack", "least"), [("label-flip", 2 * N), ("far-clump", 2 * N + 1)])
def test_the_smallest_fraction_that_reaches_a_row_is_told(attack, least):
    X, y = make_rows()
    above, below = 1.01 / least, 0.99 / least
    assert poison(X, y, attack=attack, fraction=above, random_state=0).is_planted.sum() == 1
    with pytest.raises(ValueError, match=rf"fraction must be 0, or above 1/{least} "):
        poison(X, y, attack=attack, fraction=below, random_state=0)


def test_every_attack_has_a_grid_that_it_accepts():
    for attack in ATTACKS.values():
        grid = attack.strengths
        assert [attack.check_strength(strength) for strength in grid] == sorted(set(grid))
        assert attack.check_strength(None) in grid


def test_numbers_whose_squares_overflow_are_refused() -> None:
    X = 1e160 * np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(ValueError, match=r"X must hold numbers of at most 1e\+140"):
        poison(X, X[:, 0] > 0, attack="far-clump", fraction=0.1, random_state=0)
