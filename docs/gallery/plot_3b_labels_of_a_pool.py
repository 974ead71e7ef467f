"""
Labels of a table of your own
=============================

`ActiveClassifier` asks for the labels of a finite pool, one batch after the other, and estimates
its error as it goes. Here somebody has planted rows where the questions will be.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from thresher import ActiveClassifier
from thresher.simulate.poisoning import poisoned_split

X, y = load_breast_cancer(return_X_y=True)
split = poisoned_split(X, y, attack="query-following", fraction=0.1, seed=0)
print(f"{len(split.y)} rows in the pool, {split.is_planted.sum()} of them planted")

# %%
# A question is a batch of rows. The answers come from a table here, from a person elsewhere.

learner = ActiveClassifier(split.X, noise_rate=0.1, label_budget=200, random_state=0)
n_labels, errors, estimates = [], [], []
while (question := learner.ask()) is not None:
    learner.tell(split.y[question.ids])
    if learner.n_labels_ >= 30:
        n_labels.append(learner.n_labels_)
        errors.append(1 - learner.score(split.X_test, split.y_test))
        estimates.append(learner.error_estimate_)
print(f"{learner.n_labels_} labels: {learner.stop_reason_}; test error {errors[-1]:.1%}")

# %%
# Margin sampling, for comparison: the same first rows, then those closest to the boundary of
# logistic regression.

scaler = StandardScaler().fit(split.X)
rows, test_rows = scaler.transform(split.X), scaler.transform(split.X_test)
first = ActiveClassifier(split.X, noise_rate=0.1, random_state=0, batch_size=20).ask().ids
bought, margin_errors = list(first), []
while len(bought) <= 200:
    model = LogisticRegression(max_iter=1000).fit(rows[bought], split.y[bought])
    if len(bought) >= 30:
        margin_errors.append(1 - model.score(test_rows, split.y_test))
    distance = np.abs(model.decision_function(rows))
    distance[bought] = np.inf
    bought += np.argsort(distance)[:10].tolist()
print(f"margin sampling: test error {margin_errors[-1]:.1%}")

# %%
# The estimate comes from the questions that were random. Planted rows among them count as errors of
# the model, so that it is too high here rather than too low.

low, high = np.array(estimates)[:, 1:].T
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(n_labels, low, high, color="C0", alpha=0.15, label="95% interval of the estimate")
axes.plot(n_labels, errors, "o-", color="C0", label="ActiveClassifier")
axes.plot(n_labels, margin_errors, "s--", color="C1", label="margin sampling")
axes.set(xlabel="labels bought", ylabel="error on clean rows", ylim=(0, 0.5))
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
