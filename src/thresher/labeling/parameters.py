"""The checked parameters of a labeling run, as they are saved with it."""

from dataclasses import dataclass
from typing import Any

from thresher.estimators.checks import NAMED_SPARSITIES, check_sparsity
from thresher.validation import check_count, check_fraction, check_noise_rate, check_number


@dataclass(frozen=True)
class Parameters:
    """See `ActiveClassifier`.

    Examples
    --------
    >>> Parameters(target_error=0.7)
    Traceback (most recent call last):
    ValueError: target_error must be greater than 0 and below 0.5, got 0.7
    """

    noise_rate: float = 0.05
    sparsity: int | str = "auto"
    batch_size: int = 10
    label_budget: int | None = None
    target_error: float | None = None
    audit_fraction: float = 0.1

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "noise_rate": check_noise_rate(self.noise_rate),
            "batch_size": check_count(self.batch_size, "batch_size"),
            "audit_fraction": check_fraction(self.audit_fraction, "audit_fraction"),
        }
        limit = check_sparsity(self.sparsity)
        checked["sparsity"] = self.sparsity if self.sparsity in NAMED_SPARSITIES else limit
        if self.label_budget is not None:
            checked["label_budget"] = check_count(self.label_budget, "label_budget")
        if self.target_error is not None:
            checked["target_error"] = check_number(self.target_error, "target_error")
            if not 0 < checked["target_error"] < 0.5:
                raise ValueError(
                    f"target_error must be greater than 0 and below 0.5, got {self.target_error}"
                )
            if not self.audit_fraction:
                raise ValueError("target_error needs random labels: audit_fraction must not be 0")
        for name, value in checked.items():  # plain numbers, which can be saved
            object.__setattr__(self, name, value)

    @property
    def max_features(self) -> int | None:
        """The largest number of features in the model; None for no limit."""
        return None if isinstance(self.sparsity, str) else self.sparsity
