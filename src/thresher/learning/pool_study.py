"""What `ActiveClassifier` needed on real pools: the means of docs/studies/pools.md."""

from collections.abc import Iterator
from dataclasses import dataclass

BUDGETS = (50, 100, 200, 400, 800)
LARGEST_NOISE_RATE = 0.1  # that was measured


@dataclass(frozen=True)
class MeasuredPool:
    """The mean test error on a pool at every budget, clean and with a tenth of it planted.

    Parameters
    ----------
    name : of the table
    clean, planted : errors in percent at the first of `BUDGETS`; empty if not measured

    Examples
    --------
    >>> pool = MeasuredPool("cina", clean=(9.0, 7.0), planted=(15.0, 12.0))
    >>> pool.labels_for(0.08, noise_rate=0.0), pool.labels_for(0.08, noise_rate=0.05)
    (100, None)
    """

    name: str
    clean: tuple[float, ...]
    planted: tuple[float, ...]

    def labels_for(self, target_error: float, noise_rate: float) -> int | None:
        """The smallest budget at which the mean error was at most the target, if there is one."""
        errors = self.planted if noise_rate > 0 else self.clean
        reached = (n for n, error in zip(BUDGETS, errors) if error <= 100 * target_error)
        return next(reached, None)


POOLS = (
    MeasuredPool("spambase", (10.2, 8.0, 6.8, 6.3, 6.2), (13.7, 9.7, 8.1, 7.0, 6.8)),
    MeasuredPool("cina", (10.0, 8.2, 7.4, 6.9, 6.5), (13.0, 9.5, 8.1, 7.4, 7.0)),
    MeasuredPool("mnist_1v7", (1.1, 0.6, 0.5, 0.5, 0.5), (4.1, 1.0, 0.7, 0.6, 0.6)),
    MeasuredPool("reuters_earn_v_acq", (6.0, 2.3, 1.6, 1.1, 1.2), (9.5, 3.8, 2.2, 1.7, 1.7)),
    MeasuredPool("mdrr", (21.0, 18.7, 17.7), (23.4, 19.1, 18.2)),
)


def labels_on_pools(target_error: float, noise_rate: float) -> Iterator[tuple[str, int | None]]:
    """By pool, the labels for this error; nothing where so much noise was not measured."""
    for pool in POOLS:
        is_measured = pool.planted if noise_rate > 0 else pool.clean
        if is_measured and noise_rate <= LARGEST_NOISE_RATE:
            yield pool.name, pool.labels_for(target_error, noise_rate)
