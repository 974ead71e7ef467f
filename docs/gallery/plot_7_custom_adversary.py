"""
Your own adversary
==================

An adversary is an object with one method. It sees everything: the target, where the learner looks,
what the learner will discard. :doc:`/extending` explains what it can return.
"""

import matplotlib.pyplot as plt
import numpy as np

from thresher import learn_actively
from thresher.simulate import Gaussian, LabelFlip, MaliciousOracle, random_target


class LoudDecoy:
    """Clean-looking rows with wrong labels, and one irrelevant feature that reveals the label."""

    def __init__(self, size):
        self.size = size

    def corrupt(self, n_rows, view, rng):
        X = view.distribution.sample(n_rows, rng)
        y = np.where(X @ view.target >= 0, -1.0, 1.0)
        decoy = int(np.argmin(np.abs(view.target)))  # a feature that does not matter
        X[:, decoy] = y * min(self.size, view.max_abs_entry)
        return X, y


# %%
# Rows are Gaussian, 5 of 100 features are relevant, and one row in ten is the adversary's. A decoy
# of size 1 hurts most; larger ones hurt less than flipped labels alone.


def error_against(adversary, seed):
    world = MaliciousOracle(
        distribution=Gaussian(100),
        target=random_target(100, 5, seed),
        noise_rate=0.1,
        adversary=adversary,
        random_state=seed,
    )
    learner = learn_actively(
        world, world, sparsity=5, noise_rate=0.1, label_budget=400, random_state=seed
    )
    return world.error_rate(learner.halfspace_)


sizes = [0.5, 1.0, 2.0, 4.0]
seeds = range(3)
errors = np.array([[error_against(LoudDecoy(size), seed) for seed in seeds] for size in sizes])
flips = [error_against(LabelFlip(), seed) for seed in seeds]
for size, row in zip(sizes, errors):
    print(f"decoy of size {size:3}: median error {np.median(row):.3f}")
print(f"flipped labels alone: {np.median(flips):.3f}")

# %%

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(sizes, errors, "o", color="tab:blue", alpha=0.5)
axes.plot(
    sizes, np.median(errors, axis=1), "-", color="tab:blue", label="decoy (median of 3 seeds)"
)
axes.axhline(np.median(flips), color="tab:orange", ls="--", label="flipped labels alone")
axes.axhline(0.1 / (2 * 0.9), color="gray", ls=":", label="unavoidable in the worst case")
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
axes.yaxis.set_major_formatter("{x:.1%}")
axes.set(xlabel="size of the decoy", ylabel="error on clean rows", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
