"""
Which rows look planted, and why
================================

Planted rows lose their trust while Thresher learns. The pictures show which rows lost it, what was
proven in each phase, and which features the model uses. `examine` sorts the rows by suspicion and
names the features in which the suspects stand out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from thresher import HalfspaceClassifier
from thresher.auditing import examine
from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay
from thresher.simulate import poison
from thresher.table_files import LabeledTable

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
# ``examine`` does what ``thresher audit`` does: it chooses the sparsity and gives each row one
# weight. The suspects are the rows of least weight, up to a share of ``noise_rate``.

labeled = LabeledTable(
    X=table.X.to_numpy(),
    y=np.asarray(table.y),
    feature_names=list(X.columns),
    ids=np.arange(len(table.X)),
    label_name="diagnosis",
)
findings = examine(labeled, noise_rate=0.08, sparsities=(4, 8))
n_right = int(table.is_planted[findings.suspects].sum())
print(f"{n_right} of {len(findings.suspects)} suspects were planted")

# %%
# Why these rows? The features in which a group of suspects differs from its class:

for group in findings.groups:
    print(f"{len(group.rows)} suspects labeled {group.label}, {group.ratio:.1f} times as far out:")
    for contrast in group.contrasts:
        name = labeled.feature_names[contrast.feature]
        here, elsewhere = contrast.mean_here, contrast.mean_elsewhere
        print(f"  {name:24} mean {here:7.4g}, in other rows {elsewhere:7.4g}")
