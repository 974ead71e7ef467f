"""
A pool on disk
==============

A pool need not fit into memory. Whether a row lies near the boundary of a sparse halfspace shows in
a few of its columns, so a learner can look at every row of a large pool and read little of it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thresher import ActiveClassifier, ActiveLearner, HalfspaceClassifier
from thresher.errors import UnreadablePart
from thresher.geometry import Band
from thresher.oracles import DrawRequest, ParquetPool

# %%
# 40,000 rows in four files. Three of 100 columns decide the label; one row in twenty is planted.

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
for number in range(4):
    rows = rng.standard_normal((10_000, 100)).astype(np.float32)
    labels = np.where(rows[:, 3] + rows[:, 30] - rows[:, 60] > 0, "yes", "no")
    planted = rng.random(10_000) < 0.05
    rows[planted] *= 0.3
    rows[np.ix_(planted, [3, 30])] += 2
    labels[planted] = "no"
    names = [f"x{j}" for j in range(100)]
    table = pa.table([*rows.T, labels], names=[*names, "answer"])
    pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=1000)

# %%
# The pool counts here how many cells of its files are read.


class CountingPool(ParquetPool):
    n_cells = 0

    def tables(self, columns, blocks=None):
        for first_id, table in super().tables(columns, blocks):
            self.n_cells += table.num_rows * table.num_columns
            yield first_id, table


pool = CountingPool(folder, n_places=8)
n_total = pool.n_rows * len(pool.column_names)
print(f"{pool.n_rows:,} rows, {pool.n_features} features, {pool.n_blocks} row groups")

# %%
# `ActiveLearner` draws rows near its current boundary. We watch what each draw reads.

reads = []
plain_draw = pool.draw


def watched(request):
    before = pool.n_cells
    draw = plain_draw(request)
    reads.append((pool.n_cells - before) / n_total)
    return draw


pool.draw = watched
learner = ActiveLearner(pool, sparsity=3, noise_rate=0.05, label_budget=300, random_state=0)
learner.learn_from(lambda ids, _: np.where(pool.cells("answer", ids) == "yes", 1, -1))
print(f"{learner.n_labels_} labels, features {np.flatnonzero(learner.halfspace_).tolist()}")

# %%
# The first draw reads runs of rows at a few places. Later ones scan three columns of every row, and
# then fetch the rows that they draw: most of what they read.

before = pool.n_cells
nothing = Band(normal=learner.halfspace_, width=1e-12)  # a band without rows to fetch
plain_draw(DrawRequest(n_rows=10, band=nothing))
scan = (pool.n_cells - before) / n_total
fig, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.bar(range(1, len(reads) + 1), reads, color="C0", label="a draw with its rows")
ax.axhline(scan, color="C1", label="three columns of every row")
ax.set(xlabel="phase", ylabel="share of the files read", ylim=(0, 1.15))
ax.legend(loc="lower right")
plt.show()
# %%
# The classifiers fit a uniform sample of a pool, and predict all of it: again by a few columns.

model = HalfspaceClassifier(sparsity=3, final_fit="hinge", random_state=0).fit(pool, "answer")
print(f"fitted to {model.sample_ids_.size:,} rows; features {model.support_.tolist()}")
print(f"{np.mean(model.predict(pool) == 'yes'):.1%} of {pool.n_rows:,} rows are predicted 'yes'")

# %%
# `ActiveClassifier` asks about a sample of the pool, by the ids that the rows have in the files.

asking = ActiveClassifier(ParquetPool(folder, sample_rows=2000), label_budget=60, random_state=0)
while (question := asking.ask()) is not None:
    asking.tell(pool.cells("answer", question.ids))
print(f"{asking.n_labels_} labels for {asking.pool_ids_.size:,} rows that could be asked about")

# %%
# A file that changes is noticed, whatever changed it.

file = folder / "part-2.parquet"
file.write_bytes(file.read_bytes()[:-1])
try:
    pool.take([0, 25_000])
except UnreadablePart as error:
    print(str(error).replace(str(folder), "folder"))
