"""Labeling a pool that does not fit into memory: a sample of it is asked about."""

from pathlib import Path

import numpy as np
import pytest

from oracles.large.files import rows_and_labels, write_folder
from thresher import ActiveClassifier, load_model, save_model
from thresher.errors import LearningStopped
from thresher.oracles import ParquetPool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "pool")
    return tmp_path / "pool"


def _finished(learner: ActiveClassifier) -> ActiveClassifier:
    rows, labels = rows_and_labels(600)
    while (question := learner.ask()) is not None:
        assert np.array_equal(question.X, rows[question.ids])
        learner.tell(labels[question.ids])
    return learner


def test_questions_are_about_rows_of_the_pool(folder: Path, tmp_path: Path) -> None:
    pool = ParquetPool(folder, sample_rows=300)
    learner = _finished(ActiveClassifier(pool, label_budget=60, random_state=0))
    assert learner.pool_ids_.size == learner.row_weights_.size == 300
    assert (learner.predict(pool) == rows_and_labels(600)[1]).mean() > 0.9
    save_model(learner.to_model(), tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").predict(pool), learner.predict(pool))


def test_a_run_continues_with_the_same_files_only(folder: Path, tmp_path: Path) -> None:
    learner = ActiveClassifier(ParquetPool(folder), label_budget=40, random_state=0)
    question = learner.ask()
    assert question is not None
    learner.tell(rows_and_labels(600)[1][question.ids])
    learner.save(tmp_path / "run.json")
    again = ActiveClassifier.restore(tmp_path / "run.json", ParquetPool(folder))
    assert np.array_equal(_finished(again).coef_, _finished(learner).coef_)
    (folder / "part-002.parquet").unlink()
    with pytest.raises(LearningStopped):
        ActiveClassifier.restore(tmp_path / "run.json", ParquetPool(folder))
