"""Hostile files: one line that says what is wrong, or a complete model and weights."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from csv import DictReader
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from thresher import auditing
from thresher.cli import main
from thresher.estimators import load_model, model_file

pytestmark = pytest.mark.usefixtures("learned")  # once for both verbs

MOST_SECONDS = 5.0
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)).round(6)
Y = np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")
HEAD = "a,b,c,d,y"


def csv(rows: np.ndarray = X, labels: np.ndarray = Y, head: str = HEAD) -> str:
    lines = (",".join([*map(str, row), str(label)]) for row, label in zip(rows.tolist(), labels))
    return "\n".join([head, *lines]) + "\n"


def cell(text: object, i: int = 7, j: int = 2) -> str:
    """The table with one other cell."""
    rows = X.astype(object)
    rows[i, j] = text
    return csv(rows)


def column(values: object, j: int = 2) -> str:
    """The table with one other column."""
    rows = X.astype(object)
    rows[:, j] = values
    return csv(rows)


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def without_the_end(content: bytes, n_bytes: int) -> bytes:
    return content[:-n_bytes]


PICKLED = npz(X=X.astype(object), y=Y)
LEARNED = {
    "large-cell.csv": cell("1e15"),
    "denormal-cell.csv": cell("5e-324"),
    "negative-zero.csv": cell("-0.0"),
    "denormal-column.csv": column(5e-324),
    "tiny-column.csv": column(1e-300 * X[:, 2]),
    "constant-column.csv": column(3.0),
    "zero-column.csv": column(0.0),
    "duplicate-columns.csv": column(X[:, 0]),
    "nearly-duplicate-columns.csv": column(X[:, 0] + 1e-12),
    "collinear-columns.csv": column(X[:, 0] + X[:, 1]),
    "label-as-feature.csv": column(np.where(Y == "yes", 1, -1)),
    "duplicate-rows.csv": csv(np.repeat(X[:6], 10, axis=0), np.repeat(Y[:6], 10)),
    "rank-one.csv": csv(np.outer(X[:, 0], [1, 2, 3, 4])),
    "one-feature.csv": csv(X[:, :1], head="a,y"),
    "six-rows.csv": csv(np.vstack([X[Y == "no"][:3], X[Y == "yes"][:3]]), np.repeat(["n", "y"], 3)),
    "numbers-as-labels.csv": csv(labels=np.where(Y == "yes", 1, 0)),
    "labels-with-spaces.csv": csv(labels=np.where(Y == "yes", '"a b"', '"c, d"')),
    "labels-of-markup.csv": csv(labels=np.where(Y == "yes", "<b>", "&amp;")),
    "names-of-markup.csv": csv(
        labels=np.where(Y == "yes", "<b>", "&amp;"), head="<script>,b&b,'名前',🌾;d,y"
    ),
    "unicode-names.csv": csv(head="größe,名前,🌾,d,y"),
    "windows-lines.csv": csv().replace("\n", "\r\n"),
    "byte-order-mark.csv": "\ufeff" + csv(),
    "no-last-newline.csv": csv().rstrip("\n"),
    "empty-last-lines.csv": csv() + "\n\n",
    "quoted-cells.csv": csv().replace("yes", '"yes"'),
    "booleans.csv": column(np.where(X[:, 2] > 0, "true", "false")),
    "contradicting-rows.csv": csv(np.repeat(X[:30], 2, axis=0), np.tile(["no", "yes"], 30)),
    "separable-by-a-hair.csv": csv(X * 1e-9),
    "gzipped.csv.gz": gzip.compress(csv().encode()),
    "plain.npz": npz(X=X, y=Y),
    "integers.npz": npz(X=(10 * X).astype(np.int8), y=Y),
    "half-precision.npz": npz(X=X.astype(np.float16), y=Y),
    "no-features-named.svm": "\n".join(
        f"{s} 1:{a} 3:{b}" for s, (a, b) in zip([1, -1] * 30, X[:, :2].tolist())
    ),
}
REFUSED: dict[str, tuple[str | bytes, str]] = {  # and the reason
    "huge-column.csv": (column(1e300 * X[:, 2]), "values beyond ±1e+100 in 1 column: 'c' (60)"),
    "negative-huge-cell.csv": (
        cell("-1e308"),
        "values beyond ±1e+100 in 1 column: 'c' (1); the first is in column 'c', row 7 (line 9)",
    ),
    "huge-cell.csv": (cell("1e308"), "values beyond ±1e+100"),
    "nan-cell.csv": (cell("nan"), "missing values in 1 column: 'c' (1)"),
    "infinite-cell.csv": (cell("inf"), "infinite values in 1 column: 'c' (1)"),
    "minus-infinite-cell.csv": (cell("-inf"), "infinite values in 1 column: 'c' (1)"),
    "too-large-for-a-number.csv": (cell("1e999"), "infinite values in 1 column: 'c' (1)"),
    "empty-cell.csv": (
        cell(""),
        "missing values in 1 column: 'c' (1); the first is in column 'c', row 7 (line 9)",
    ),
    "text-cell.csv": (
        cell("hello"),
        "1 column of text: 'c'; the first is 'hello' in column 'c', row 7 (line 9)",
    ),
    "date-cell.csv": (cell("2026-11-15"), "1 column of text: 'c'; the first is '2026-11-15'"),
    "formula-cell.csv": (cell("=1+1"), "1 column of text: 'c'; the first is '=1+1'"),
    "comma-for-a-point.csv": (cell('"1,5"'), "1 column of text: 'c'; the first is '1,5'"),
    "nan-column.csv": (column("nan"), "missing values in 1 column: 'c' (60)"),
    "empty-column.csv": (column(""), "missing values in 1 column: 'c' (60)"),
    "one-class.csv": (csv(labels=np.full(60, "yes")), "1 distinct label in column 'y': 'yes' (60)"),
    "three-classes.csv": (
        csv(labels=np.resize(["a", "b", "c"], 60)),
        "3 distinct labels in column 'y'",
    ),
    "labels-are-numbers.csv": (csv(labels=X[:, 0]), "60 distinct labels in column 'y'"),
    "missing-label.csv": (
        csv(labels=np.where(np.arange(60) == 5, "", Y)),
        "no label (column 'y') in 1 row; the first is row 5 (line 7)",
    ),
    "one-row.csv": (csv(X[:1], Y[:1]), "1 distinct label"),
    "only-a-head.csv": (HEAD + "\n", "columns but no rows"),
    "only-a-label.csv": ("y\nno\nyes\n", "no feature columns, only 'y'"),
    "empty.csv": ("", "is empty"),
    "blank.csv": ("\n\n\n", "is blank"),
    "short-line.csv": (
        csv().replace(csv().splitlines()[9], "1,2,no"),
        "3 cells on line 10 but 5 columns",
    ),
    "long-line.csv": (
        csv().replace(csv().splitlines()[9], "1,2,3,4,5,no"),
        "6 cells on line 10 but 5 columns",
    ),
    "same-names.csv": (csv(head="a,a,c,d,y"), "duplicate column names: 'a'"),
    "nameless-column.csv": (csv(head="a,,c,d,y"), "a column without a name, number 2 of 5"),
    "open-quote.csv": (csv().replace("yes", '"yes', 1), "1 distinct label in column 'y'"),
    "zero-bytes.csv": (
        csv().encode().replace(b"no", b"\0\0", 1),
        "3 distinct labels in column 'y'",
    ),
    "latin-1.csv": (
        csv(head="gr\u00f6\u00dfe,b,c,d,y").encode("latin-1"),
        "not UTF-8: line 1 has the byte 0xf6",
    ),
    "utf-16.csv": (csv().encode("utf-16"), "not UTF-8: line 1 has the byte 0xff"),
    "noise.csv": (RNG.bytes(2000), "not UTF-8"),
    "not-gzipped.csv.gz": (csv(), "damaged, truncated"),
    "cut-off.csv.gz": (without_the_end(gzip.compress(csv().encode()), 30), "damaged, truncated"),
    "cut-off.npz": (without_the_end(npz(X=X, y=Y), 200), "damaged, truncated"),
    "no-labels.npz": (npz(X=X), "no array 'y' of labels"),
    "pickled.npz": (PICKLED, "pickled objects in 'X'"),
    "three-dimensions.npz": (npz(X=X.reshape(60, 2, 2), y=Y), "'X' with shape (60, 2, 2)"),
    "complex.npz": (npz(X=X + 1j, y=Y), "'X' with shape (60, 4) and type complex128"),
    "other-length.npz": (npz(X=X, y=Y[:-1]), "'y' with shape (59,)"),
    "indices-out-of-range.npz": (
        npz(X_data=np.ones(2), X_indices=[0, 9], X_indptr=[0, 1, 2], X_shape=[2, 3], y=["a", "b"]),
        "must be < 3",
    ),
    "claims-to-be-huge.npz": (
        npz(X_data=np.ones(1), X_indices=[0], X_indptr=[0, 1], X_shape=[2**40, 2**40], y=["a"]),
        "index pointer size",
    ),
    "noise.parquet": (b"PAR1" + RNG.bytes(500) + b"PAR1", "damaged, truncated"),
    "noise.arrow": (b"ARROW1\0\0" + RNG.bytes(500), "damaged, truncated"),
    "nonsense.svm": ("1 2:3\n-1 hello\n", "line 2 is '-1 hello'"),
    "huge-index.svm": ("1 1:1\n-1 999999999999999:1\n", "line 2 is '-1 999999999999999:1'"),
    "no-ending": (csv(), "has no extension"),
}
# What is refused only with --strict.
PREPARED = {
    "huge-column.csv",
    "negative-huge-cell.csv",
    "huge-cell.csv",
    "nan-cell.csv",
    "infinite-cell.csv",
    "minus-infinite-cell.csv",
    "too-large-for-a-number.csv",
    "empty-cell.csv",
    "text-cell.csv",
    "date-cell.csv",
    "formula-cell.csv",
    "comma-for-a-point.csv",
    "nan-column.csv",
    "empty-column.csv",
    "nameless-column.csv",
    "latin-1.csv",
    "utf-16.csv",
}
FILES: dict[str, str | bytes] = {
    **LEARNED,
    **{name: content for name, (content, _) in REFUSED.items()},
}
# What arrays of these numbers give is tested with the estimators; and another file has the odd
# names and labels of both of the last two.
LEARNED_ELSEWHERE = {
    "large-cell.csv",
    "denormal-cell.csv",
    "negative-zero.csv",
    "denormal-column.csv",
    "zero-column.csv",
    "duplicate-columns.csv",
    "nearly-duplicate-columns.csv",
    "collinear-columns.csv",
    "duplicate-rows.csv",
    "integers.npz",
    "half-precision.npz",
    "labels-of-markup.csv",
    "unicode-names.csv",
}
PREPARED_ALIKE = ["text-cell.csv", "nan-column.csv", "latin-1.csv"]
DRAWN = {"names-of-markup.csv", "constant-column.csv"}


@pytest.fixture
def run_verb(
    tmp_path: Path, call_cli, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], tuple[int, str]]:
    """Run a verb on the file of that name; exit code and message, within the time.

    Without the bound on what planted rows can hide, which takes as long as the rest.
    """
    monkeypatch.setattr(auditing.examination, "MOST_BOUNDED_COLUMNS", 0)

    def run(verb: str, name: str) -> tuple[int, str]:
        content = FILES[name]
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        start = time.process_time()
        done = call_cli(f"{verb} {name}", tmp_path)
        assert time.process_time() - start < MOST_SECONDS
        assert "Traceback" not in done.stderr + done.stdout
        assert (tmp_path / name).read_bytes() == data
        return done.returncode, done.stderr

    return run


@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
@pytest.mark.filterwarnings("ignore::thresher.errors.UncertifiedPhase")
@pytest.mark.parametrize(
    ("name", "phases"),
    [(name, "two") for name in [*LEARNED, *PREPARED_ALIKE] if name not in LEARNED_ELSEWHERE]
    + [pytest.param(name, "all", marks=pytest.mark.slow) for name in [*LEARNED, *sorted(PREPARED)]],
)
def test_what_can_be_learned_gives_a_model_and_an_audit(name, phases, run_verb, tmp_path) -> None:
    assert phases in ("two", "all")  # as `learned` chooses
    report = "--report report.html" if name in DRAWN else ""  # which takes longer than learning
    rate = "--noise-rate 0.1" if phases == "two" else ""  # estimated by the slow tests alone
    code, message = run_verb(f"learn --sparsity 2 {rate} --out model.json {report}", name)
    assert code == 0, message
    model = load_model(tmp_path / "model.json")
    assert np.isfinite([*model.weights, model.offset]).all()
    assert json.loads((tmp_path / "model.json").read_text())["provenance"]["table"] == name
    code, message = run_verb(f"audit --sparsity 2 {rate} --out rows.csv", name)
    assert code == 0, message
    with (tmp_path / "rows.csv").open(newline="") as file:
        suspicion = [float(line["suspicion"]) for line in DictReader(file)]
    assert len(suspicion) >= 6
    assert all(0 <= value <= 1 for value in suspicion)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line_with_the_reason(
    name, run_verb, tmp_path
) -> None:
    strict = "--strict" if name in PREPARED else ""
    options = f"--sparsity 2 --out model.json --report report.html {strict}"
    code, message = run_verb(f"learn {options}", name)
    assert code in (1, 2)
    assert message.startswith("thresher: error: ")
    assert len(message.splitlines()) == 1
    assert name in message
    assert REFUSED[name][1] in message
    assert [path.name for path in tmp_path.iterdir()] == [name]


# -- characters that steer a terminal ----------------------------------------------------------

ODD = "\x1b[31m\x07\x9b2J\u202e"


@pytest.fixture
def odd_file(tmp_path: Path) -> str:
    """A table whose file name, columns, labels and ids would steer a terminal."""
    ids = np.array([f"{i}{ODD}" for i in range(len(X))])
    labels = np.where(Y == "yes", f"yes{ODD}", f"=no{ODD}")
    rows = np.column_stack([ids, X.astype(object)])
    name = f"t{ODD}.csv"
    head = ",".join(["id", *(f"{name}{ODD}" for name in "abcdy")])
    (tmp_path / name).write_text(csv(rows, labels, head=head))
    return name


@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
@pytest.mark.parametrize(
    "command",
    [
        "learn {} --sparsity 2 --noise-rate 0.1 --id-column id --report report.html",
        "audit {} --sparsity 2 --noise-rate 0.1 --id-column id --out rows.csv",
        "audit {} --sparsity 2 --noise-rate 0.1 --id-column id",
        "learn {} --sparsity 2 --strict",  # the id column is text: refused, with the file's name
        "learn {} --sparsity 2 --noise-rate 0.1",  # the id column is left out
        "learn {} --label nowhere",
        "learn {} --nonsense" + ODD,
        "audit {} --out " + ODD + ".html",
    ],
)
def test_no_name_steers_the_terminal(command: str, odd_file: str, tmp_path, call_cli) -> None:
    done = call_cli(command.format(shlex.quote(odd_file)), tmp_path)
    told = done.stdout + done.stderr
    assert told.replace("\n", "").isprintable()
    assert "\\x1b[31m" in told or "--report" in command


@pytest.mark.parametrize("head", [f"a,b,c,d,y{ODD}", f"a,b{ODD},c,d,y"])
def test_what_no_model_can_have_is_refused_before_the_work(
    head: str, tmp_path, call_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "examine", lambda *_, **__: pytest.fail("learned"))
    (tmp_path / "t.csv").write_text(csv(head=head))
    done = call_cli("learn t.csv --sparsity 2 --out model.json", tmp_path)
    assert done.returncode == 1
    assert "t.csv has control characters in the column name" in done.stderr


def test_more_names_than_a_model_can_have_are_refused_before_the_work(
    tmp_path, call_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "examine", lambda *_, **__: pytest.fail("learned"))
    monkeypatch.setattr(model_file, "MAX_MARKS", 3)
    (tmp_path / "t.csv").write_text(csv())
    done = call_cli("learn t.csv --sparsity 2 --out model.json", tmp_path)
    assert done.returncode == 1
    assert "the model cannot be saved" in done.stderr


def test_a_model_of_a_file_with_an_odd_name_names_it_visibly(tmp_path, call_cli) -> None:
    name = f"t{ODD}.csv"
    (tmp_path / name).write_text(csv())
    done = call_cli(f"learn {shlex.quote(name)} --sparsity 2 --out model.json", tmp_path)
    assert done.returncode == 0, done.stderr
    assert load_model(tmp_path / "model.json").provenance["table"].startswith("t\\x1b[31m")


@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
def test_pictures_of_odd_names_are_valid(odd_file: str, tmp_path, call_cli) -> None:
    command = f"learn {shlex.quote(odd_file)} --sparsity 2 --id-column id --report report.html"
    assert call_cli(command, tmp_path).returncode == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    assert pictures
    for picture in pictures:
        ElementTree.fromstring(base64.b64decode(picture))


@pytest.mark.filterwarnings("ignore::thresher.errors.DistrustedClass")
def test_weights_are_safe_for_spreadsheets_unless_asked_otherwise(
    odd_file: str, tmp_path, call_cli
) -> None:
    for option, label in (("", "'=no"), ("--raw-csv", "=no")):
        command = f"audit {shlex.quote(odd_file)} --sparsity 2 --id-column id --out w.csv {option}"
        assert call_cli(command, tmp_path).returncode == 0
        lines = (tmp_path / "w.csv").read_text(encoding="utf-8").splitlines()[1:]
        assert {line.split(",")[1] for line in lines} == {f"yes{ODD}", f"{label}{ODD}"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_our_signs_gets_others(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "größe.csv").write_text(csv())
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding))
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "größe.csv", "--sparsity", "2", "--out", "model.json"]) == 0
    told = printed.getvalue().decode(encoding)
    assert ("+/-" in told, "gr\\xf6\\xdfe.csv" in told) == (encoding == "ascii",) * 2
