"""`thresher learn`, `audit` and `predict`, as a user with a file meets them."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_tables import N_PLANTED, Poisoned, poisoned, write
from estimators.saved import CONTENT
from thresher.cli.tables import AUDIT, LEARN, PREDICT
from thresher.estimators import load_model

OPTIONS = "--id-column id --noise-rate 0.1 --sparsity 2"

pytestmark = pytest.mark.usefixtures("learned")


@pytest.fixture(scope="module")
def table() -> Poisoned:
    return poisoned()


@pytest.fixture
def folder(tmp_path: Path, table: Poisoned) -> Path:
    write(table, tmp_path / "mail.csv")
    return tmp_path


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# -- learn -------------------------------------------------------------------------------------


def test_learn_prints_the_features_the_error_and_the_proof(folder, call_cli):
    done = call_cli(f"learn mail.csv {OPTIONS}", folder)
    assert done.returncode == 0
    assert "440 rows, 8 features, label 'answer': no (" in done.stdout
    assert re.search(r"^  f0 +\+0\.\d+ +yes", done.stdout, re.MULTILINE)
    assert re.search(r"^  f1 +-0\.\d+ +no", done.stdout, re.MULTILINE)
    assert re.search(r"Held-out error: \d\.\d% ± \d\.\d% \(3-fold", done.stdout)
    assert re.search(r"the\s+trust-weighted\s+variance\s+is\s+at\s+most\s+\d", done.stdout)
    assert files_in(folder) == {"mail.csv"}


def test_learn_lists_the_planted_rows_among_the_most_suspicious(folder, call_cli, table):
    printed = call_cli(f"learn mail.csv {OPTIONS}", folder).stdout
    found = re.search(r"most suspicious first: ([r\d, \n]+)", printed)
    ids = found[1].replace("\n", " ").split(",")
    rows = [int(text.strip().removeprefix("r")) for text in ids][:N_PLANTED]
    assert table.is_planted[rows].mean() >= 0.95


def test_no_line_is_wider_than_a_terminal(folder, call_cli):
    printed = call_cli(f"learn mail.csv {OPTIONS}", folder).stdout
    printed += call_cli(f"audit mail.csv {OPTIONS}", folder).stdout
    assert max(map(len, printed.splitlines())) <= 80


def test_without_a_noise_rate_it_is_estimated_and_printed(folder, call_cli):
    printed = call_cli("learn mail.csv --id-column id --sparsity 2", folder).stdout
    said = " ".join(printed.split())
    assert re.search(r"(About|An estimated) [\d.]+% of the rows \(.*\) contradict the others", said)
    assert "flipped labels" in said
    assert re.search(r"The model withstands a noise rate of [\d.]+%\.", said)
    assert "contradict" not in call_cli(f"learn mail.csv {OPTIONS}", folder).stdout


def test_without_a_sparsity_one_is_chosen(folder, call_cli):
    options = "--id-column id --noise-rate 0.1"
    printed = call_cli(f"learn mail.csv {options}", folder).stdout
    assert "uses 8 of 8 features" in printed  # all three defaults exceed the 8 features
    printed = call_cli(f"learn mail.csv {options} --choose 1,2,all", folder).stdout
    assert re.search(r"errors: 1 .*, 2 .*, 8 .*\nChosen: 2, the sparsest", printed)


def test_the_model_file_says_where_it_comes_from(folder, call_cli):
    call_cli(f"learn mail.csv {OPTIONS} --seed 3 --out model.json", folder)
    content = json.loads((folder / "model.json").read_text())
    provenance = content["provenance"]
    assert (provenance["table"], provenance["label"]) == ("mail.csv", "answer")
    assert provenance["parameters"]["random_state"] == 3
    assert 0 <= provenance["held_out_error"] < 0.1
    assert content["feature_names"] == [f"f{j}" for j in range(8)]
    assert load_model(folder / "model.json").classes == ["no", "yes"]


def test_the_same_seed_gives_the_same_bytes(folder, call_cli, learned):
    call_cli(f"learn mail.csv {OPTIONS} --out a.json --report a.html", folder)
    learned.clear()
    call_cli(f"learn mail.csv {OPTIONS} --out b.json --report b.html", folder)
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
    assert (folder / "a.html").read_bytes() == (folder / "b.html").read_bytes()


@pytest.mark.parametrize("name", ["t.tsv", "t.parquet", "t.feather", "t.svm", "t.npz"])
def test_every_format_is_learned_alike(name, folder, call_cli, table):
    write(table, folder / name)
    ids = "" if name in ("t.svm", "t.npz") else "--id-column id"
    call_cli(f"learn mail.csv {OPTIONS} --out csv.json", folder)
    done = call_cli(f"learn {name} {ids} --noise-rate 0.1 --sparsity 2 --out model.json", folder)
    assert done.returncode == 0
    models = [load_model(folder / file) for file in ("csv.json", "model.json")]
    np.testing.assert_array_equal(models[0].support, models[1].support)
    if name != "t.svm":  # which is learned as a sparse table, whose columns are not centered
        np.testing.assert_allclose(models[0].weights, models[1].weights, atol=1e-12)


def test_a_column_that_numbers_the_rows_is_left_out(folder, call_cli):
    lines = (folder / "mail.csv").read_text().replace("\nr", "\n")
    (folder / "numbered.csv").write_text(lines)
    done = call_cli("learn numbered.csv --noise-rate 0.1 --sparsity 2 --out m.json", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^  id +distinct integers +left out: looks like ids", done.stdout, re.M)
    assert "8 columns of complete numbers" in done.stdout
    assert "id" not in load_model(folder / "m.json").feature_names


def test_with_strict_a_column_that_numbers_the_rows_is_pointed_out(folder, call_cli):
    lines = (folder / "mail.csv").read_text().replace("\nr", "\n")
    (folder / "numbered.csv").write_text(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = call_cli("learn numbered.csv --noise-rate 0.1 --sparsity 2 --strict", folder)
        assert done.returncode == 0
        hint = "column 'id' looks like row numbers; if so, pass --id-column id"
        assert done.stderr == f"thresher: warning: {hint}\n"
        assert call_cli(f"learn numbered.csv {OPTIONS} --strict", folder).stderr == ""


def test_a_reader_that_has_seen_enough_is_no_failure_and_the_model_is_written(folder):
    lines = (folder / "mail.csv").read_text().splitlines(keepends=True)
    (folder / "mail.csv").write_text("".join(lines[:81]))
    command = f"{sys.executable} -m thresher learn mail.csv {OPTIONS} --out m.json | head -1"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.stdout.startswith("mail.csv: ")
    assert done.stderr == ""
    assert load_model(folder / "m.json").support.size == 2


# -- audit -------------------------------------------------------------------------------------


def test_audit_writes_what_is_known_about_every_row_in_file_order(folder, call_cli, table):
    done = call_cli(f"audit mail.csv {OPTIONS} --out rows.csv", folder)
    assert done.returncode == 0
    lines = lines_of(folder / "rows.csv")
    assert [line["id"] for line in lines] == table.columns()["id"]
    assert [line["label"] for line in lines] == table.y.tolist()
    suspicion = np.array([float(line["suspicion"]) for line in lines])
    assert suspicion.min() >= 0
    assert suspicion.max() <= 1
    most = np.argsort(-suspicion, kind="stable")[:N_PLANTED]
    assert table.is_planted[most].mean() >= 0.95
    assert all(bool(line["reason"]) == (float(line["suspicion"]) >= 0.5) for line in lines)


def test_ids_are_listed_and_how_to_get_all_rows_unless_they_are_written(folder, call_cli):
    printed = call_cli(f"audit mail.csv {OPTIONS}", folder).stdout
    written = call_cli(f"audit mail.csv {OPTIONS} --out w.csv", folder).stdout
    assert "Their ids" in printed
    assert "Their ids" in written
    assert printed.rstrip().endswith("--out ROWS.csv writes what is known about every row.")
    assert "--out" not in written


def test_when_more_stands_out_than_assumed_that_is_the_first_sentence(folder, call_cli):
    done = call_cli("audit mail.csv --id-column id --noise-rate 0.05 --sparsity 2", folder)
    first = done.stdout.split("\n\n")[1].splitlines()[0]
    assert re.match(r"More stands out than noise_rate=0\.05 allows for: \d+ rows, not 22\.", first)


def test_audit_says_why_and_what_is_proven(folder, call_cli):
    printed = call_cli(f"audit mail.csv {OPTIONS}", folder).stdout
    why = printed[printed.index("Groups of suspects that stand out alike") :]
    assert re.search(r"^1\. \d+ suspects labeled no lie [\d.]+ times as far\s", why, re.MULTILINE)
    assert re.search(r"^   f[01] +[+-]0\.\d\d +-?[23]\.\d+ ", why, re.MULTILINE)
    assert "Proven, and verified by an independent checker" in printed


def test_the_largest_number_of_planted_rows_is_whole(folder, call_cli):
    printed = call_cli("audit mail.csv --id-column id --noise-rate 0.0309 --sparsity 2", folder)
    assert "At most 13 of 440 rows are planted" in printed.stdout
    assert "the noise rate of 3.09%, in whole rows" in " ".join(printed.stdout.split())


def test_the_cleaned_file_has_the_lines_of_all_rows_but_the_suspects(folder, call_cli):
    done = call_cli(f"audit mail.csv {OPTIONS} --out rows.csv --clean cleaned.csv", folder)
    kept = [float(line["suspicion"]) < 0.5 for line in lines_of(folder / "rows.csv")]
    counts = f"({sum(kept)} rows kept, {440 - sum(kept)} dropped)"
    assert done.stdout.endswith(f"Rows: rows.csv\nCleaned: cleaned.csv {counts}\n")
    head, *lines = (folder / "mail.csv").read_text().splitlines()
    expected = [head, *(line for line, is_kept in zip(lines, kept) if is_kept)]
    assert (folder / "cleaned.csv").read_text().splitlines() == expected
    assert len(expected) < len(lines)


# -- predict -----------------------------------------------------------------------------------


@pytest.fixture
def with_model(folder: Path, call_cli) -> Path:
    call_cli(f"learn mail.csv {OPTIONS} --out model.json", folder)
    write(poisoned(seed=1), folder / "new.csv")
    return folder


def test_predictions_stand_in_the_last_column(with_model, call_cli):
    done = call_cli("predict model.json new.csv --id-column id --out p.csv", with_model)
    assert done.returncode == 0
    fresh = poisoned(seed=1)
    head, *lines = (with_model / "p.csv").read_text().splitlines()
    assert head == "id,score,prediction"
    model = load_model(with_model / "model.json")
    assert [line.split(",")[-1] for line in lines] == model.predict(fresh.X).tolist()
    scores = np.array([float(line.split(",")[1]) for line in lines])
    np.testing.assert_allclose(scores, model.decision_function(fresh.X), atol=1e-9)


def test_probabilities_stand_in_a_column_of_their_own(with_model, call_cli):
    call_cli("predict model.json new.csv --id-column id --proba --out p.csv", with_model)
    head, *lines = (with_model / "p.csv").read_text().splitlines()
    assert head == "id,score,prediction,probability_yes"
    expected = load_model(with_model / "model.json").predict_proba(poisoned(seed=1).X)[:, 1]
    assert [float(line.split(",")[3]) for line in lines] == pytest.approx(expected, abs=1e-12)


def test_a_model_of_an_earlier_version_has_no_probabilities(with_model, call_cli):
    content = json.loads((with_model / "model.json").read_text())
    del content["probability_slope"]
    content["version"] = 2 if "preparation" in content else 1
    (with_model / "model.json").write_text(json.dumps(content))
    asked = "predict model.json new.csv --id-column id --out p.csv"
    assert call_cli(asked, with_model).returncode == 0
    refused = call_cli(f"{asked} --proba", with_model)
    assert refused.returncode != 0
    assert "this model has no probabilities" in refused.stderr


def test_the_error_is_printed_where_the_truth_is_known(with_model, call_cli):
    printed = call_cli(
        "predict model.json new.csv --id-column id --label answer --out p.csv", with_model
    )
    fresh = poisoned(seed=1)
    error = np.mean(load_model(with_model / "model.json").predict(fresh.X) != fresh.y)
    assert f"error {error:.2%}" in printed.stdout


def test_the_label_of_training_is_compared_where_the_file_still_has_it(with_model, call_cli):
    asked = "predict model.json new.csv --id-column id --out p.csv"
    fresh = poisoned(seed=1)
    error = np.mean(load_model(with_model / "model.json").predict(fresh.X) != fresh.y)
    printed = call_cli(asked, with_model).stdout
    assert f"; error {error:.2%} against the labels in column 'answer' (balanced" in printed
    text = (with_model / "new.csv").read_text()
    (with_model / "new.csv").write_text(text.replace(",yes\n", ",\n", 1))
    printed = call_cli(asked, with_model).stdout
    assert "The file has no label (column 'answer') in 1 row; the first is row " in printed
    assert "; column 'answer' is ignored: some of its cells are not 'no' or 'yes'\n" in printed
    (with_model / "new.csv").write_text(text.replace(",yes\n", ",maybe\n"))
    done = call_cli(asked, with_model)
    assert "; column 'answer' is ignored" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("truth", [["1.0", "0.0"], ["1", "0"], ["01", "00"]])
def test_true_labels_are_compared_by_value(truth, folder, call_cli, table):
    as_numbers = np.where(table.y == "yes", "1", "0")
    write(replace(table, y=as_numbers), folder / "numbers.csv")
    call_cli(f"learn numbers.csv {OPTIONS} --out model.json", folder)
    spelled = np.where(table.y == "yes", *truth)
    write(replace(table, y=spelled), folder / "spelled.csv")
    options = "--id-column id --label answer --out p.csv"
    done = call_cli(f"predict model.json spelled.csv {options}", folder)
    if truth == ["01", "00"]:  # names, not numbers
        assert done.returncode == 1
        assert "labels that the model does not know: '00', '01'" in done.stderr
    else:
        error = np.mean(
            load_model(folder / "model.json").predict(table.X) != as_numbers.astype(int)
        )
        assert f"error {error:.2%}" in done.stdout


def test_a_feature_of_the_model_cannot_be_the_label(with_model, call_cli):
    done = call_cli("predict model.json new.csv --label f0 --out p.csv", with_model)
    assert "cannot have 'f0' as its label: it is a feature of the model" in done.stderr


def test_the_score_and_the_ids_are_explained(folder, call_cli):
    call_cli("learn mail.csv --noise-rate 0.1 --sparsity 2 --out model.json", folder)
    asked = "predict model.json mail.csv --out p.csv"
    done = call_cli(asked, folder)
    assert "\nPredictions: p.csv (a score above 0 means 'yes')\n" in done.stdout
    assert done.stdout.endswith(" To name them by 'id', pass --id-column id.\n")
    assert "To name" not in call_cli(f"{asked} --id-column id", folder).stdout


def test_words_may_differ_in_case(with_model, call_cli):
    text = (with_model / "new.csv").read_text().replace(",yes", ",YES").replace(",no", ",No")
    (with_model / "new.csv").write_text(text)
    printed = call_cli(
        "predict model.json new.csv --id-column id --label answer --out p.csv", with_model
    )
    fresh = poisoned(seed=1)
    error = np.mean(load_model(with_model / "model.json").predict(fresh.X) != fresh.y)
    assert f"error {error:.2%}" in printed.stdout


def test_only_the_columns_of_the_model_are_needed(with_model, call_cli):
    (with_model / "few.csv").write_text("f1,other,f0\n-1,text,2\n3,,0.5\n")
    done = call_cli("predict model.json few.csv --out p.csv", with_model)
    assert done.returncode == 0
    assert [line["prediction"] for line in lines_of(with_model / "p.csv")] == ["yes", "no"]


def test_a_missing_column_is_named_and_nothing_is_written(with_model, call_cli):
    (with_model / "few.csv").write_text("f0,f2\n1,2\n")
    done = call_cli("predict model.json few.csv --out p.csv", with_model)
    assert done.returncode == 1
    assert "'f1'" in done.stderr
    assert "p.csv" not in files_in(with_model)


def write_colors(folder: Path) -> None:
    rng = np.random.default_rng(0)
    colors = rng.choice(["red", "green", "blue"], size=300)
    lines = [f"{color},{x:.3f},{color == 'red'}" for color, x in zip(colors, rng.random(300))]
    (folder / "c.csv").write_text("\n".join(["color,x,is_red", *lines]))


def test_texts_become_categories_in_learning_and_in_prediction(folder, call_cli):
    write_colors(folder)
    refused = call_cli("learn c.csv --sparsity 1 --strict", folder)
    assert refused.returncode == 1
    assert "'color'" in refused.stderr
    assert "omit --strict" in refused.stderr
    done = call_cli("learn c.csv --sparsity 1 --out m.json --report r.html", folder)
    assert done.returncode == 0
    assert re.search(r"^  color +text, 3 values +3 columns", done.stdout, re.M)
    assert "text, 3 values" in (folder / "r.html").read_text()
    (folder / "n.csv").write_text("other,color,x\n1,red,1\n1,blue,\n1,purple,0\n1,,x\n")
    done = call_cli("predict m.json n.csv --out p.csv", folder)
    assert done.returncode == 0
    assert "1 missing cell filled in: 'color' (1)" in done.stdout
    assert "1 cell with a category that training did not have: 'color' ('purple')" in done.stdout
    said = [line["prediction"] for line in lines_of(folder / "p.csv")]
    assert said == ["True", "False", "False", "False"]


def test_one_hot_is_accepted_with_a_remark(folder, call_cli):
    write_colors(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = call_cli("learn c.csv --sparsity 1 --one-hot --out m.json", folder)
    assert done.returncode == 0
    assert "--one-hot is not needed any more" in done.stderr
    assert load_model(folder / "m.json").preparation is not None


def test_a_one_hot_model_of_an_earlier_version_still_predicts(folder, call_cli, tmp_path):
    content = {**CONTENT, "feature_names": ["x", "color=red", "c", "d"], "support": [0, 1]}
    content |= {"weights": [0.0, 1.0], "offset": -0.5, "center": [0.0, 0.0], "scale": [1.0, 1.0]}
    content |= {"provenance": {"one_hot": True}}
    (tmp_path / "m.json").write_text(json.dumps(content))
    (folder / "n.csv").write_text("color,x\nred,1\nblue,0\n")
    assert call_cli("predict m.json n.csv --out p.csv", folder).returncode == 0
    assert [line["prediction"] for line in lines_of(folder / "p.csv")] == ["yes", "no"]


def test_a_model_of_complete_numbers_predicts_rows_with_missing_cells(with_model, call_cli):
    (with_model / "gaps.csv").write_text("f1;f0\n;2,5\nunknown;2,5\n")
    done = call_cli("predict model.json gaps.csv --out p.csv", with_model)
    assert done.returncode == 0
    assert "1 missing cell filled in: 'f1' (1)" in done.stdout
    assert "1 unreadable cell filled in: 'f1' (1, the first is" in done.stdout
    model = load_model(with_model / "model.json")
    filled = np.zeros((1, 8))
    filled[0, :2] = 2.5, model.center[list(model.support).index(1)]
    scores = [float(line["score"]) for line in lines_of(with_model / "p.csv")]
    np.testing.assert_allclose(scores, 2 * list(model.decision_function(filled)), atol=1e-12)


# -- refusals ----------------------------------------------------------------------------------

MISUSE = {
    "learn": "arguments are required: FILE",
    "learn mail.csv --noise-rate 0.7": "--noise-rate: the value must be at least 0 and below",
    "learn mail.csv --noise-rate 10": "below 0.5, got 10; did you mean 0.1 (10%)?",
    "learn mail.csv --noise-rate nan": "--noise-rate: the value must be",
    "learn mail.csv --noise-rate x": "must be a number such as 0.05, got 'x'",
    "learn mail.csv --sparsity 0": "must be 'auto', 'all' or integers ≥ 1, got '0'",
    "learn mail.csv --sparsity 2,3": "use --choose for several",
    "learn mail.csv --sparsity 2 --choose": "not allowed with argument --sparsity",
    "learn mail.csv --choose 1,,2": "must be 'auto', 'all' or integers ≥ 1, got '1,,2'",
    "learn mail.csv --seed -1": "must be an integer ≥ 0, got '-1'",
    "learn mail.csv --sep xx": "must be one character, or 'tab', got 'xx'",
    "learn mail.csv --decimal x": "--decimal: unknown value 'x'; choose from '.', ','",
    "learn mail.csv --encoding klingon": "unknown encoding 'klingon'",
    "learn mail.csv --out model.txt": "must end in .json, got 'model.txt'",
    "learn mail.csv --out no/such/model.json": "folder 'no/such' does not exist",
    "learn mail.csv --report report.pdf": "must end in .html, got 'report.pdf'",
    "audit": "arguments are required: FILE",
    "audit mail.csv --out weights.json": "must end in .csv, got 'weights.json'",
    "audit mail.csv --out mail.csv": "--out would overwrite the input mail.csv",
    "audit mail.csv --clean mail.csv": "--clean would overwrite the input mail.csv",
    "audit - --clean kept.csv": "--clean reads FILE again, so it needs a file, not standard input",
    "predict model.json": "arguments are required: FILE, --out",
    "predict model.json mail.csv --out -": "--out: cannot be standard output; name a file",
    "predict model.json mail.csv --out mail.csv": "--out would overwrite the input mail.csv",
    "predict mail.csv m.json --out p.csv": "comes first: 'thresher predict m.json mail.csv --out",
    "predict mail.csv mail.csv --out p.csv": "mail.csv is a table, not a model; the model comes",
}


@pytest.mark.parametrize("arguments", MISUSE)
def test_misuse_is_one_line_with_the_reason_and_exit_code_2(arguments, folder, call_cli):
    before = (folder / "mail.csv").read_bytes()
    done = call_cli(arguments, folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("thresher: error: ")
    assert MISUSE[arguments] in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files_in(folder) == {"mail.csv"}
    assert (folder / "mail.csv").read_bytes() == before


FAILURES = {
    "learn no.csv": "tables in its folder: clash.csv, empty.csv, few.csv, gaps.csv, mail.csv",
    "learn mail.csv --strict": "'id'",  # a text column
    "learn mail.csv --id-column id --label f0": "compare it with a threshold first (f0 > ",
    "learn mail.csv --id-column id --label answr": "did you mean 'answer'",
    "learn mail.csv --id-column idd": "did you mean 'id'",
    "learn gaps.csv --strict": "'a' (2), 'b' (1)",
    "learn nothing.csv": "no column that can be a feature: 'a' (no values), 'b' (constant)",
    "learn clash.csv": "names of prepared ones: 'a is missing'",
    "learn one.csv": "two are needed",
    "learn few.csv --sparsity 1": "too small: it has 3 rows with label 0 and 1 row with label 1",
    "learn empty.csv": "is empty",
    "learn .": "error: . is a folder without Parquet or Arrow files (.parquet",
    "learn notes.doc": "supported: .csv",
    "predict no.json mail.csv --out p.csv": "no.json",
    "predict notes.doc mail.csv --out p.csv": "cannot read notes.doc (not valid JSON",
    "predict . mail.csv --out p.csv": "it is a folder",
}
FILES = {
    "gaps.csv": "a,b,y\n1,2,0\n,3,1\nNA,,1\n",
    "one.csv": "a,y\n1,0\n2,0\n",
    "few.csv": "a,y\n1,0\n2,0\n3,0\n3,1\n",
    "empty.csv": "",
    "notes.doc": "hello",
    "log.txt": "no table",
    "nothing.csv": "a,b,y\n,u,0\n,u,1\n,u,1\n",
    "clash.csv": "a,a is missing,y\n1,0,0\n,1,1\n2,3,1\n",
}


@pytest.mark.parametrize("arguments", FAILURES)
def test_a_file_that_cannot_be_used_is_one_line_and_exit_code_1(arguments, folder, call_cli):
    for name, content in FILES.items():
        (folder / name).write_text(content)
    before = files_in(folder)
    options = "" if "predict" in arguments else "--out m.json --report r.html"
    done = call_cli(f"{arguments} {options}", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert FAILURES[arguments] in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files_in(folder) == before


def test_an_output_that_cannot_be_written_leaves_the_old_one(folder, call_cli, monkeypatch):
    (folder / "model.json").write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    done = call_cli(f"learn mail.csv {OPTIONS} --out model.json", folder)
    assert done.returncode == 1
    assert "disk full" in done.stderr
    assert (folder / "model.json").read_text() == "old"
    assert files_in(folder) == {"mail.csv", "model.json"}


def test_an_interrupt_is_answered_within_two_seconds(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 200))
    np.savez(tmp_path / "t.npz", X=X, y=(X[:, 0] > 0).astype(int))
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "learn", "t.npz", "--out", "model.json"],
        cwd=tmp_path,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "learning\n"
    time.sleep(0.5)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=30)
    assert time.monotonic() - start < 2
    assert (process.returncode, printed) == (130, "thresher: interrupted\n")
    assert files_in(tmp_path) == {"t.npz"}


# A shell that starts the tests in the background makes them ignore interrupts.
INTERRUPTIBLE = """
import signal, sys
from thresher import auditing, cli

def learn(*arguments, **options):
    print("learning", flush=True)
    return examine(*arguments, **options)

examine, auditing.examine = auditing.examine, learn
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("verb", [LEARN, AUDIT, PREDICT], ids=lambda verb: verb.name)
def test_help_fits_a_screen_and_ends_in_the_example(verb, tmp_path, call_cli):
    lines = call_cli(f"{verb.name} --help", tmp_path).stdout.splitlines()
    assert len(lines) <= 24
    assert lines[-1] == f"example: {verb.example}"


def test_names_that_no_model_may_have_are_refused_before_learning(tmp_path, call_cli, monkeypatch):
    def learn(*_: object, **__: object) -> None:
        raise AssertionError("learning has begun")

    monkeypatch.setattr("thresher.auditing.examine", learn)
    (tmp_path / "t.csv").write_text("a,b\x1b[2J,y\n1,2,0\n3,4,1\n")
    done = call_cli("learn t.csv --out model.json", tmp_path)
    assert done.returncode == 1
    assert "t.csv has control characters in the column name 'b\\x1b[2J'" in done.stderr
