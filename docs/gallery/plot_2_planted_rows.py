"""
Which rows look planted, and why
================================

Planted rows lose their trust while Thresher learns. The pictures show which rows lost it, what was
proven in each phase, and which features the model uses. `audit` sorts the rows by suspicion and
names the features in which the suspects stand out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from thresher import HalfspaceClassifier, audit
from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay
from thresher.simulate import poison

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
diagnosis = y.map({0: "malignant", 1: "benign"})
table = poison(X, diagnosis, attack="on-support-tilt", fraction=0.08, random_state=0)
model = HalfspaceClassifier(sparsity=8, noise_rate=0.08, random_state=0).fit(table.X, table.y)

# %%
# Here we know which rows are planted, so we can compare the two groups. On your own table, omit
# ``groups`` or pass the labels.

origin = np.where(table.is_planted, "planted", "clean")
TrustDisplay.from_estimator(model, groups=origin)
plt.show()

# %%
# Low trust does not prove that a row was planted: unusual clean rows also lose some.

PhasesDisplay.from_estimator(model)
plt.show()

# %%
# The features of the model, with their coefficients in scaled columns.

FeaturesDisplay.from_estimator(model)
plt.show()

# %%
# ``audit`` does what ``thresher audit`` does: it tells rows that steer the model from labels that
# disagree with it and from errors in the data, and ranks the rows by ``suspicion``.

found = audit(table.X, table.y)
print(found.verdict)
n_right = int(table.is_planted[found.suspects["id"].to_numpy()].sum())
print(f"{n_right} of {len(found.suspects)} suspects were planted")

# %%
# Why these rows? The groups that they form:

print(found.groups.drop(columns="rows").to_string())
