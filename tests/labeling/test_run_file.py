from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeling.pools import finish, make_pool
from thresher import ActiveClassifier
from thresher.errors import DamagedFile, LearningStopped

X, LABELS = make_pool()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    learner = finish(ActiveClassifier(X, label_budget=25, random_state=0), LABELS)
    learner.save(tmp_path / "run.json")
    return tmp_path / "run.json"


def test_a_larger_budget_goes_on_where_the_run_ended(saved: Path) -> None:
    longer = finish(ActiveClassifier.restore(saved, X, label_budget=50), LABELS)
    at_once = finish(ActiveClassifier(X, label_budget=50, random_state=0), LABELS)
    assert list(longer._transcript.asked()) == list(at_once._transcript.asked())
    assert np.array_equal(longer.coef_, at_once.coef_)


def test_the_budget_does_not_change_the_questions() -> None:
    runs = [
        finish(ActiveClassifier(X, label_budget=budget, random_state=0), LABELS)
        for budget in (33, 57)
    ]
    short, long = ([*run._transcript.answers.by_row] for run in runs)
    assert short == long[:33]


def test_every_kind_of_label_survives(tmp_path: Path) -> None:
    for labels in ([0, 1], [False, True], [-1.0, 1.0], ["né", "<b>"]):
        learner = ActiveClassifier(X, initial_labels=dict(enumerate(labels)))
        learner.save(tmp_path / "run.json")
        again = ActiveClassifier.restore(tmp_path / "run.json", X)
        assert again.classes_.tolist() == learner.classes_.tolist()
        assert again.classes_.dtype == learner.classes_.dtype


@pytest.mark.parametrize("change", ["entry", "order", "shape"])
def test_another_pool_is_refused(saved: Path, change: str) -> None:
    other = {"entry": X + np.eye(*X.shape), "order": X[::-1], "shape": X[:-1]}[change]
    with pytest.raises(LearningStopped, match=r"not the pool that .*run\.json was saved with"):
        ActiveClassifier.restore(saved, other)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ActiveClassifier.restore(tmp_path / "none.json", X)


def test_a_file_that_is_cut_short_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole) - 1, 97):
        saved.write_bytes(whole[:length])
        with pytest.raises(DamagedFile):
            ActiveClassifier.restore(saved, X)


def test_flipped_bits_are_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for place in range(0, len(whole) - 1, 61):
        changed = bytearray(whole)
        changed[place] ^= 1
        saved.write_bytes(bytes(changed))
        with pytest.raises(DamagedFile):
            ActiveClassifier.restore(saved, X)


def rewritten(path: Path, change: dict[str, Any]) -> None:
    """The file with other content and a checksum that fits it."""
    from thresher.labeling import run_file

    content = json.loads(path.read_text(encoding="utf-8"))
    content["run"].update(change)
    content["checksum"] = run_file.checksum_of(content["run"])
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        {"batches": [[[1, 1], [True, True]]]},
        {"batches": [[[10**9], [True]]]},
        {"batches": [[["1"], [True]]]},
        {"batches": [[[1, 2], [True]]]},
        {"answers": [[5, "yes"], [6, "no"], [7, "maybe"]], "initial": [5, 6, 7], "batches": []},
        {"answers": [[5, ["yes"]]], "initial": [5], "batches": []},
        {"answers": [[99, "yes"]], "batches": [], "initial": []},
        {"seed": -1},
        {"parameters": {"noise_rate": 7}},
        {"parameters": {"unknown": 7}},
    ],
)
def test_content_that_no_run_has_is_refused(saved: Path, change: dict[str, Any]) -> None:
    rewritten(saved, change)
    with pytest.raises(DamagedFile):
        ActiveClassifier.restore(saved, X)
