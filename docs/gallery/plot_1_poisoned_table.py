"""
Four classifiers on a poisoned table
====================================

An attacker who saw the table plants one training row in ten. Four classifiers learn from it and
are tested on clean rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from thresher import HalfspaceClassifier
from thresher.rivals import Sever
from thresher.simulate import poison

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=1)

# %%
# Thresher and Sever take the share of rows that may be planted as ``noise_rate``; the other two
# have no such parameter.

classifiers = {
    "Thresher": HalfspaceClassifier(sparsity=10, noise_rate=0.1, random_state=0),
    "Sever": Sever(noise_rate=0.1, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "linear SVM": make_pipeline(StandardScaler(), LinearSVC()),
}

# %%
# Each attack makes its rows from the training rows alone, within the range of each column.

attacks = ["none", "far-clump", "on-support-tilt", "linf-hijack", "model-targeted"]
errors = np.zeros((len(classifiers), len(attacks)))
for column, attack in enumerate(attacks):
    table_X, table_y = X, y
    if attack != "none":
        table = poison(X, y, attack=attack, fraction=0.1, random_state=1)
        table_X, table_y = table.X, table.y
    for row, classifier in enumerate(classifiers.values()):
        errors[row, column] = 1 - classifier.fit(table_X, table_y).score(X_test, y_test)

# %%
# The error on clean rows:

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
places = np.arange(len(attacks))
for row, (name, hatch) in enumerate(zip(classifiers, ["", "//", "..", "xx"])):
    axes.bar(places + 0.2 * (row - 1.5), errors[row], 0.18, label=name, hatch=hatch, ec="white")
axes.set_xticks(places, attacks)
axes.set_xlabel("attack (one row in ten planted)")
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set_ylabel("error on clean rows")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()

# %%
# This is one split of one small table: with 171 test rows, one row is 0.6%. The studies have
# :doc:`more tables and more splits </studies/harm>`.

print(f"{'':20}" + "".join(f"{attack:>17}" for attack in attacks))
for name, row in zip(classifiers, errors):
    print(f"{name:20}" + "".join(f"{error:17.1%}" for error in row))
