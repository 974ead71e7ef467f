"""A session through the page ends where the same answers in Python end."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from label_page.pages import PATIENT
from label_page.served import served
from thresher.label_sessions import LabelSession

CLASSES = ("no", "yes")
DATA = os.environ.get("THRESHER_DATA_DIR")


def new_session(folder: Path, X: Any, n_labels: int) -> LabelSession:
    return LabelSession.create(
        folder, X, classes=list(CLASSES), label_budget=n_labels, random_state=0
    )


def label_through_the_page(session: LabelSession, answers: NDArray[np.bool_]) -> list[int]:
    """Answer every row by the forms of the page, as a script would; the rows."""
    rows = []
    with served(session, PATIENT) as page:
        token = page.site.accounts.new_owner_link("owner")
        address = page.site.address
        with httpx.Client(base_url=address, follow_redirects=True, timeout=600) as client:
            html = client.get("/join", params={"token": token}).text
            html = client.get("/").text
            while "All done" not in html:
                form = dict(re.findall(r'name="(row|request)" value="([^"]*)"', html))
                if "row" in form:
                    rows.append(int(form["row"]))
                    form["label"] = str(int(answers[rows[-1]]))
                    answer = client.post("/vote", data=form, headers={"origin": address})
                    html = answer.raise_for_status().text
                else:
                    time.sleep(0.02)
                    html = client.get("/").text
    return rows


def label_in_python(session: LabelSession, answers: NDArray[np.bool_]) -> list[int]:
    rows = []
    while (question := session.next_question("owner")) is not None:
        rows.append(int(question.row_id))
        session.vote("owner", question.row_id, CLASSES[int(answers[question.row_id])])
    return rows


def check_that_both_end_alike(
    folder: Path, X: Any, answers: NDArray[np.bool_], n_labels: int
) -> None:
    models, asked = [], []
    for name, label in (("page", label_through_the_page), ("python", label_in_python)):
        with new_session(folder / name, X, n_labels) as session:
            asked.append(label(session, answers))
            session.save_model(folder / f"{name}.json")
        models.append((folder / f"{name}.json").read_bytes())
    assert len(asked[0]) == n_labels
    assert asked[0] == asked[1]
    assert models[0] == models[1]


def test_twelve_labels_give_the_same_model(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    check_that_both_end_alike(tmp_path, X, X[:, 0] > 0, n_labels=12)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="needs THRESHER_DATA_DIR with reuters_earn_v_acq.npz")
def test_two_hundred_labels_on_reuters_give_the_same_model(tmp_path: Path) -> None:
    from thresher.experiments.table_run import load_table

    table = load_table(str(DATA), "reuters_earn_v_acq")
    check_that_both_end_alike(tmp_path, table.X, table.y > 0, n_labels=200)
