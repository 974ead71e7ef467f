"""The schedule of the paper, to the letter: for reading and checking formulas, not for running.

With Gaussian constants the loss tolerance is near 1e-29 and a phase needs more than 1e120 rows.
Counts are exact Python integers, so that they never turn into infinity.

Õ(f) is read as factor·f·ln f, as in the proof of Proposition 32, which asks for ζ·log ζ rows. A
logarithm below 1 is raised to 1 (a band wider than the number of features would make it negative).
Two conditions that the Õ of n_k hides have explicit constants, so n_k meets them as well:
n_k ≥ (6/ξ_k)·ln(48/δ_k) (Lemma 28) and n_k ≥ m_k (Section 3.2's n_k is chosen for it).

Where the paper slips, and what is done here:

- k0's logarithm is base 2, since the proof of Theorem 4 needs (π/c1)·2^(−k0−4) ≤ ε. It can come out
  at 0 or below (Gaussian, ε ≥ 1/16), and is then clamped to 1.
- z_k = √(b_k² + r_k²) is also written √(c̄² + 1)·2^(−k−3) (Proposition 31), which is false for
  k = 1, where r_1 = 1. The first form is used.
- "ξ_k ≥ c6 for all k" fails while b_k > 1/9 and for k = 1: c6 takes τ_k ∝ b_k and r_k ∝ 2^(−k−3).
  ξ_k keeps its formula; c6 does not bound it.
- c5 rests on c6, and on 2^k0 = π/(16·c1·ε) without the ceiling, which costs up to a factor 2.
  Lemma 28 needs 2η/(c8·b_k) ≤ ξ_k/2 for all k.
- C2 ≥ 2 is stated, but the proof of Lemma 16 gives C2 = 2(C̄2 + 1) ≥ 4.
- The proof of Proposition 31 bounds Σ_{T_C} p·ℓ by Σ_{T_C} ℓ and calls that ℓ(w; T_C), which is
  Σ_{T_C} ℓ/|T_C|: a factor 1/|T_C| is dropped. From p ≤ 1/((1−ξ)|T|) follows the bound
  ℓ(w; T_C)/(1−ξ), so the second inequality gains 2ξ·ℓ(w; T_C) ≤ 2ξ(1 + √(5·C2)·z/τ). ξ_k has room
  for it: √20/16·κ + κ²/4 ≤ κ.
- The proof that w* stays feasible bounds the disagreement of v_k and w* outside the band of
  w_{k−1} by the lemma on errors outside a band, which speaks of the band of one of the two vectors
  that disagree. Applied to the pairs v_k, w_{k−1} and w*, w_{k−1}, each at an angle of at most
  π·r_k, it gives 2π·r_k·c3·exp(−c4·c̄/(2π)), which is less than what the paper goes on with.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from thresher.learning.constants import PaperConstants
from thresher.learning.history import History
from thresher.learning.task import Cost, Phase, Task
from thresher.oracles import Draw
from thresher.validation import check_count, check_noise_rate, check_number

_SMALLEST_RADIUS = 1e-100  # the geometry refuses smaller ones: their squares would vanish
VARIANCE_TOLERANCE = 0.3  # of no consequence to the paper's form, which stops at max_variance
_SMALLEST_PROBABILITY = 1e-300  # divided by (k + 1)(k + 2), it is still a normal float


@dataclass(frozen=True, kw_only=True)
class TheorySchedule:
    """The paper's settings for every phase, with which its guarantee is proven.

    Parameters
    ----------
    sparsity : how many features the halfspace may use, at most `n_features` (s)
    n_features : how many features there are (d)
    target_error : the error rate to reach, in (0, 1) (ε)
    failure_probability : the chance of missing it, in (0, 1) (δ)
    noise_rate : the share of rows that an adversary owns, in [0, 1/2) (η)
    constants : the paper's absolute constants

    Raises
    ------
    TypeError, ValueError
        For a parameter outside its range, or one so small that a phase cannot be written in floats.

    Examples
    --------
    >>> schedule = TheorySchedule(sparsity=8, n_features=100, target_error=0.01)
    >>> schedule.n_phases
    3
    >>> [schedule.phase(k).l2_radius for k in (1, 2, 3)]
    [1.0, 0.03125, 0.015625]
    >>> schedule.phase(1).n_unlabeled > 10**120
    True
    """

    sparsity: int
    n_features: int
    target_error: float
    failure_probability: float = 0.05
    noise_rate: float = 0.0
    constants: PaperConstants = field(default_factory=PaperConstants.gaussian)

    def __post_init__(self) -> None:
        checks: dict[str, Callable[[object, str], float]] = {
            "n_features": check_count,
            "sparsity": check_count,
            "target_error": _check_probability,
            "failure_probability": _check_probability,
            "noise_rate": check_noise_rate,
        }
        for name, check in checks.items():
            object.__setattr__(self, name, check(getattr(self, name), name))
        if not isinstance(self.constants, PaperConstants):
            raise TypeError(f"constants must be PaperConstants, got {self.constants!r}")
        if self.n_features >= 2**63:  # no array is longer, and logarithms and roots stay floats
            raise ValueError(f"n_features must be below 2**63, got {self.n_features}")
        if self.sparsity > self.n_features:
            raise ValueError(
                f"sparsity must be at most n_features = {self.n_features}, got {self.sparsity}"
            )
        if 2.0 ** (-self.n_phases - 3) < _SMALLEST_RADIUS:
            raise ValueError(
                f"target_error = {self.target_error} asks for a search radius below "
                f"{_SMALLEST_RADIUS}; target_error must be larger"
            )

    @property
    def n_phases(self) -> int:
        """How many phases reach the target: k0 = ⌈log2(π/(16·c1·ε))⌉, at least 1 (line 1)."""
        # Two logarithms, since the product c1·ε may vanish.
        steps = math.log2(math.pi / self.constants.least_angle_per_error)
        return max(1, math.ceil(steps - math.log2(16 * self.target_error)))

    def phase(self, index: int) -> Phase:
        """What is asked of one phase, for an index from 1 to `n_phases` (Section 3.2).

        b = c̄·2^(−k−3),  τ = c0·κ·min{b, 1/9},  δ_k = δ/((k + 1)(k + 2)),
        r = 1 and ρ = √s for k = 1, then r = 2^(−k−3) and ρ = √(2s)·r,
        ξ = min{1/2, κ²/16·(1 + 4√C2·z/τ)⁻²} with z = √(b² + r²),
        ν = c9·ln(48·n·d/(b·δ_k)),  variance at most 2·C2·(b² + r²)  (lines 6 and 7).
        """
        k, constants = check_count(index, "index"), self.constants
        if k > self.n_phases:
            raise ValueError(f"index must be at most n_phases = {self.n_phases}, got {k}")
        r, rho = self._radii(k)
        b = constants.band_factor * 2.0 ** (-k - 3)
        tau = constants.density_floor * constants.loss_tolerance * min(b, 1 / 9)
        delta = self.failure_probability / ((k + 1) * (k + 2))
        xi = constants.outlier_fraction(spread=math.hypot(b, r), hinge_scale=tau)
        m = self._n_queries(b, delta)
        # The last one keeps the share of dirty rows below ξ (Lemma 28).
        n_for_pruning = _ceil_product(6, 1 / Fraction(xi), math.log(48 / delta))
        n = max(m, self._n_unlabeled(b, delta), n_for_pruning)
        nu = math.log(48 * n * self.n_features) - math.log(b) - math.log(delta)
        return Phase(
            index=k,
            band_width=b,
            l2_radius=r,
            l1_radius=rho,
            removal_l1_radius=rho,
            hinge_scale=tau,
            loss_tolerance=constants.loss_tolerance,
            outlier_fraction=xi,
            max_variance=2 * constants.variance_factor * (b**2 + r**2),
            variance_tolerance=VARIANCE_TOLERANCE,
            max_abs_entry=constants.entry_factor * nu,
            n_unlabeled=n,
            max_draws=self._n_draws(b, delta, n),
            n_queries=m,
            failure_probability=delta,
            label_aware=False,
            trimmed_share=0.0,
        )

    @property
    def reuse_labels(self) -> bool:
        """False: the paper fits each phase to its own labels alone."""
        return False

    def next_phase(self, task: Task, history: History) -> Phase | None:
        """The phases in their order; what happened in earlier ones changes nothing."""
        if (task.n_features, task.sparsity) != (self.n_features, self.sparsity):
            raise ValueError(
                f"the schedule was made for n_features = {self.n_features} and sparsity = "
                f"{self.sparsity}, but the task has {task.n_features} and {task.sparsity}"
            )
        index = len(history) + 1
        return self.phase(index) if index <= self.n_phases else None

    def after_draw(self, phase: Phase, drawn: Draw) -> Phase:  # noqa: ARG002
        """The phase as it was: the paper fixes everything beforehand."""
        return phase

    def cost(self) -> Cost:
        """What all phases together spend: N = Σ N_k draws and m = Σ m_k labels (Section 3.2)."""
        phases = [self.phase(k) for k in range(1, self.n_phases + 1)]
        return Cost(
            phases=self.n_phases,
            draws=sum(phase.max_draws for phase in phases),
            labels=sum(phase.n_queries or 0 for phase in phases),
        )

    def _radii(self, k: int) -> tuple[float, float]:
        if k == 1:
            return 1.0, math.sqrt(self.sparsity)
        r = 2.0 ** (-k - 3)
        return r, math.sqrt(2 * self.sparsity) * r

    def _n_unlabeled(self, b: float, delta: float) -> int:
        """n = Õ(s²·log⁴(d/b)·(log d + log³(1/δ)))."""
        s, d = self.sparsity, self.n_features
        logs = _log(d, 1 / b) ** 4 * (_log(d) + _log(1 / delta) ** 3)
        return _soft_order(self.constants.unlabeled_factor, s**2 * logs)

    def _n_draws(self, b: float, delta: float, n: int) -> int:
        """N = 8/(c8·b·(1 − η))·(n + ln(4/δ)), the explicit form in the proof of Lemma 26.

        So many draws very probably put n of them into the band.
        """
        wanted = n + Fraction(math.log(4 / delta))
        clean_mass = Fraction(self.constants.band_mass_factor) * Fraction(b)
        return math.ceil(8 * wanted / (clean_mass * (1 - Fraction(self.noise_rate))))

    def _n_queries(self, b: float, delta: float) -> int:
        """m = Õ(s·log²(d/(b·δ))·log(d/δ))."""
        s, d = self.sparsity, self.n_features
        logs = _log(d, 1 / b, 1 / delta) ** 2 * _log(d, 1 / delta)
        return _soft_order(self.constants.queries_factor, s * logs)


def _check_probability(value: object, name: str) -> float:
    """The value as a float in (0, 1), large enough to be divided by the number of phases."""
    probability = check_number(value, name)
    if not _SMALLEST_PROBABILITY <= probability < 1:
        raise ValueError(
            f"{name} must be at least {_SMALLEST_PROBABILITY} and below 1, got {probability}"
        )
    return probability


def _log(*factors: float) -> float:
    """The natural logarithm of a product that may overflow, at least 1."""
    return max(1.0, sum(math.log(factor) for factor in factors))


def _soft_order(hidden_factor: float, f: float) -> int:
    """Õ(f), read as factor·f·ln f and rounded up."""
    return _ceil_product(hidden_factor, f, _log(f))


def _ceil_product(*factors: float | Fraction) -> int:
    """The product rounded up, exactly: as floats it could overflow."""
    return math.ceil(math.prod(Fraction(factor) for factor in factors))
