"""The semidefinite program of the worst direction in the two forms that SCS can be given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scs

from thresher.validation import FloatArray

EPS = 1e-4  # absolute and relative accuracy asked of SCS
MAX_ITERATIONS = 100_000


class ConeProgram:
    """SCS on max⟨gram, H⟩ over H ⪰ 0, tr H ≤ r², Σ|H_ij| ≤ ρ²; of this, `solve` is timed."""

    def __init__(self, data: dict[str, Any], cone: dict[str, Any], sign: float) -> None:
        self._data, self._cone, self._sign = data, cone, sign
        self._prepared: list[Any] = []
        self.value, self.status = float("nan"), "not solved"

    def prepare(self, n_solves: int) -> None:
        """Set up as many solvers: one that has solved before keeps its scaling, and is faster."""
        settings = {"eps_abs": EPS, "eps_rel": EPS, "max_iters": MAX_ITERATIONS, "verbose": False}
        self._prepared = [scs.SCS(self._data, self._cone, **settings) for _ in range(n_solves)]

    def solve(self) -> None:
        """Solve with a prepared solver, and keep the value and SCS's status."""
        info = self._prepared.pop().solve()["info"]
        self.value, self.status = self._sign * float(info["pobj"]), str(info["status"])


def as_stated(gram: FloatArray, l2_radius: float, l1_radius: float) -> ConeProgram:
    """The program as it stands: H in the semidefinite cone, each |H_ij| below its own variable."""
    entries = _Entries(gram)
    n, eye = entries.n, sp.identity(entries.n)
    unscale = sp.diags(1 / entries.scale)
    nothing = sp.csr_matrix((n, n))
    trace = sp.csr_matrix(np.concatenate([entries.on_diagonal, np.zeros(n)])[None])
    total = sp.csr_matrix(np.concatenate([np.zeros(n), entries.scale**2])[None])
    rows = [
        trace,
        total,
        sp.hstack([unscale, -eye]),
        sp.hstack([-unscale, -eye]),
        sp.hstack([-eye, nothing]),
    ]
    data = {
        "A": sp.csc_matrix(sp.vstack(rows)),
        "b": np.concatenate([[l2_radius**2, l1_radius**2], np.zeros(3 * n)]),
        "c": np.concatenate([-entries.vector, np.zeros(n)]),
    }
    return ConeProgram(data, {"l": 2 + 2 * n, "s": [gram.shape[0]]}, -1.0)


def as_dual(gram: FloatArray, l2_radius: float, l1_radius: float) -> ConeProgram:
    """Its dual, min r²λ + ρ²t over λI − A + U ⪰ 0, |U_ij| ≤ t: smaller, by SCS's box cone."""
    entries = _Entries(gram)
    n = entries.n
    unscale, column = sp.diags(1 / entries.scale), sp.csr_matrix((n, 1))
    diagonal = sp.csr_matrix(entries.on_diagonal[:, None])
    rows = [
        sp.csr_matrix(([-1.0], ([0], [0])), shape=(1, n + 2)),
        sp.csr_matrix(([-1.0], ([0], [1])), shape=(1, n + 2)),
        sp.hstack([column, column, -unscale]),
        sp.hstack([-diagonal, column, -sp.identity(n)]),
    ]
    data = {
        "A": sp.csc_matrix(sp.vstack(rows)),
        "b": np.concatenate([np.zeros(2 + n), -entries.vector]),
        "c": np.concatenate([[l2_radius**2, l1_radius**2], np.zeros(n)]),
    }
    cone = {"l": 1, "bu": np.ones(n), "bl": -np.ones(n), "s": [gram.shape[0]]}
    return ConeProgram(data, cone, 1.0)


class _Entries:
    """SCS's vector of a symmetric matrix: its lower triangle by columns, off-diagonal times √2."""

    def __init__(self, gram: FloatArray) -> None:
        column, row = np.triu_indices(gram.shape[0])
        self.n = row.size
        self.on_diagonal = np.where(row == column, 1.0, 0.0)
        self.scale = np.where(row == column, 1.0, np.sqrt(2.0))
        self.vector: FloatArray = gram[row, column] * self.scale
