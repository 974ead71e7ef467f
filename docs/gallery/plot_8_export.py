"""
Exporting a model
=================

A fitted classifier becomes a JSON file, an ordinary scikit-learn pipeline or an ONNX model. All of
them make the same predictions.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer

from thresher import HalfspaceClassifier, load_model, save_model

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
diagnosis = y.map({0: "malignant", 1: "benign"})
classifier = HalfspaceClassifier(sparsity=4, random_state=0).fit(X, diagnosis)
scores = classifier.decision_function(X)

# %%
# A model file is plain JSON: loading it runs no code.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    save_model(classifier.to_model(), path)
    content = json.loads(path.read_text(encoding="utf-8"))
    loaded = load_model(path)
print([X.columns[j] for j in content["support"]])
print((loaded.predict(X) == classifier.predict(X)).all())

# %%
# A pipeline needs scikit-learn, but not Thresher.

pipeline = classifier.to_sklearn()
print(" → ".join(name for name, _ in pipeline.steps))

# %%
# An ONNX model needs a runtime, but neither Thresher nor scikit-learn.

session = onnxruntime.InferenceSession(
    loaded.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
)
found, onnx_scores = session.run(["label", "scores"], {"X": X.to_numpy()})
print((found == classifier.predict(X)).all())

# %%
# The largest differences between scores:

differences = {
    "JSON file": loaded.decision_function(X) - scores,
    "pipeline": pipeline.decision_function(X) - scores,
    "ONNX": onnx_scores[:, 1] - scores,
}
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
largest = [np.abs(difference).max() for difference in differences.values()]
bars = axes.barh(list(differences), largest)
axes.bar_label(bars, [f"{value:.1e}" if value else "0" for value in largest], padding=4)
axes.invert_yaxis()
axes.set(xlabel="largest difference from the classifier's scores", xlim=(0, 2e-15))
axes.spines[["top", "right"]].set_visible(False)
plt.show()
