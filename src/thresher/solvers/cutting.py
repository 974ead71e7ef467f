"""The search for row weights that leave little variance in every sparse direction.

A direction v of large weighted variance is found, the weights are balanced against all directions
found so far (the cuts), and the next direction is sought. Nothing here is proven.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher.arrays import (
    as_doubles,
    is_foreign,
    like,
    namespace_of,
    rough,
    row_dots,
    take,
    to_host,
)
from thresher.solvers.ascent import ascend, column_starts, distinct
from thresher.solvers.eigen import Floats
from thresher.solvers.moment import SecondMoment, single_precision_error
from thresher.solvers.scaling import ScaledRows
from thresher.solvers.screening import Screen
from thresher.solvers.threads import one_blas_thread
from thresher.solvers.thresholding import RITZ_DOUBT, ClipBound, best_clip
from thresher.solvers.weights import Balance, balance, balance_to
from thresher.validation import FloatArray, is_sparse

N_COLUMN_STARTS, N_CUT_STARTS = 32, 4  # heuristic: where each round looks for its next directions
AIM = 0.92  # of a limit: what the weights are balanced to at first


class CutSearch:
    """The cutting loop, on rows of ordinary scale and directions of l2 radius 1.

    Parameters
    ----------
    scaled, screen : the rows, and which of their columns are left
    l1_radius : ρ of the directions
    limit : the variance to reach, or None for the least
    gap : relative gap between variance and optimum at which no better weights are sought
    weights : of the rows, to begin with; ones if not given

    Attributes
    ----------
    moment : the second moment under the current weights
    direction, variance : the direction of largest variance found, and that variance
    cuts, mixture, optimum : the directions so far, and the mixture of them that bounds what any
        admissible weights can reach
    n_rounds : how often the weights were balanced
    """

    def __init__(
        self,
        scaled: ScaledRows,
        screen: Screen,
        l1_radius: float,
        limit: float | None,
        gap: float,
        weights: FloatArray | None = None,
    ) -> None:
        self.scaled, self.screen, self.l1_radius, self.limit = scaled, screen, l1_radius, limit
        self.gap = gap
        single = l1_radius**2 * single_precision_error(scaled.rows) <= gap / 10
        self.moment = SecondMoment(
            scaled.rows, weights, n_rows=scaled.n_rows, single_precision=single
        )
        d = scaled.rows.shape[1]
        self.cuts = np.zeros((0, d))
        self.scores: Floats = self.moment.squared_projections(self.cuts)
        self.mixture, self.optimum = np.zeros(0), 0.0
        self.n_rounds = 0
        self.best: tuple[float, FloatArray] = np.inf, self.moment.weights
        # Proofs are looser than the truth, so the weights aim below the limit.
        self.target = None if limit is None else AIM * limit
        self._look()

    def run(self, max_rounds: int, after_round: Callable[[], object] = lambda: None) -> None:
        """Balance until the search is over or the rounds are, and keep the best weights."""
        while not self.is_over() and self.n_rounds < max_rounds:
            self.balance()
            after_round()
        self.settle()

    # -- one round ---------------------------------------------------------------------------

    @one_blas_thread()
    def _look(self) -> None:
        """Find directions of large variance under the current weights."""
        single = rough(self.moment.gram)  # on a CPU looking costs half, and proves nothing
        again = self._standing(single)
        values, found = self._climb_many(single, again)
        self._climb_from(found[:1])
        if len(found) < N_COLUMN_STARTS // 2:
            # A few strong directions drew every start: look once more where they are not.
            used = (np.abs(found) > 0.1 * np.abs(found).max(axis=1, keepdims=True)).any(axis=0)
            elsewhere = self._climb_many(_without(single, used), again[:0])
            values = np.concatenate([values, elsewhere[0]])
            found = np.concatenate([found, elsewhere[1]])
        self.found = found[values > (1 + self.gap / 2) * self.optimum]

    def _rough_products(self, single: Any) -> Callable[[FloatArray], Floats]:
        """Products with the matrix, without the columns that were blanked out in `single`."""
        if self.moment.is_thin:
            visible = single.diagonal() > 0
            return lambda directions: self.moment.multiply(directions) * visible
        return lambda directions: rough(directions) @ single

    def _standing(self, single: Any) -> FloatArray:
        """The cuts that are worst under the current weights."""
        cuts = like(self.cuts, self.moment.gram)
        values = to_host(row_dots(self._rough_products(single)(cuts), cuts))
        return self.cuts[np.argsort(-values, kind="stable")[:N_CUT_STARTS]]

    def _climb_many(self, single: Any, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distinct directions reached from these starts and from promising columns, roughly."""
        products = self._rough_products(single)

        def multiply(directions: FloatArray) -> FloatArray:
            return as_doubles(products(directions))

        columns = column_starts(single, N_COLUMN_STARTS)
        starts = namespace_of(columns).concat([columns, like(starts, columns)])
        values, found = ascend(multiply, starts, self.l1_radius, precision=1e-2)
        chosen = distinct(found)
        return values[chosen], to_host(take(found, np.array(chosen)))

    def _climb_from(self, starts: FloatArray) -> None:
        def multiply(directions: FloatArray) -> FloatArray:
            """Where the matrix is; what is done with one direction is faster on the host."""
            return to_host(self.moment.multiply(like(directions, self.moment.gram)))

        values, directions = ascend(multiply, starts, self.l1_radius)
        self.variance, self.direction = float(values[0]), directions[0]
        self.clip: ClipBound | None = None
        if self.variance < self.best[0]:
            self.best = self.variance, self.moment.weights

    def balance(self) -> None:
        """Cut off the directions found, and move to the weights that balance all cuts."""
        self.moment.reweight(self.cut().weights)
        self.n_rounds += 1
        self._look()

    def cut(self, *others: FloatArray) -> Balance:
        """Cut off the directions found, and these; the weights that balance all cuts so far."""
        directions = np.concatenate([self.direction[None], self.found, *others])
        directions = directions[distinct(directions, max_cosine=0.98)]
        self.cuts = np.concatenate([self.cuts, directions])
        new_scores = self.moment.squared_projections(directions)
        self.scores = namespace_of(new_scores).concat([self.scores, new_scores], axis=1)
        answer = self._balanced()
        if answer.bound > self.optimum:
            self.optimum, self.mixture = answer.bound, answer.mixture
        return answer

    @one_blas_thread()
    def _balanced(self) -> Balance:
        game = (self.scores, self.scaled.required, self.scaled.n_rows)
        answer = balance(*game, precision=self.gap / 10)
        if self.target is not None and answer.value < self.target:
            return balance_to(*game, target=self.target, answer=answer)
        return answer

    # -- when to stop ------------------------------------------------------------------------

    def is_over(self) -> bool:
        """Whether the status is settled, or no better weights are to be expected."""
        if self.limit is not None:
            if self.optimum > self.limit:
                return True
            if self.variance <= self.limit:
                upper = self.clipped().value
                if upper * (1 + RITZ_DOUBT) <= self.limit:
                    return True
                self.target = min(self.target or np.inf, 0.97 * self.limit * self.variance / upper)
        return self._is_tight() and self._still_tight_from_eigenvector()

    def _is_tight(self) -> bool:
        return self.variance <= (1 + self.gap) * self.optimum

    def _still_tight_from_eigenvector(self) -> bool:
        """One more start, from the eigenvector behind the upper bound, before stopping."""
        clip = self.clipped()
        before, direction = self.variance, self.direction
        self._climb_from(clip.eigenvector[None])
        if self.variance < before:
            self.variance, self.direction = before, direction
        self.clip = clip
        return self._is_tight()

    def clipped(self) -> ClipBound:
        """The clipped matrix of the current weights, and the bound on their variance."""
        if self.clip is None:
            if self.l1_radius**2 * self.moment.error > self.gap / 10 * self.variance:
                self.moment.refresh()
            good_enough = 0.0 if self.limit is None else self.limit / (1 + RITZ_DOUBT)
            with one_blas_thread():  # threads that wait for each other cost more than they gain
                self.clip = best_clip(
                    self.moment.gram, self.l1_radius, good_enough=good_enough, rest=self.screen.rest
                )
        return self.clip

    def settle(self) -> None:
        """Go back to the best weights seen, if the last ones are worse and settle nothing."""
        variance, weights = self.best
        if self.limit is None and not self._is_tight() and variance < self.variance:
            self.moment.reweight(weights)
            self._look()


def _without(single: Any, used: NDArray[np.bool_]) -> Any:
    """The matrix with zeros in these rows and columns; a dense one is changed itself."""
    if is_sparse(single):
        rest = sp.diags_array((~used).astype(single.dtype), format="csr")
        return rest @ single @ rest
    if is_foreign(single):
        rest = like((~used).astype(np.float64), single)
        return single * rest[:, None] * rest[None, :]
    single[used], single[:, used] = 0, 0
    return single
