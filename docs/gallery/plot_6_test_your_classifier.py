"""
Attacking your own classifier
=============================

`poison` plants rows in the training data of any classifier. Here a scikit-learn pipeline meets all
twelve attacks, with a growing share of planted rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from thresher.simulate import POISON_STRENGTHS, poison

X, y = load_digits(return_X_y=True)
X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
mine = make_pipeline(MinMaxScaler(), LogisticRegression(C=10.0))

# %%
# The attacks, with strengths worth trying. Without ``strength``, each attack uses its default.

for attack, strengths in POISON_STRENGTHS.items():
    print(attack, strengths)

# %%
# The attacker changes the training rows only; what counts is the error on clean rows.

fractions = [0.0, 0.02, 0.05, 0.1, 0.2]
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = ["o-", "s--", "^-.", "v:", "D-", "x--", "P-.", "*:", "<-", ">--", "h-.", "d:"]
for attack, style in zip(POISON_STRENGTHS, styles):
    errors = []
    for fraction in fractions:
        table = poison(X, y, attack=attack, fraction=fraction, random_state=0)
        errors.append(1 - mine.fit(table.X, table.y).score(X_test, y_test))
    axes.plot(fractions, errors, style, label=attack)
axes.xaxis.set_major_formatter("{x:.0%}")
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set_xticks(fractions)
axes.set_yticks(np.arange(0, 0.21, 0.05))
axes.set(xlabel="share of planted rows", ylabel="error on clean rows", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()

# %%
# ``table.is_planted`` marks the attacker's rows, to measure what a defense finds; ``table.origins``
# maps each of the other rows to its row in the clean table.

table = poison(X, y, attack="far-clump", fraction=0.1, random_state=0)
print(f"{table.is_planted.sum()} of {len(table.y)} rows are planted")
