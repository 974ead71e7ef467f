"""R35: random sequences of ask, tell, skip, correct, save, kill, restore and a larger budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeling.pools import make_pool
from thresher import ActiveClassifier
from thresher.errors import LearningStopped

N_ACTIONS = 25
Action = Callable[[ActiveClassifier], Any]


class Conversation:
    """A learner that is killed and restored, beside one that never is and has no budget to heed.

    After a kill, what was said since the last save is said again, as an annotator would.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.pool, labels = make_pool(n_rows=40, seed=seed)
        self.labels = labels.tolist()
        options: dict[str, Any] = {"batch_size": int(self.rng.integers(1, 7)), "random_state": seed}
        options["noise_rate"] = float(self.rng.choice([0.0, 0.1]))
        self.budget, self.path = int(self.rng.integers(5, 30)), path
        self.learner = ActiveClassifier(self.pool, label_budget=self.budget, **options)
        self.undisturbed = ActiveClassifier(self.pool, label_budget=10**6, **options)
        self.said: dict[int, str | None] = {}
        self.unsaved: list[Action] = []
        self.learner.save(path)

    def act(self) -> None:
        actions = (self.ask, self.tell, self.skip, self.correct, self.save, self.kill, self.raise_)
        chances = (0.3, 0.3, 0.05, 0.1, 0.1, 0.1, 0.05)
        self.rng.choice(np.array(actions), p=chances)()

    def ask(self) -> None:
        question = self.learner.ask()
        self.unsaved.append(lambda learner: learner.ask())
        if question is None:
            assert self.learner.stop_reason_ in ("budget spent", "pool exhausted")
            return
        other = self.undisturbed.ask()
        assert other is not None
        assert other.ids[: question.ids.size].tolist() == question.ids.tolist()
        assert not self.said.keys() & set(question.ids.tolist())  # none is asked about twice

    def _open(self) -> list[int]:
        question = self.learner.ask() if self.learner._transcript.pending() else None
        return [] if question is None else question.ids.tolist()

    def _say(self, ids: list[int], labels: list[str | None]) -> None:
        def tell(learner: ActiveClassifier) -> None:
            learner.tell(labels, ids=ids)

        for learner in (self.learner, self.undisturbed):
            tell(learner)
        self.unsaved.append(tell)
        self.said.update(zip(ids, labels))

    def tell(self) -> None:
        if ids := self._open():
            n_told = int(self.rng.integers(1, len(ids) + 1))
            chosen = self.rng.permutation(ids)[:n_told].tolist()
            self._say(chosen, [self.labels[i] for i in chosen])

    def skip(self) -> None:
        if ids := self._open():
            self._say(ids[:1], [None])

    def correct(self) -> None:
        if self.said:
            one = int(self.rng.choice(list(self.said)))
            # Never a new label where none was: the budget would not hold.
            label = None if self.said[one] is None else str(self.rng.choice(["no", "yes"]))
            self._say([one], [label])

    def save(self) -> None:
        self.learner.save(self.path)
        self.unsaved = []

    def kill(self) -> None:
        self.learner = ActiveClassifier.restore(self.path, self.pool, self.budget)
        for action in self.unsaved:
            action(self.learner)

    def raise_(self) -> None:
        self.save()
        self.budget += 5
        self.learner = ActiveClassifier.restore(self.path, self.pool, self.budget)

    def check(self) -> None:
        assert self.learner._transcript.answers.by_row == self.said
        n_labels = sum(label is not None for label in self.said.values())
        assert self.learner.n_labels_ == n_labels <= self.budget
        models = [_coefficients(one) for one in (self.learner, self.undisturbed)]
        assert models[0] == models[1]


def _coefficients(learner: ActiveClassifier) -> object:
    try:
        return learner.coef_.tolist(), learner.intercept_.tolist()
    except LearningStopped:
        return None


def converse(path: Path, seed: int) -> Conversation:
    conversation = Conversation(path, seed)
    for _ in range(N_ACTIONS):
        conversation.act()
    conversation.check()
    return conversation


@pytest.mark.filterwarnings("ignore::thresher.errors.DoubtfulLabels")
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_nothing_changes(seed: int, tmp_path: Path) -> None:
    converse(tmp_path / "run.json", seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::thresher.errors.DoubtfulLabels")
def test_a_thousand_sequences(tmp_path: Path) -> None:
    for seed in range(100, 1100):
        converse(tmp_path / "run.json", seed)


@pytest.mark.filterwarnings("ignore::thresher.errors.DoubtfulLabels")
def test_the_check_fails_if_an_answer_is_lost(tmp_path: Path) -> None:
    conversation = converse(tmp_path / "run.json", seed=0)
    lost = next(iter(conversation.said))
    del conversation.learner._transcript.answers.by_row[lost]
    with pytest.raises(AssertionError):
        conversation.check()
