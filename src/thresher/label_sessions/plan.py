"""The plan of a session: what may be changed while it goes on."""

from dataclasses import dataclass
from typing import Any

from thresher.label_sessions.votes import DECISIONS, FIRST
from thresher.labeling.parameters import Parameters
from thresher.validation import check_count, check_positive


@dataclass(frozen=True)
class Plan:
    """See `LabelSession.create`.

    Examples
    --------
    >>> Plan(decision="loudest")
    Traceback (most recent call last):
    ValueError: decision must be 'first' or 'majority', got 'loudest'
    """

    votes_per_row: int = 1
    decision: str = FIRST
    lease_seconds: float = 600.0
    noise_rate: float = 0.05
    sparsity: int | str = "auto"
    batch_size: int = 10
    label_budget: int | None = None
    target_error: float | None = None

    def __post_init__(self) -> None:
        if self.decision not in DECISIONS:
            raise ValueError(f"decision must be 'first' or 'majority', got {self.decision!r}")
        checked: dict[str, Any] = {
            "votes_per_row": check_count(self.votes_per_row, "votes_per_row"),
            "lease_seconds": check_positive(self.lease_seconds, "lease_seconds"),
        }
        parameters = self.parameters
        for name in ("noise_rate", "sparsity", "batch_size", "label_budget", "target_error"):
            checked[name] = getattr(parameters, name)
        for name, value in checked.items():  # plain numbers, which can be saved
            object.__setattr__(self, name, value)

    @property
    def parameters(self) -> Parameters:
        """What the learner needs of it."""
        return Parameters(
            noise_rate=self.noise_rate,
            sparsity=self.sparsity,
            batch_size=self.batch_size,
            label_budget=self.label_budget,
            target_error=self.target_error,
        )
