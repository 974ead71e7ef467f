"""
Buying few labels, stopping and resuming
========================================

A pool of unlabeled rows, one in twenty of them an attacker's. The learner asks for the labels that
are worth their price. Halfway, the run is saved, and another learner resumes it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from thresher import ActiveLearner, plan
from thresher.geometry import Band
from thresher.oracles import DrawRequest
from thresher.rivals import SparseLogisticRegressionCV
from thresher.simulate import Gaussian, InBandMass, MaliciousOracle, random_target

# %%
# `plan` estimates the cost before anything is bought.

cost = plan(n_features=200, sparsity=5, target_error=0.05, noise_rate=0.02)
print(f"{cost.practical.labels} labels in {cost.practical.phases} phases")
print(f"even without noise, every method needs about {cost.label_floor:.0f}")


# %%
# A simulation takes the place of the world. Its adversary watches the learner and puts its rows
# where the learner looks.


def make_world():
    return MaliciousOracle(
        distribution=Gaussian(200),
        target=random_target(200, 5, 0),
        noise_rate=0.05,
        adversary=InBandMass(strength=2.0),
        random_state=0,
    )


world = make_world()
learner = ActiveLearner(world, sparsity=5, noise_rate=0.05, label_budget=600, random_state=0)
for _ in range(2):
    question = learner.ask()
    print(f"phase {question.phase} asks for {question.ids.size} labels")
    learner.tell(world.reveal(question.ids))  # your answers, a lab's, a crowd's

# %%
# The saved run holds the labels already paid for, so nothing is paid twice. If the pool is a table,
# pass the same table to ``restore``.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "run.npz"
    learner.save(path)
    learner = ActiveLearner.restore(path, world)
print(f"restored with {learner.n_labels_} labels")

while (question := learner.ask()) is not None:
    learner.tell(world.reveal(question.ids))
print(f"error {world.error_rate(learner.halfspace_):.3f} with {learner.n_labels_} labels")

# %%
# For comparison: L1 logistic regression with the same number of labels, on rows as they come.

n_labels = np.cumsum([outcome.n_labels for outcome in learner.phases_])
errors = [world.error_rate(outcome.halfspace) for outcome in learner.phases_]

anywhere = Band(np.zeros(200), np.inf)
passive = make_world()
drawn = passive.draw(DrawRequest(n_rows=int(n_labels[-1]), band=anywhere))
bought = passive.reveal(drawn.ids)
passive_errors = []
clean = Gaussian(200).sample(10_000, np.random.default_rng(1))
truth = np.where(clean @ world.target >= 0, 1.0, -1.0)
for n in n_labels:
    plain = SparseLogisticRegressionCV(random_state=0).fit(drawn.X[:n], bought[:n])
    passive_errors.append(1 - plain.score(clean, truth))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(n_labels, errors, "o-", label="Thresher (active)")
axes.plot(n_labels, passive_errors, "s--", label="L1 logistic regression (passive)")
axes.axhline(0.05 / (2 * 0.95), color="gray", ls=":", label="unavoidable in the worst case")
axes.set(xlabel="labels bought", ylabel="error on clean rows", ylim=(0, None))
axes.yaxis.set_major_formatter("{x:.0%}")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
