"""
Choosing the sparsity
=====================

`HalfspaceClassifierCV` compares several numbers of features on held-out rows. Some of those may be
planted, so every row is weighted by its trust.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from thresher import HalfspaceClassifierCV
from thresher.simulate import poison

X, y = make_classification(
    n_samples=1200,
    n_features=40,
    n_informative=6,
    n_redundant=0,
    n_clusters_per_class=1,
    flip_y=0.0,
    class_sep=1.2,
    random_state=3,
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
table = poison(X, y, attack="far-clump", fraction=0.05, random_state=0)
chosen = HalfspaceClassifierCV(sparsities=(1, 2, 4, 8, 40), noise_rates=(0.05,), random_state=0)
chosen.fit(table.X, table.y)
print(f"{chosen.sparsity_} features; test error {1 - chosen.score(X_test, y_test):.1%}")

# %%
# ``path_`` has the error of every choice. The sparsest within one standard error of the best is
# chosen.

sparsities = [point.sparsity for point in chosen.path_]
errors = np.array([point.error for point in chosen.path_])
spreads = np.array([point.standard_error for point in chosen.path_])
best = errors.argmin()

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(sparsities, errors, spreads, fmt="o-", capsize=4)
axes.axhline(errors[best] + spreads[best], color="gray", ls=":", label="best + one standard error")
axes.axvline(chosen.sparsity_, color="tab:red", ls="--", label="chosen")
axes.set_xscale("log")
axes.set_xticks(sparsities, sparsities)
axes.minorticks_off()
axes.yaxis.set_major_formatter("{x:.1%}")
axes.set(xlabel="features that the model may use", ylabel="held-out error, weighted by trust")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()

# %%
# Use these errors to compare choices, not as estimates of the test error: they can be smaller,
# because rows that are hard to classify have little trust.
