"""What a learner is asked to do, as one record that schedules and drivers share."""

from __future__ import annotations

from dataclasses import dataclass, fields

from thresher.validation import check_count, check_noise_rate, check_number


@dataclass(frozen=True, kw_only=True)
class Task:
    """The learner's problem: everything it is told, and nothing that only a simulation knows.

    Parameters
    ----------
    n_features : length of a row (d)
    sparsity : how many features the halfspace may use (s); clipped to `n_features`
    noise_rate : share of dirty draws that must be borne (η), below one half
    target_error : error at which learning may stop (ε); None leaves it to the schedule
    label_budget : most distinct labels that may be paid; None lets the schedule decide

    Examples
    --------
    >>> Task(n_features=5, sparsity=10, noise_rate=0.05).sparsity
    5
    """

    n_features: int
    sparsity: int
    noise_rate: float
    target_error: float | None = None
    label_budget: int | None = None

    def __post_init__(self) -> None:
        n_features = check_count(self.n_features, "n_features")
        sparsity = min(check_count(self.sparsity, "sparsity"), n_features)
        noise_rate = check_noise_rate(self.noise_rate)
        target_error, label_budget = self.target_error, self.label_budget
        if target_error is not None:
            target_error = check_number(target_error, "target_error")
            if not 0 < target_error < 1:
                raise ValueError(f"target_error must lie between 0 and 1, got {target_error}")
        if label_budget is not None:
            label_budget = check_count(label_budget, "label_budget")
        checked = (n_features, sparsity, noise_rate, target_error, label_budget)
        for item, value in zip(fields(self), checked, strict=True):
            object.__setattr__(self, item.name, value)
