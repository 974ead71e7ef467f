"""The bars of the harm study are what its records say, and so is its page."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import harm
from benchmarks.harm import Fit, methods_on
from benchmarks.harm_bars import (
    PEER,
    Bar,
    bars_of,
    cells_of,
    load,
    main,
    paired,
    source_of,
    with_peer,
    write,
)
from benchmarks.harm_tables import ENRON, TABLES
from thresher.experiments.arena.run import RecordFile
from thresher.experiments.spec import THRESHER

STUDIES = Path(__file__).parents[1] / "docs" / "studies"


def records(errors: dict[str, list[float]], **changes: object) -> list[dict]:
    """The records of some methods: the error of each on every split."""
    made = []
    for method, values in errors.items():
        for seed, error in enumerate(values):
            fit = Fit("spambase", seed, "none", None, method)
            fit = replace(fit, **{k: v for k, v in changes.items() if hasattr(fit, k)})
            outcome = {"error": error, "balanced_error": error, "cpu_seconds": 1.0}
            outcome |= {"cv_error": error, "n_train": 3000}
            more = {k: v for k, v in changes.items() if not hasattr(fit, k)}
            made.append(harm.record_of(fit, "finished", **{**outcome, **more}))
    return made


def frame_of(tmp_path: Path, *parts: list[dict]) -> pd.DataFrame:
    path = tmp_path / "made.jsonl"
    path.unlink(missing_ok=True)
    with RecordFile(path) as file:
        for part in parts:
            for record in part:
                file.append(record)
    return load(path)


def found(bars: list[Bar], bar: str, what: str) -> Bar:
    return next(one for one in bars if one.bar == bar and what in one.what)


CLEAN = {THRESHER: [0.05, 0.07], "l1-logistic": [0.06, 0.06], "linear-svm": [0.05, 0.08]}
HURT = {THRESHER: [0.06, 0.09], "l1-logistic": [0.16, 0.16], "linear-svm": [0.15, 0.18]}


def test_the_peer_is_the_one_that_its_own_cross_validation_prefers(tmp_path: Path) -> None:
    done = with_peer(frame_of(tmp_path, records(CLEAN)))
    peer = done[done["method"] == PEER].set_index("seed")["error"]
    assert peer.round(6).to_dict() == {0: 5.0, 1: 6.0}


def test_there_is_no_peer_where_one_of_the_two_is_missing(tmp_path: Path) -> None:
    errors = {**CLEAN, "linear-svm": [0.01]}
    done = with_peer(frame_of(tmp_path, records(errors)))
    assert done[done["method"] == PEER]["seed"].tolist() == [0]
    assert len(paired(done, THRESHER, PEER)) == 1


def test_differences_are_paired_and_have_a_standard_error(tmp_path: Path) -> None:
    bars = bars_of(
        frame_of(tmp_path, records(CLEAN), records(HURT, attack="min-max", strength=0.2))
    )
    clean = found(bars, "W1", "clean")  # 5 − 5 and 7 − 6 points
    assert (clean.value, clean.standard_error) == pytest.approx((0.5, 0.5))
    assert found(bars, "W2", "all attacks").value == pytest.approx(-8.0)
    assert found(bars, "W2", "min-max").value == pytest.approx(-8.0)


def test_strengths_are_averaged_within_a_split_before_the_splits_are_compared(
    tmp_path: Path,
) -> None:
    opposite = {**HURT, THRESHER: [0.30, 0.27]}  # +15 and +11 where the first has −9 and −7
    parts = [
        records(errors, attack="min-max", strength=strength)
        for errors, strength in ((HURT, 0.2), (opposite, 0.4))
    ]
    bar = found(bars_of(frame_of(tmp_path, records(CLEAN), *parts)), "W2", "min-max")
    assert (bar.value, bar.standard_error) == pytest.approx((2.5, 0.5))


@pytest.mark.parametrize(
    ("value", "error", "kept"),
    [(0.9, 0.0, "yes"), (1.1, 0.0, "NO"), (1.1, 0.6, "yes"), (math.nan, 0.0, "not measured")],
)
def test_a_bar_is_kept_below_its_limit_or_within_two_standard_errors(value, error, kept) -> None:
    assert Bar("W1", "t", "clean", value, 1.0, error).verdict == kept


def test_rises_are_compared_with_half_of_the_peers(tmp_path: Path) -> None:
    parts = records(CLEAN), records(HURT, attack="min-max", strength=0.2)
    bars = bars_of(frame_of(tmp_path, *parts))
    half, most = found(bars, "W3", "half"), found(bars, "W3", "largest rise (min-max 0.2)")
    assert half.value == pytest.approx(1.5)  # from 6 to 7.5
    assert half.limit == pytest.approx(5.0)  # from 5.5 to 15.5
    assert half.holds and most.holds
    small = [replace_fields(record, n_train=300) for part in parts for record in part]
    assert not [bar for bar in bars_of(frame_of(tmp_path, small)) if bar.bar == "W3"]


def replace_fields(record: dict, **changes: object) -> dict:
    changed = {**record, **changes}
    names = ("table", "seed", "attack", "strength", "method")
    return {**changed, "run": Fit(*(changed[name] for name in names)).run}


def test_on_the_reviews_the_limit_is_severs_rise(tmp_path: Path) -> None:
    clean, hurt = {**CLEAN, "sever": [0.1, 0.1]}, {**HURT, "sever": [0.11, 0.11]}
    parts = records(clean), records(hurt, attack="min-max", strength=0.2)
    reviews = [replace_fields(r, table="movie_reviews") for part in parts for r in part]
    bar = found(bars_of(frame_of(tmp_path, reviews)), "W3", "Sever's")
    assert (bar.value, bar.limit, bar.verdict) == pytest.approx((1.5, 1.0, "NO"))


def test_a_trusted_forest_is_compared_with_the_forest(tmp_path: Path) -> None:
    forests = {"forest": [0.04, 0.04], "trusted-forest": [0.04, 0.05]}
    parts = [records(forests)]
    for strength, ours, theirs in ((0.0, 0.06, 0.05), (1.0, 0.06, 0.2)):
        errors = {"forest": [theirs] * 2, "trusted-forest": [ours] * 2}
        parts.append(records(errors, attack="label-flip", strength=strength))
    bars = bars_of(frame_of(tmp_path, *parts))
    assert found(bars, "W4", "flips 0").value == pytest.approx(2.0)
    assert found(bars, "W4", "flips 0").verdict == "NO"
    assert found(bars, "W4", "flips 1").verdict == "yes"
    assert found(bars, "W4", "above the forest").value == pytest.approx(1.0)


def test_enron_is_judged_by_its_largest_error(tmp_path: Path) -> None:
    made = records({THRESHER: [0.05, 0.07]}, table=ENRON, attack="L2", strength=1.0)
    bars = bars_of(frame_of(tmp_path, made))
    worst = found(bars, "W6", "at 1%")
    assert worst.value == pytest.approx(7.0) and not worst.holds
    assert found(bars, "W6", "at 3%").verdict == "not measured"


def test_the_cost_is_that_of_l1_logistic_regression(tmp_path: Path) -> None:
    made = records({"l1-logistic": [0.1]}, table="rcv1_small", cpu_seconds=2.0)
    made += records({THRESHER: [0.1]}, table="rcv1_small", cpu_seconds=30.0)
    assert found(bars_of(frame_of(tmp_path, made)), "W5", "CPU").value == 15.0


def test_a_cell_counts_what_did_not_finish(tmp_path: Path) -> None:
    failed = harm.record_of(Fit("spambase", 2, "none", None, THRESHER), "failed", "MemoryError")
    cells = cells_of(frame_of(tmp_path, records(CLEAN), [failed])).set_index("method")
    assert cells.loc[THRESHER, "n_unfinished"] == 1 and cells.loc[THRESHER, "n_splits"] == 2
    assert cells.loc[THRESHER, "error"] == pytest.approx(6.0)


def test_the_exit_status_says_whether_the_bars_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    for errors, status in ((CLEAN, 0), ({**CLEAN, THRESHER: [0.2, 0.2]}, 1)):
        frame_of(tmp_path, records(errors))
        assert main([str(tmp_path / "made.jsonl")]) == status
    assert "NO" in capsys.readouterr().out


# -- the page --------------------------------------------------------------------------------


@pytest.fixture
def harm_page(monkeypatch: pytest.MonkeyPatch):
    names = ("harm_page", "cells")  # anew: other tests import them as well
    monkeypatch.syspath_prepend(STUDIES)
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("harm_page")
    for name in names:
        sys.modules.pop(name, None)


def rows_of(harm_page, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["cells"], "HERE", folder)
    return harm_page.read_rows("harm"), harm_page.read_rows("harm-bars")


def test_the_page_begins_with_where_thresher_loses(
    tmp_path: Path, harm_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = {**HURT, THRESHER: [0.3, 0.31], "forest": [0.02, 0.02]}
    parts = (
        records({**CLEAN, "forest": [0.02, 0.02]}),
        records(lost, attack="min-max", strength=0.2),
    )
    write(frame_of(tmp_path, *parts), tmp_path)
    rows = rows_of(harm_page, tmp_path, monkeypatch)
    page = harm_page.page(*rows)
    assert page.index("Where Thresher loses") < page.index("Where it wins")
    assert "*spambase*: under min-max 0.2 30.5% against 15.5%." in page
    better = "random forest on spambase (2.0% against 6.0%)."
    assert f"On clean rows, undefended trees beat Thresher by more than 1 point: {better}" in page
    assert "| spambase | Thresher | 6.0 | 30.5 | 30.5 | 6.0 | 30.5 | min-max 0.2 | 2 |" in page
    assert "| min-max 0.2 | +15.0 ± 0.0 |" in page and "Nowhere" in page
    assert len(harm_page.draw(rows[0]).axes) == 1


def test_a_page_without_losses_says_so(
    tmp_path: Path, harm_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = records(CLEAN), records(HURT, attack="min-max", strength=0.2)
    write(frame_of(tmp_path, *parts), tmp_path)
    page = harm_page.page(*rows_of(harm_page, tmp_path, monkeypatch))
    assert "On no table is it behind the peer by more than 1 point" in page
    assert "on average over the attacks: spambase −8.0." in page


def test_the_page_also_names_small_losses(
    tmp_path: Path, harm_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = {**CLEAN, THRESHER: [0.01, 0.01]}
    for clean, is_behind in ((CLEAN, True), (better, False)):
        write(frame_of(tmp_path, records(clean), records(HURT, attack="min-max")), tmp_path)
        page = harm_page.page(*rows_of(harm_page, tmp_path, monkeypatch))
        assert ("Its mean error is higher" in page) == is_behind
        assert ("in 1 of 2 comparisons, most on spambase clean (+0.5 ± 1.0)." in page) == is_behind


def test_the_page_names_what_was_not_measured(
    tmp_path: Path, harm_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = records(CLEAN), records({**HURT, "forest": [0.1, 0.1]}, attack="min-max", strength=0.2)
    more = records({"forest": [0.1]}, attack="far-clump", strength=2.0)
    write(frame_of(tmp_path, *parts, more), tmp_path)
    page = harm_page.page(*rows_of(harm_page, tmp_path, monkeypatch))
    line = next(line for line in page.splitlines() if "Fewer splits" in line)
    for title, n_splits in {"random forest": 1, "Thresher": 0, "boosting": 0, "Sever": 0}.items():
        assert f"{title} on spambase ({n_splits} of 5)" in line
    assert "the peer" not in line


def test_the_page_plans_what_the_study_does(harm_page) -> None:
    for table in TABLES.values():
        counts = {name: harm_page.planned(table.name, name) for name in harm_page.TITLES}
        wanted = {name for name, n_splits in counts.items() if n_splits}
        assert wanted == set(methods_on(table))
        assert set(counts.values()) - {0} == {len(table.seeds)}


def test_the_page_is_what_its_cells_say(harm_page) -> None:
    if not harm_page.PAGE.exists():
        assert not (STUDIES / "harm.csv").exists()  # then python docs/studies/studies.py is missing
        return
    rows = harm_page.read_rows("harm"), harm_page.read_rows("harm-bars")
    assert harm_page.PAGE.read_text(encoding="utf-8") == harm_page.page(*rows)


def test_a_source_is_named_only_if_all_fits_have_it() -> None:
    assert source_of(["a", "a"]) == "a"
    assert source_of(["a", "b"]) == source_of(["a", ""]) == source_of([]) == ""
