"""The terminal: single keys, a script that answers, and what is shown of rows from strangers."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from label_sessions.pools import X, answer, bits, make, truth
from thresher import LabelSession
from thresher.label_sessions import terminal as terminal_module
from thresher.label_sessions.session import Question
from thresher.label_sessions.terminal import (
    LabelTerminal,
    PipedKeys,
    TerminalKeys,
    describe,
    keys_of,
)

KEY_OF = {"no": "1", "yes": "2"}


class Person:
    """Answers what the session asks, as a person would who sees the row."""

    def __init__(self, session: LabelSession) -> None:
        self._session = session

    def key(self) -> str:
        return KEY_OF[truth(self._session._dispatcher.leases.of("ann").row_id)]

    def line(self) -> str:
        return ""

    def forget(self) -> None:
        pass


def test_keys_in_the_terminal_give_the_model_of_the_same_answers_in_python(
    tmp_path, capsys
) -> None:
    with make(tmp_path / "keys", label_budget=30) as one:
        LabelTerminal(one, "ann", Person(one)).run()
        with make(tmp_path / "python", label_budget=30) as two:
            answer(two, 30)
            assert one._state.labels == two._state.labels
            assert list(one._state.asked) == list(two._state.asked)
            assert bits(one) == bits(two)
    assert "Done: budget spent. 30 labels saved" in capsys.readouterr().out


def test_rows_that_were_chosen_a_moment_after_the_question_are_shown(
    tmp_path, capsys, monkeypatch
) -> None:
    with make(tmp_path / "s") as session:
        ask = session.next_question
        monkeypatch.setattr(
            session, "next_question", lambda who, wait=True: ask(who) if wait else None
        )
        session._dispatcher.refitter.wait()
        LabelTerminal(session, "ann", PipedKeys(io.StringIO("q\n"))).run()
    assert "\nRow " in capsys.readouterr().out


def test_a_terminal_hands_over_each_key_at_once(capsys) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        keys = keys_of(terminal)
        assert isinstance(keys, TerminalKeys)
        found: list[str] = []
        reader = threading.Thread(target=lambda: found.append(keys.key()))
        reader.start()
        os.write(ours, b"2")  # no line end
        reader.join(timeout=20)
        assert found == ["2"]
        reader = threading.Thread(target=lambda: found.append(keys.key()))
        reader.start()
        os.write(ours, b"\x04")  # Ctrl-D
        reader.join(timeout=20)
        assert found == ["2", ""]
    os.close(ours)
    assert capsys.readouterr().out.startswith("2\n")


def pressed_key(sent: bytes, monkeypatch) -> str:
    """The key that a terminal hands over for these bytes, which come at once."""
    monkeypatch.setattr(terminal_module, "_without_lines", lambda _: contextlib.nullcontext())
    ours, theirs = os.pipe()
    os.write(theirs, sent)
    os.close(theirs)
    with os.fdopen(ours) as stream:
        return TerminalKeys(stream).key()


@pytest.mark.parametrize("pressed", [b"\x04", b"\x00", b""])
def test_the_end_of_the_input_ends_a_session(pressed, monkeypatch) -> None:
    assert pressed_key(pressed, monkeypatch) == ""


@pytest.mark.parametrize("pressed", [b"\x1b[1~", b"\x1b[2~", b"\x1b[1;5C", b"\x1bOA"])
def test_a_special_key_is_no_answer(pressed, monkeypatch) -> None:
    assert pressed_key(pressed, monkeypatch) == "\x1b"


def test_what_was_typed_before_the_row_is_dropped() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        keys = keys_of(terminal)
        os.write(ours, b"1\n1\n")
        keys.forget()
        os.write(ours, b"2\n")
        assert keys.key() == "2"
    os.close(ours)


def test_a_comment_is_exported_with_the_label(tmp_path, capsys) -> None:
    with make(tmp_path / "s", label_budget=5) as session:
        keys = PipedKeys(io.StringIO("c\n\nhard to tell\n1\nq\n"))  # Enter after the key
        LabelTerminal(session, "ann", keys).run()
        session.export_votes(tmp_path / "votes.csv")
    assert "hard to tell" in (tmp_path / "votes.csv").read_text()
    assert "1 label saved" in capsys.readouterr().out


def test_keys_of_a_pipe_are_lines() -> None:
    keys = keys_of(io.StringIO("1\n\n  s  \nsome text\n"))
    assert isinstance(keys, PipedKeys) and not isinstance(keys, TerminalKeys)
    assert (keys.key(), keys.key(), keys.line(), keys.key()) == ("1", "s", "some text", "")


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]0;title\x07",
        "\x1b[2J\x1b[H",
        "\rb",
        "\u202eabc",
        "\x9b31m",
        "\x08\x08",
        "\x00",
        "\ud800",
    ],
)
def test_no_cell_name_or_label_steers_the_terminal(text, tmp_path, capsys) -> None:
    with make(tmp_path / "s", classes=[f"n{text}", f"y{text}"]) as session:
        terminal = LabelTerminal(session, "ann", PipedKeys(io.StringIO("")))
        values = {f"name{text}": f"cell{text}", "long": f"{text}\n" * 40, "number": 1.5}
        terminal._show(Question(f"row{text}", values, tuple(values), "because", True, 0.0))
        terminal._show_all(Question(f"row{text}", values, tuple(values), "because", True, 0.0))
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\r\u202e\x9b\x08\x00\ud800")
    assert "cell\\" in shown and "name\\" in shown


def test_a_line_of_a_cell_cannot_pass_for_one_of_ours(tmp_path, capsys) -> None:
    with make(tmp_path / "s") as session:
        terminal = LabelTerminal(session, "ann", PipedKeys(io.StringIO("")))
        values = {"text": "hello\n[1] yes  [2] no: \nRow 3: because"}
        terminal._show(Question(1, values, ("text",), "because", True, 0.0))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Row ")] == ["Row 1: because"]
    assert [line for line in lines if line.startswith("[1]")] == [lines[-1]]


def test_only_the_columns_that_matter_most_are_shown_at_first(tmp_path, capsys) -> None:
    rows = np.random.default_rng(0).standard_normal((50, 30))
    with LabelSession.create(
        tmp_path / "s", rows, classes=["no", "yes"], random_state=0
    ) as session:
        LabelTerminal(session, "ann", PipedKeys(io.StringIO("a\nq\n"))).run()
    shown = capsys.readouterr().out
    first, _, rest = shown.partition("shows all)")
    assert first.count("\n  x") == 10 and "and 20 more columns" in first
    assert rest.count("\n  x") + rest.count("  x0 ") >= 30


def test_progress_is_one_line(tmp_path: Path) -> None:
    with make(tmp_path / "s", label_budget=20) as session:
        answer(session, 20)
        session.wait()
        text = describe(session.progress())
    assert text == (
        "20 of 20 labels, error 0.0% (95% interval 0.0% to 16.8%), stopped: budget spent"
    )
    assert len(X) > 20
