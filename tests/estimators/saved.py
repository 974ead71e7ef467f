"""Small models, and the content of a model file, for the tests of what leaves Thresher."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from estimators.small import QUICK
from thresher import HalfspaceClassifier
from thresher.estimators import HalfspaceModel, load_model

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((300, 6)) * np.array([1, 1e-3, 1e4, 1, 5, 1]) + 3
SIGNS = ROWS[:, 0] - ROWS[:, 3] > 0
NEW = RNG.standard_normal((100, 6)) * np.array([3, 3e-3, 3e4, 3, 15, 3]) + 3
KINDS: dict[str, Any] = {
    "booleans": SIGNS,
    "integers": np.where(SIGNS, 7, 2),
    "numbers": np.where(SIGNS, 2.0, -1.0),
    "text": np.where(SIGNS, "spam", "ham"),
}
CONTENT: dict[str, Any] = {
    "format": "thresher-model",
    "version": 1,
    "n_features": 4,
    "feature_names": ["a", "b", "c", "d"],
    "classes": ["no", "yes"],
    "support": [1, 3],
    "weights": [0.5, -0.5],
    "offset": 0.25,
    "center": [0.0, 1.0],
    "scale": [1.0, 2.0],
    "reach": 2.0,
    "provenance": {"note": "an example"},
    "certificates": [{"loss": 0.5}],
}
TEXT = json.dumps(CONTENT)
SEEN = {"seen": "", "n_missing": 1, "n_stray": 0}
PREPARED = json.dumps(
    {
        **CONTENT,
        "version": 2,
        "n_features": 6,
        "feature_names": ["a", "a is missing", "b=u", "b is missing", "b is rare", "c: 'one'"],
        "preparation": [
            {"kind": "numbers", "name": "a", **SEEN, "median": 2.0},
            {"kind": "categories", "name": "b", **SEEN}
            | {"values": ["u", ""], "rare": ["v"], "usual": "u"},
            {"kind": "words", "name": "c", **SEEN, "vocabulary": ["one"], "idf": [1.5]},
            {"kind": "left out", "name": "d", **SEEN, "reason": "constant"},
        ],
    }
)


def fitted(y: Any = KINDS["text"], X: Any = ROWS, **changes: Any) -> HalfspaceClassifier:
    """A small model, learned in two phases."""
    options = {"sparsity": 3, "final_fit": "hinge", "schedule": QUICK, "random_state": 0}
    return HalfspaceClassifier(**{**options, **changes}).fit(X, y)


def text_with(name: str, literal: str) -> str:
    """The example with a value that need not be valid JSON."""
    return json.dumps({**CONTENT, name: "HERE"}).replace('"HERE"', literal)


def load_text(text: str | bytes, folder: Path) -> HalfspaceModel:
    """The model in a file with this content."""
    path = folder / "model.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_model(path)
