from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from thresher.estimators import shared_entries as module
from thresher.estimators.shared_entries import SharedEntries


def table(n_rows: int = 300) -> np.ndarray:
    """Counts of which the last rows are copies of the first 20, but for three entries."""
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.0, size=(n_rows, 30)) * rng.integers(1, 50, size=(n_rows, 30)).astype(
        float
    )
    copies = rows[:20].copy()
    copies[:, :3] = 7.0
    return np.vstack([rows, copies])


def pairs_of(rows: Any) -> dict[tuple[int, int], float]:
    everyone = np.ones(rows.shape[0], dtype=bool)
    blocks = SharedEntries.of(rows).pairs(everyone, everyone)
    return {(int(i), int(j)): s for one, two, shared in blocks for i, j, s in zip(one, two, shared)}


def test_a_row_shares_all_of_its_information_with_itself() -> None:
    entries, found = SharedEntries.of(table()), pairs_of(table())
    own = [found.get((i, i), 0.0) for i in range(320)]
    is_much = entries.information >= module.CHANCE * np.log(320)
    assert np.allclose(np.array(own)[is_much], entries.information[is_much])


def test_what_a_pair_shares_does_not_depend_on_their_order() -> None:
    found = pairs_of(table())
    assert all(np.isclose(found[j, i], shared) for (i, j), shared in found.items())


def test_a_changed_copy_shares_most_with_its_original() -> None:
    found, entries = pairs_of(table()), SharedEntries.of(table())
    shares = [found.get((i, 300 + i), 0.0) / entries.information[300 + i] for i in range(20)]
    assert np.median(shares) > 0.8


def test_the_information_in_an_entry_is_that_it_is_rare() -> None:
    rows = np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 7.0], [3.0, 8.0], *([[9.0, 9.0]] * 4)])
    entries = SharedEntries.of(rows)
    assert entries.information[:4] == pytest.approx(
        [np.log(4) + np.log(8)] * 2 + [2 * np.log(8)] * 2
    )
    assert (entries.information[4:] == 0).all()  # half of the rows have them
    assert (entries.held @ entries.held.T)[0, 1] == pytest.approx(np.log(4))


def test_zeros_of_sparse_rows_are_not_entries() -> None:
    rows = sp.csr_array(np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 6.0], [4.0, 5.0]] * 2))
    stored = rows.copy()
    stored.data[0] = 0.0
    assert SharedEntries.of(rows).held.nnz == rows.nnz
    assert SharedEntries.of(stored).held.nnz == rows.nnz - 1


def test_an_empty_table_has_no_information() -> None:
    assert SharedEntries.of(sp.csr_array((5, 3))).information.tolist() == [0.0] * 5


@pytest.mark.parametrize("block", [1, 7])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pairs_of(table())
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", block)
    assert pairs_of(table()) == whole


@pytest.mark.parametrize("name", ["MOST_PRODUCTS", "MOST_ENTRIES", "MOST_COLUMNS"])
def test_bounds_on_the_work_leave_entries_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = SharedEntries.of(table()).information.sum()
    monkeypatch.setattr(module, name, {"MOST_PRODUCTS": 1e3, "MOST_ENTRIES": 3000}.get(name, 10))
    assert 0 < SharedEntries.of(table()).information.sum() < before
