"""The constants that the paper reserves (its Appendix A), named by what they do."""

import math
from dataclasses import dataclass, fields
from typing import Self

from thresher.validation import check_radius


def smallest_band_factor(
    *, most_angle_per_error: float, outside_factor: float, outside_decay: float
) -> float:
    """The smallest ratio of band width to radius with which the paper's proof goes through.

    The least c̄ ≥ 8π/c4 with g(c̄) ≤ 2⁻⁸π, for the decreasing
    g(t) = c2·(2t·exp(−t) + (c3·π/4)·exp(−c4·t/(4π)) + 16·exp(−t))  (Section 3.2),
    where the parameters are c2, c3 and c4, in this order.

    Examples
    --------
    >>> c_bar = smallest_band_factor(
    ...     most_angle_per_error=math.pi, outside_factor=1.0, outside_decay=1.0
    ... )
    >>> round(c_bar, 2)
    66.65
    """
    c2 = check_radius(most_angle_per_error, "most_angle_per_error")
    c3 = check_radius(outside_factor, "outside_factor")
    c4 = check_radius(outside_decay, "outside_decay")

    def admissible(t: float) -> bool:
        outside = c3 * math.pi / 4 * math.exp(-c4 * t / (4 * math.pi))
        return c2 * (2 * t * math.exp(-t) + outside + 16 * math.exp(-t)) <= math.pi / 256

    low = high = 8 * math.pi / c4
    while not admissible(high):
        low, high = high, 2 * high
    for _ in range(100):  # halves the bracket down to neighboring floats
        middle = (low + high) / 2
        low, high = (low, middle) if admissible(middle) else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class PaperConstants:
    """The numbers that the paper leaves to the family of distributions, and what follows from them.

    Parameters
    ----------
    density_floor : least density of a one-dimensional projection on [−1/9, 1/9]; c0, Lemma 12
    least_angle_per_error : an error e means an angle of at least this times e; c1, Lemma 12
    most_angle_per_error : an error e means an angle of at most this times e; c2, Lemma 12
    outside_factor : scale of the error outside a band; c3, Lemma 13
    outside_decay : how fast the error outside a band falls with its width; c4, Lemma 13
    band_factor : ratio of band width to radius; c̄, Section 3.2
    variance_factor : the variance in a band is at most this times (b² + r²); C2, Lemma 16
    entry_factor : growth of the largest entry with the logarithm of the number of entries; c9,
        Lemma 18 (c7 of Lemma 14 enters through it only)
    unlabeled_factor : the factor hidden in the Õ of n_k, Section 3.2
    queries_factor : the factor hidden in the Õ of m_k, Section 3.2

    Examples
    --------
    >>> constants = PaperConstants.gaussian()
    >>> f"{constants.loss_tolerance:.0e}", f"{constants.noise_per_error:.0e}"
    ('1e-29', '2e-120')
    """

    density_floor: float
    least_angle_per_error: float
    most_angle_per_error: float
    outside_factor: float
    outside_decay: float
    band_factor: float
    variance_factor: float
    entry_factor: float = 1.0
    unlabeled_factor: float = 1.0
    queries_factor: float = 1.0

    def __post_init__(self) -> None:
        for constant in fields(self):
            value = check_radius(getattr(self, constant.name), constant.name)
            object.__setattr__(self, constant.name, value)
        if self.variance_factor < 2:
            raise ValueError(f"variance_factor must be at least 2, got {self.variance_factor}")
        if self.least_angle_per_error > self.most_angle_per_error:
            raise ValueError(
                "least_angle_per_error must be at most most_angle_per_error = "
                f"{self.most_angle_per_error}, got {self.least_angle_per_error}"
            )
        smallest = smallest_band_factor(
            most_angle_per_error=self.most_angle_per_error,
            outside_factor=self.outside_factor,
            outside_decay=self.outside_decay,
        )
        if self.band_factor < smallest:
            raise ValueError(f"band_factor must be at least {smallest}, got {self.band_factor}")
        # ξ_k can be 1e5 times smaller than c6, and has to stay a normal float.
        if self.nominal_outlier_fraction < 1e-290:
            raise ValueError(
                f"band_factor = {self.band_factor} and density_floor = {self.density_floor} give "
                "an outlier fraction below 1e-290, too small for a float; band_factor must be lower"
            )

    @classmethod
    def gaussian(cls) -> Self:
        """Constants that hold for the standard normal distribution, whatever its dimension.

        The error of a halfspace is its angle divided by π, so c1 = c2 = π.
        """
        # c3 = 19.8 and c4 = 5.75 hold as well and would be kinder, with c̄ near 18. The default
        # c9 = 1 holds since normal entries grow like √(2·ln n), far slower than ln n.
        given = {"most_angle_per_error": math.pi, "outside_factor": 1.0, "outside_decay": 1.0}
        return cls(
            density_floor=0.396,
            least_angle_per_error=math.pi,
            **given,
            band_factor=smallest_band_factor(**given),
            variance_factor=4.0,
        )

    @property
    def loss_tolerance(self) -> float:
        """How far above its minimum the hinge loss may stay: κ = exp(−c̄), Section 3.2."""
        return math.exp(-self.band_factor)

    @property
    def max_band_width(self) -> float:
        """The widest band of all phases: C1 = c̄/16, Appendix A."""
        return self.band_factor / 16

    @property
    def band_mass_factor(self) -> float:
        """A band of width b has a mass of at least c8·b: c8 of Lemma 17."""
        c0, C1 = self.density_floor, self.max_band_width
        return min(2 * c0, 2 * c0 / (9 * C1), 1 / C1)

    @property
    def nominal_outlier_fraction(self) -> float:
        """What the outlier fraction settles at once bands are narrow: c6, Section 3.2."""
        c_bar = self.band_factor
        nominal_scale = self.density_floor * self.loss_tolerance * c_bar
        return self.outlier_fraction(spread=math.hypot(c_bar, 1), hinge_scale=nominal_scale)

    @property
    def noise_per_error(self) -> float:
        """The noise rate tolerated for each unit of target error: c5, Section 3.2."""
        c1, c6 = self.least_angle_per_error, self.nominal_outlier_fraction
        return self.band_mass_factor / (2 * math.pi) * self.band_factor * c1 * c6

    def outlier_fraction(self, *, spread: float, hinge_scale: float) -> float:
        """The share of row weight that may be removed, for z = √(b² + r²) and a hinge scale τ.

        ξ = min{1/2, κ²/16·(1 + 4√C2·z/τ)⁻²}  (Section 3.2).
        """
        z, tau = spread, hinge_scale
        # Multiplied through by τ, which may have vanished.
        root = self.loss_tolerance / 4 * tau / (tau + 4 * math.sqrt(self.variance_factor) * z)
        return min(0.5, root**2)
