"""Kill a labeling process again and again; print what was acknowledged and lost, as JSON.

Run as a script, because processes are forked: `python killed.py FOLDER N_KILLS`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from thresher import ActiveClassifier, LabelSession
from thresher.label_sessions.opening import read_folder

X = np.random.default_rng(0).standard_normal((3000, 4))


def truth(row: int) -> str:
    return "yes" if X[row, 0] + X[row, 1] > 0 else "no"


def label_until_killed(folder: Path, pipe: int, number: int) -> None:
    """Label as fast as the disk allows, and say so after each answer."""
    with LabelSession.open(folder, X) as session:
        count = 0
        while (question := session.next_question("ann")) is not None:
            request = f"{number}-{count}"
            count += 1
            if count % 7 == 0:
                session.skip("ann", question.row_id, request_id=request)
                os.write(pipe, f"{request} {question.row_id} -\n".encode())
            else:
                label = truth(question.row_id)
                session.vote("ann", question.row_id, label, request_id=request)
                os.write(pipe, f"{request} {question.row_id} {label}\n".encode())


def kill_one(folder: Path, number: int, delay: float) -> list[str]:
    """What a process that was killed after a while had acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            label_until_killed(folder, writing, number)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        first = pipe.readline()
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [line for line in [first, *pipe] if line.endswith("\n")]


def main() -> None:
    folder, n_kills = Path(sys.argv[1]), int(sys.argv[2])
    # Quick to open, and with a budget that is never spent: without one, a session ends by itself.
    quickly = {"noise_rate": 0, "batch_size": 40, "label_budget": len(X)}
    LabelSession.create(folder, X, classes=["no", "yes"], random_state=0, **quickly).close()
    rng, lost, acknowledged = random.Random(0), 0, []
    for number in range(n_kills):
        acknowledged += kill_one(folder, number, rng.uniform(0, 0.06))
        state = read_folder(folder)
        for line in acknowledged:
            request, row, label = line.split()
            receipt = state.receipts.get(request)
            is_there = receipt is not None and receipt.row_id == int(row)
            lost += not (is_there and state.labels.get(int(row), "-") == label)
    with LabelSession.open(folder, X) as session:
        ours = session._dispatcher.snapshot().answered.to_model()
        labels = dict(session._state.labels)
        asked = [one.row_id for batch in session._state.batches for one in batch]
    theirs = ActiveClassifier(X, initial_labels=labels, noise_rate=0, random_state=0).to_model()
    same = ours.weights.tobytes() == theirs.weights.tobytes() and ours.offset == theirs.offset
    found = {"kills": n_kills, "acknowledged": len(acknowledged), "lost": lost, "same bits": same}
    print(json.dumps({**found, "asked twice": len(asked) - len(set(asked))}))


if __name__ == "__main__":
    main()
