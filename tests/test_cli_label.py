"""`thresher label`: a session in the terminal, and what is done with its folder."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thresher.cli.label import LABEL_VERBS
from thresher.label_sessions.opening import read_folder
from thresher.label_sessions.terminal import PipedKeys

N_ROWS = 120


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """A folder with a table of mails, whose labels are known."""
    rng = np.random.default_rng(0)
    lines = ["subject,words,links,label"]
    for number in range(N_ROWS):
        kind = "spam" if number % 2 else "ham"
        topic = "free money for" if number % 2 else "agenda of the meeting with"
        n_links = rng.poisson(4 if number % 2 else 1)
        lines.append(f"{topic} \x1b[31m{number} people,{rng.integers(10, 99)},{n_links},{kind}")
    (tmp_path / "mail.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


START = "label mail.csv --session s --classes ham,spam --label label --annotator ann"


@pytest.fixture
def type_keys(monkeypatch, call_cli):
    def run(folder: Path, keys: str, arguments: str = START):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(keys.split()) + "\n"))
        return call_cli(arguments, folder)

    return run


def test_labels_are_saved_with_the_reason_and_the_progress_shown(mail, type_keys):
    done = type_keys(mail, "1 2 1 q")
    assert (done.returncode, done.stderr) == (0, "")
    assert "random: measures the error" in done.stdout
    assert "2 labels, no error estimate yet" in done.stdout
    assert "3 labels saved in s." in done.stdout
    assert len(read_folder(mail / "s").labels) == 3


def test_nothing_in_a_row_can_steer_the_terminal(mail, type_keys):
    shown = type_keys(mail, "q").stdout
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown


def test_a_torn_line_is_mentioned_once(mail, type_keys):
    type_keys(mail, "1 q")
    with (mail / "s" / "journal.txt").open("ab") as file:
        file.write(b"torn")
    assert "Note: the last line of s/journal.txt was torn (4 bytes)." in type_keys(mail, "q").stdout
    assert "torn" not in type_keys(mail, "q").stdout


def test_without_a_login_name_there_is_still_a_name(mail, type_keys, monkeypatch):
    def fail() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", fail)
    type_keys(mail, "1 q", START.removesuffix(" --annotator ann"))
    (votes,) = read_folder(mail / "s").votes.values()
    assert [*votes] == ["annotator"]


def test_the_left_out_column_is_not_shown(mail, type_keys):
    shown = type_keys(mail, "q").stdout
    assert not [line for line in shown.splitlines() if line.strip().startswith("label")]


def test_undo_asks_about_the_last_row_again(mail, type_keys):
    shown = type_keys(mail, "1 u q").stdout
    rows = [line for line in shown.splitlines() if line.startswith("Row ")]
    assert rows[0] == rows[2] != rows[1]
    assert not read_folder(mail / "s").labels


def test_a_skipped_row_gets_no_label_and_does_not_come_back(mail, type_keys):
    shown = type_keys(mail, "s q").stdout
    shown += type_keys(mail, "q").stdout
    rows = [line for line in shown.splitlines() if line.startswith("Row ")]
    assert rows[0] not in rows[1:]
    assert read_folder(mail / "s").n_skipped == 1


def test_a_comment_is_kept_and_another_key_changes_nothing(mail, type_keys):
    shown = type_keys(mail, "c doubtful x 1 q").stdout
    (note,) = read_folder(mail / "s").notes
    assert (note.annotator, note.text) == ("ann", "doubtful")
    assert "'x' is not one of the keys" in shown


def test_a_session_goes_on_with_the_row_that_was_open(mail, type_keys):
    first = type_keys(mail, "1 2 q").stdout
    second = type_keys(mail, "q").stdout
    rows = [[line for line in text.splitlines() if line[:4] == "Row "] for text in (first, second)]
    assert rows[0][-1] == rows[1][0]
    assert "2 labels saved in s." in second


def test_the_budget_ends_a_session_and_can_be_raised(mail, type_keys):
    done = type_keys(mail, "1 2 1", f"{START} --label-budget 3")
    assert "Done: budget spent. 3 labels saved" in done.stdout
    more = type_keys(mail, "1 2", f"{START} --label-budget 5")
    assert "Done: budget spent. 5 labels saved" in more.stdout


def test_a_new_session_needs_the_labels(mail, type_keys):
    done = type_keys(mail, "q", "label mail.csv --session s")
    assert done.returncode == 2
    assert "--classes is needed" in done.stderr
    assert not (mail / "s").exists()


def test_a_session_keeps_its_labels(mail, type_keys):
    type_keys(mail, "q")
    done = type_keys(mail, "q", "label mail.csv --session s --classes a,b")
    assert (done.returncode, "has the labels ham,spam" in done.stderr) == (2, True)


def test_labels_votes_and_model_are_exported_and_the_model_predicts(mail, type_keys, call_cli):
    texts = (mail / "mail.csv").read_text().splitlines()[1:]
    seen = type_keys(mail, "q").stdout
    keys = []
    for _ in range(12):  # the rows are known only when they are asked about
        row = int(seen.rpartition("Row ")[2].partition(":")[0])
        keys = "2" if texts[row].endswith("spam") else "1"
        seen = type_keys(mail, f"{keys} q").stdout
    done = call_cli("label export s --labels l.csv --votes v.csv --model m.json", mail)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Warning: the model has learned from only 12 labels (ham: " in done.stdout
    assert len((mail / "l.csv").read_text().splitlines()) == 13
    assert len((mail / "v.csv").read_text().splitlines()) == 13
    done = call_cli("predict m.json mail.csv --label label --out p.csv", mail)
    assert (done.returncode, done.stderr) == (0, "")
    assert len((mail / "p.csv").read_text().splitlines()) == N_ROWS + 1


def test_an_import_that_is_repeated_says_that_all_is_known(mail, type_keys, call_cli):
    type_keys(mail, "q")
    (mail / "known.csv").write_text("row_id,label\n3,spam\n4,ham\n")
    assert "2 labels imported, 0 already" in call_cli("label import s known.csv", mail).stdout
    assert "0 labels imported, 2 already" in call_cli("label import s known.csv", mail).stdout
    assert read_folder(mail / "s").labels == {3: "spam", 4: "ham"}


def test_a_damaged_journal_is_refused_and_repaired(mail, type_keys, call_cli):
    type_keys(mail, "1 2 1 q")
    path = mail / "s" / "journal.txt"
    content = path.read_bytes()
    line = content[: content.index(b'"label":"spam"')].count(b"\n") + 1
    path.write_bytes(content.replace(b'"label":"spam"', b'"label":"spim"', 1))
    refused = type_keys(mail, "q")
    assert refused.returncode == 1
    assert f"line {line}, byte" in refused.stderr and "thresher label repair s" in refused.stderr
    done = call_cli("label repair s", mail)
    assert (done.returncode, f"Lost: line {line} " in done.stdout) == (0, True)
    assert "2 labels saved" in type_keys(mail, "q").stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("label export nowhere --labels l.csv", "there is no labeling session"),
        ("label repair nowhere", "there is no labeling session"),
        ("label import nowhere l.csv", "there is no labeling session"),
    ],
)
def test_a_folder_without_a_session_is_a_failure_of_one_line(arguments, reason, tmp_path, call_cli):
    done = call_cli(arguments, tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert reason in done.stderr


def test_an_export_of_nothing_is_misuse(tmp_path, call_cli):
    done = call_cli("label export s", tmp_path)
    assert (done.returncode, "nothing to write" in done.stderr) == (2, True)


@pytest.mark.parametrize("verb", ["", "export ", "import ", "repair "])
def test_every_help_ends_in_an_example(verb, tmp_path, call_cli):
    done = call_cli(f"label {verb}--help", tmp_path)
    last = done.stdout.splitlines()[-1]
    assert (done.returncode, last.startswith(f"example: thresher label {verb}")) == (0, True)


def test_an_interrupt_costs_nothing(mail, monkeypatch, call_cli):
    def press():
        yield from ("1", "2")
        raise KeyboardInterrupt

    pressed = press()
    monkeypatch.setattr(PipedKeys, "key", lambda _: next(pressed))
    done = call_cli(START, mail)
    assert done.returncode == 130
    assert "2 labels saved in s." in done.stdout
    assert len(read_folder(mail / "s").labels) == 2


def test_the_examples_run_after_the_demo(mail, type_keys):
    (mail / "thresher-demo").mkdir()
    table = (mail / "mail.csv").read_text().replace("label", "diagnosis", 1)
    (mail / "thresher-demo" / "clean.csv").write_text(table)
    for verb in LABEL_VERBS:
        done = type_keys(mail, "1 2 1 2 1 q", verb.example.removeprefix("thresher "))
        assert (done.returncode, done.stderr) == (0, ""), verb.example
    assert (mail / "cells.json").exists()


@pytest.mark.slow
def test_ctrl_c_in_a_real_terminal_costs_nothing(mail):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "thresher", *START.split()]
    process = subprocess.Popen(
        command, cwd=mail, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for n_labels, key in enumerate(b"121", start=1):
            wait_for(process, "quit: ")
            os.write(ours, bytes([key]))
            wait_until(lambda n=n_labels: len(read_folder(mail / "s").labels) == n)
        wait_for(process, "quit: ")
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, said) == (130, "thresher: interrupted\n")
    assert "3 labels saved in s." in told
    assert len(read_folder(mail / "s").labels) == 3


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    told = ""
    while not told.endswith(text):
        character = process.stdout.read(1)
        assert character, told
        told += character


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")


def test_a_folder_of_files_is_labeled(tmp_path, type_keys):
    rows = np.random.default_rng(0).standard_normal((60, 2))
    (tmp_path / "parts").mkdir()
    for place, part in enumerate(np.split(rows, 2)):
        table = pa.table({"a": part[:, 0], "b": part[:, 1]})
        pq.write_table(table, tmp_path / "parts" / f"{place}.parquet")
    done = type_keys(tmp_path, "1 2 1 q", "label parts --session mail --classes no,yes")
    assert done.returncode == 0, done.stderr
    assert "3 labels saved in mail" in done.stdout
