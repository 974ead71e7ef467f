"""
Removing outliers, and checking the proof
=========================================

`remove_outliers` gives every row a weight and proves how much variance these weights leave in any
sparse direction. The proof can be checked without trusting the solver that found it.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from thresher import remove_outliers
from thresher.certificates import accepts_removal

rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 100))
is_planted = np.arange(2000) < 80
X[is_planted, :8] += 3 * rng.choice([-1, 1], size=(80, 1))  # in 8 of the features

# %%
# A unit direction over at most 8 features has an l1 norm of at most √8; 4 leaves some room.

question = {"l2_radius": 1.0, "l1_radius": 4.0, "outlier_fraction": 0.05}
removal = remove_outliers(X, **question)
print(removal.status)
print(f"proven: variance between {removal.variance_lower:.3f} and {removal.variance_upper:.3f}")
print(f"proven: no weights reach less than {removal.optimum_lower:.3f}")
before = remove_outliers(X, **question | {"outlier_fraction": 0.0})
print(f"with all rows: at least {before.variance_lower:.3f}")

# %%
# `thresher.certificates` imports only NumPy. It recomputes everything from the rows and errs on the
# safe side in rounding.

print(accepts_removal(X, removal, **question))

# %%
# It rejects a claim better than what was proven, and the same claim about other weights.

print(accepts_removal(X, replace(removal, variance_upper=0.9 * removal.variance_upper), **question))
print(accepts_removal(X, replace(removal, weights=np.ones(2000)), **question))

# %%
# Along the direction of largest variance over all rows, the planted rows lie far out on both sides.
# They lose their weight.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
groups = [("clean", ~is_planted), ("planted", is_planted)]
for name, rows in groups:
    projection = X[rows] @ before.direction
    left.hist(projection, np.linspace(-14, 14, 57), density=True, alpha=0.6, label=name)
    right.hist(removal.weights[rows], np.linspace(0, 1, 21), alpha=0.6, label=name)
left.set(xlabel="position along the direction of largest variance", ylabel="density of rows")
right.set(xlabel="weight", ylabel="number of rows (logarithmic)", yscale="log")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
plt.show()
