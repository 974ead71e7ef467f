"""Damaged files give a table or a typed error, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from table_files.written import WRITERS
from thresher.errors import ThresherError
from thresher.table_files import read_table

KINDS = [name for name in WRITERS if name not in ("T.CSV", "t.svmlight", "t.libsvm")]
# For each of 10 formats; every damage has its own seed.
N_DAMAGES = 32


def damaged(whole: bytes, seed: int) -> bytes:
    """The bytes with a few of them flipped, a piece cut out, doubled, or replaced by noise."""
    rng = np.random.default_rng(seed)
    content = bytearray(whole)
    start, stop = sorted(int(i) for i in rng.integers(0, len(content), size=2))
    match seed % 5:
        case 0:
            for place in rng.integers(0, len(content), size=int(rng.integers(1, 6))):
                content[place] = int(rng.integers(256))
        case 1:
            del content[start:stop]
        case 2:
            content[start:start] = content[start:stop]
        case 3:
            content[start:stop] = rng.bytes(stop - start)
        case _:
            content[start : start + 8] = b"\xff" * 8
    return bytes(content)


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_gives_a_finite_table_or_a_typed_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    n_refused = 0
    for seed in range(N_DAMAGES):
        path.write_bytes(damaged(whole, seed))
        try:
            table = read_table(path, one_hot=bool(seed % 2))
        except ThresherError as error:
            assert name in str(error) or "needs about" in str(error)
            n_refused += 1
        else:
            values = getattr(table.X, "data", table.X)
            assert np.isfinite(np.asarray(values)).all()
            assert table.X.shape == (table.n_rows, len(table.feature_names))
    assert n_refused > 0


def test_damage_is_real() -> None:
    whole = bytes(range(200))
    assert all(damaged(whole, seed) != whole for seed in range(N_DAMAGES))
