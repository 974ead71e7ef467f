"""What the attacks that copy rows, or aim at trust, are made of and what they do to a filter."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from thresher import HalfspaceClassifier
from thresher.simulate import PoisonedTable, poison
from thresher.simulate.poisoning.clean_table import CleanTable
from thresher.simulate.poisoning.models import fit
from thresher.simulate.poisoning.trust_keeping import filter_of_classifier, plain_filter, push

FRACTION = 0.1


@cache
def clean_table(n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns; the positive class is 30 % of the rows and lies 2.5 out in three of them."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n_rows) < 0.3 * n_rows, 1, -1)
    X = rng.normal(size=(n_rows, 10))
    X[y > 0, :3] += 2.5
    return X, y


@cache
def poisoned(attack: str, strength: float | None = None, fraction: float = FRACTION):
    X, y = clean_table()
    return poison(X, y, attack=attack, fraction=fraction, strength=strength, random_state=0)


def is_copied(table: PoisonedTable) -> bool:
    """Whether every planted row is a clean row with the other label."""
    X, y = clean_table()
    clean = {(*row, -label) for row, label in zip(X.tolist(), y.tolist())}
    planted = table.X[table.is_planted].tolist(), table.y[table.is_planted].tolist()
    return all((*row, label) in clean for row, label in zip(*planted))


@pytest.mark.parametrize("attack", ["boundary-flip", "duplicated-spam"])
def test_these_attacks_plant_clean_rows_with_the_other_label(attack: str) -> None:
    assert is_copied(poisoned(attack))
    assert not is_copied(poisoned("far-clump"))


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_boundary_flips_are_the_closest_rows_on_their_own_side(strength: float) -> None:
    X, y = clean_table()
    table = CleanTable(rows=X, signs=y.astype(float))
    margins = table.margins(fit(table))
    found = poisoned("boundary-flip", strength)
    rows = [np.flatnonzero((row == X).all(axis=1))[0] for row in found.X[found.is_planted]]
    for sign in set(y[rows]):
        own = np.sort(margins[[row for row in rows if y[row] == sign]])
        closest = np.sort(margins[(y == sign) & (margins > 0)])
        assert np.allclose(own, closest[: own.size])


@pytest.mark.parametrize(("strength", "share"), [(0.0, 0.3), (0.5, 0.65), (1.0, 1.0)])
def test_boundary_flips_come_more_and_more_from_the_smaller_class(strength, share) -> None:
    table = poisoned("boundary-flip", strength)
    assert np.mean(table.y[table.is_planted] < 0) == pytest.approx(share, abs=0.02)


def test_flips_of_one_class_raise_its_errors_more_than_flips_of_both() -> None:
    X, y = clean_table()

    def missed(strength: float) -> float:
        found = poisoned("boundary-flip", strength, 0.2)
        model = fit(CleanTable(rows=found.X, signs=found.y.astype(float)))
        margins = CleanTable(rows=X, signs=y.astype(float)).margins(model)
        return float(np.mean(margins[y > 0] < 0))

    assert missed(1.0) > missed(0.0) + 0.05


@pytest.mark.parametrize("attack", ["jittered-flip", "query-following"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_jittered_rows_are_mixtures_of_clean_ones_but_none_of_them(attack: str, kind) -> None:
    X, y = clean_table()
    found = poison(kind(X), y, attack=attack, fraction=FRACTION, random_state=0)
    rows = found.X.toarray() if sp.issparse(found.X) else found.X
    planted = rows[found.is_planted]
    assert all(np.isin(planted[:, j], X[:, j]).all() for j in range(X.shape[1]))
    is_copy = np.array([(row == X).all(axis=1).any() for row in planted])
    assert not is_copy.any()


def test_the_query_follower_plants_near_the_boundaries_of_a_learner() -> None:
    X, y = clean_table()
    margins = CleanTable(rows=X, signs=y.astype(float))
    distance = np.abs(margins.margins(fit(margins)))
    found = poisoned("query-following")
    closest = [np.abs(X - row).sum(axis=1).argmin() for row in found.X[found.is_planted]]
    assert np.median(distance[closest]) < 0.7 * np.median(distance)
    assert np.mean(y[closest] == -found.y[found.is_planted]) > 0.9


@pytest.mark.parametrize(("strength", "n_distinct"), [(0.0, 44), (1.0, 44), (11.0, 4), (1e9, 1)])
def test_spam_is_copied_as_often_as_its_strength_says(strength: float, n_distinct: int) -> None:
    table = poisoned("duplicated-spam", strength)
    planted = table.X[table.is_planted]
    counts = np.unique(planted, axis=0, return_counts=True)[1]
    assert counts.sum() == 44
    if strength > 1:
        assert counts.size <= n_distinct and counts.max() >= 44 // n_distinct


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("strength", "share"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_erasing_rows_are_set_to_medians_in_some_entries(make, strength, share) -> None:
    X, y = clean_table()
    X = X.copy()
    X[:, 5] = np.where(X[:, 5] > 1, X[:, 5], 0.0)  # mostly zero: its median is stored nowhere
    options = {"attack": "minority-erasure", "fraction": FRACTION, "strength": strength}
    table = poison(make(X), y, **options, random_state=0)
    planted = (table.X.toarray() if sp.issparse(table.X) else table.X)[table.is_planted]
    is_median = planted[:, :5] == np.median(X, axis=0)[:5]
    assert np.mean(is_median) == pytest.approx(share, abs=0.1)  # five standard errors: 0.17
    assert set(table.y[table.is_planted]) == {1}


def test_erasure_makes_genuine_rows_of_the_smaller_class_stand_out_from_it() -> None:
    X, y = clean_table()
    table = poisoned("minority-erasure", 1.0)
    own, is_planted = table.X[table.y > 0], table.is_planted[table.y > 0]
    lengths = np.linalg.norm(own - np.median(own, axis=0), axis=1)
    before = np.linalg.norm(X[y > 0] - np.median(X[y > 0], axis=0), axis=1)
    assert lengths[is_planted].max() < lengths[~is_planted].mean() - 0.3
    assert lengths[~is_planted].mean() > before.mean() + 0.1


class LossFilter:
    """Trusts rows that are not too far on the wrong side of a model of the first 400 rows."""

    row_weights_: np.ndarray

    def fit(self, rows: np.ndarray, signs: np.ndarray) -> None:
        table = CleanTable(rows=rows[:400], signs=signs[:400])
        self.row_weights_ = (push(table, rows, signs, fit(table)) < 5).astype(float)


def test_rows_that_push_learn_to_keep_their_trust() -> None:
    X, y = clean_table()
    table, model = CleanTable(rows=X, signs=y.astype(float)), LossFilter()
    options = {"fraction": FRACTION, "strength": 4.0, "random_state": 0}
    aimed = poison(X, y, attack="trust-keeping", target=model, **options)
    clump = poison(X, y, attack="far-clump", **options)
    pushes = {}
    for name, found in (("aimed", aimed), ("clump", clump)):
        rows, signs = found.X[found.is_planted], found.y[found.is_planted]
        pushes[name] = push(table, rows, signs, fit(table))
    assert not hasattr(model, "row_weights_")  # a copy was fitted
    assert np.mean(pushes["clump"] < 5) < 0.1 and np.mean(pushes["aimed"] < 5) > 0.8
    assert pushes["aimed"].mean() > 2  # they still are far on the wrong side


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_trust_of_a_classifier_is_its_row_weights(make) -> None:
    X, y = make(clean_table()[0][::4]), clean_table()[1][::4].astype(float)
    model = HalfspaceClassifier(3, FRACTION, random_state=0)
    found = filter_of_classifier(model)(CleanTable(rows=X, signs=y), 10)
    assert np.array_equal(found, model.fit(X, y).row_weights_)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_plain_filter_finds_rows_that_are_far_out_or_wrongly_labeled(make) -> None:
    X, y = clean_table()
    X = np.vstack([X, 10 * X[:5], X[300:305]])  # five far out, five of the other class
    signs = np.append(y, [1.0] * 10).astype(float)
    trust = plain_filter(CleanTable(rows=make(X), signs=signs), 10)
    assert trust[400:].sum() <= 1 and trust.sum() >= 390


def test_no_row_is_moved_with_strength_zero() -> None:
    assert is_copied(poisoned("trust-keeping", 0.0))
    assert not is_copied(poisoned("trust-keeping", 1.0))
