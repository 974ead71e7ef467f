"""Sweeps: what a TOML file stands for, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.arena.arenas import LEARNER, WORLD, tiny
from thresher.errors import DamagedFile, ThresherError
from thresher.experiments.arena import Sweep, load_sweeps, shipped_names
from thresher.experiments.arena.sweep import _KEYS, MAX_RUNS, SPEC_KEYS
from thresher.rivals.methods import MISSING
from thresher.simulate import ADVERSARIES

ATTACK = """
[[adversaries]]
adversary = "in-band-mass"
"""


def load(text: str) -> Sweep:
    return Sweep.from_text(text, name="test")


def scheduled(schedule: str) -> str:
    """A spec with one learner that has this schedule."""
    return f"{WORLD}[[learners]]\nname = 'a'\nschedule = {{ {schedule} }}"


# -- expansion ---------------------------------------------------------------------------------


def test_a_list_stands_for_each_of_its_values() -> None:
    sweep = load("[[worlds]]\nn_features = [20, 30]\nsparsity = [1, 2, 3]")
    sizes = [(spec.n_features, spec.sparsity) for _, spec in sweep.entries]
    assert sizes == [(20, 1), (20, 2), (20, 3), (30, 1), (30, 2), (30, 3)]


def test_kinds_of_blocks_are_multiplied_and_blocks_of_a_kind_are_added() -> None:
    sweep = load(
        "[[worlds]]\nn_features = 20\nsparsity = 1\nnoise_rate = 0.1\n"
        "[[worlds]]\nn_features = 30\nsparsity = 1\nnoise_rate = 0.1\n"
        f"{ATTACK}strength = [1, 2]\n[[adversaries]]\nadversary = 'label-flip'\n"
        "[[budgets]]\nlabel_budget = [50, 100]\n[[learners]]\nname = 'a'\n"
        "[[learners]]\nname = 'b'\nschedule = { reuse_labels = false }\n"
    )
    assert len(sweep.entries) == 2 * 3 * 2 * 2
    assert Counter(name for name, _ in sweep.entries) == {"a": 12, "b": 12}


def test_without_noise_all_adversaries_are_nobody() -> None:
    sweep = load(f"{WORLD}noise_rate = [0.0, 0.1]\n{ATTACK}strength = [1, 2, 3]")
    clean = [spec for _, spec in sweep.entries if spec.noise_rate == 0]
    assert [(spec.adversary, spec.strength) for spec in clean] == [("none", None)]
    assert len(sweep.entries) == 4


def test_a_block_that_is_written_twice_counts_once() -> None:
    assert len(load(WORLD + WORLD).entries) == 1


def test_lists_in_a_schedule_are_told_apart_in_the_name() -> None:
    sweep = load(scheduled("shrink = [0.5, 0.6]"))
    assert [name for name, _ in sweep.entries] == ["a, shrink 0.5", "a, shrink 0.6"]
    assert [spec.schedule["shrink"] for _, spec in sweep.entries] == [0.5, 0.6]


def learners(text: str) -> list[tuple[str, str, float]]:
    entries = load(f"{WORLD}[[learners]]\n{text}").entries
    return [(name, spec.method, spec.budget_factor) for name, spec in entries]


def test_a_learner_may_name_a_method_and_a_share_of_labels() -> None:
    text = "name = 'many'\nmethod = 'zhang-2018'\nbudget_factor = 10"
    assert learners(text) == [("many", "zhang-2018", 10)]


def test_a_method_bears_its_own_name_unless_given_another() -> None:
    both = "method = ['zhang-2018', 'zeng-shen']"
    assert [name for name, *_ in learners(both)] == ["zhang-2018", "zeng-shen"]
    named = learners(f"name = 'rival'\n{both}")
    assert [name for name, *_ in named] == ["rival, method zhang-2018", "rival, method zeng-shen"]


def test_shares_of_labels_are_told_apart_in_the_name() -> None:
    found = learners("method = 'zhang-2018'\nbudget_factor = [1, 10]")
    assert [name for name, *_ in found] == [
        "zhang-2018, 1 x labels",
        "zhang-2018, 10 x labels",
    ]


def test_a_method_with_another_share_of_labels_stands_beside_itself() -> None:
    text = "method = 'zhang-2018'\n[[learners]]\nmethod = 'zhang-2018'\nbudget_factor = 10"
    assert learners(text) == [
        ("zhang-2018", "zhang-2018", 1.0),
        ("zhang-2018, 10 x labels", "zhang-2018", 10),
    ]


def test_a_method_whose_package_is_missing_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MISSING, "made-up", "made_up_package")
    sweep = load(f"{WORLD}[[learners]]\nmethod = ['zhang-2018', 'made-up']")
    assert [name for name, _ in sweep.entries] == ["zhang-2018"]
    assert sweep.skipped == {"made-up": "the package made_up_package"}


def test_a_sweep_of_missing_packages_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MISSING, "made-up", "made_up_package")
    with pytest.raises(
        ValueError, match="no learner can run here: the package made_up_package is missing"
    ):
        load(f"{WORLD}[[learners]]\nmethod = 'made-up'")


TABLES = "[[worlds]]\ntable = ['a', 'b']\nnoise_rate = [0.0, 0.1]\n"
TABLE_ATTACK = "[[adversaries]]\nadversary = 'far-clump'\nstrength = [1, 2]\n"


def test_a_world_may_be_a_real_table() -> None:
    sweep = load(TABLES + TABLE_ATTACK + "[[learners]]\nmethod = ['thresher', 'sever']")
    assert sweep.tables == ["a", "b"]
    assert len(sweep.entries) == 2 * 2 * (1 + 2)  # methods, tables, clean or at two strengths
    assert {spec.adversary for _, spec in sweep.entries} == {"none", "far-clump"}


def test_tables_that_are_not_there_are_left_out_by_name() -> None:
    sweep = load(TABLES + TABLE_ATTACK).without_tables(["a"])
    assert sweep.tables == ["b"]
    assert sweep.skipped == {"the table a": "a file a.* in the data folder"}


def test_without_learners_there_is_thresher_itself() -> None:
    assert [name for name, _ in load(WORLD).entries] == ["thresher"]


def test_trials_come_seed_by_seed() -> None:
    sweep = load(f"seeds = '4-5'\n{WORLD}noise_rate = [0.1, 0.2]\n{ATTACK}")
    trials = sweep.runs(sweep.seeds)
    assert [(trial.seed, trial.spec.noise_rate) for trial in trials] == [
        (4, 0.1),
        (4, 0.2),
        (5, 0.1),
        (5, 0.2),
    ]


def test_what_is_not_said_has_a_default() -> None:
    sweep = load(WORLD)
    assert (sweep.title, sweep.about, sweep.time_limit) == ("test", "", 600.0)
    assert (sweep.seeds, sweep.pilot_seeds) == (tuple(range(10)), ())


def test_the_hash_changes_with_the_content_and_not_with_the_layout() -> None:
    assert load(WORLD).hash == load(f"# a comment\n{WORLD}").hash
    assert load(WORLD).hash != load(f"seeds = 3\n{WORLD}").hash


# -- refusals ----------------------------------------------------------------------------------

REFUSED = {
    "no worlds": ("seeds = 3", r"at least one \[\[worlds\]\]"),
    "empty worlds": ("worlds = []", r"at least one \[\[worlds\]\]"),
    "worlds as a table": ("[worlds]\nn_features = 3", r"begin with \[\[worlds\]\]"),
    "worlds as numbers": ("worlds = [1]", r"begin with \[\[worlds\]\]"),
    "no size": ("[[worlds]]\nn_features = 20", "every world needs sparsity"),
    "unknown key": (
        f"seed = 3\n{WORLD}",
        "unknown key 'seed' in the file; known keys: .*pilot_seeds, seeds",
    ),
    "unknown key of a world": (
        f"{WORLD}eta = 1",
        "'eta' in .*worlds.*; known keys: .*noise_rate",
    ),
    "schedule in a world": (f"{WORLD}schedule = {{}}", "unknown key 'schedule'"),
    "unknown key of a learner": (f"{LEARNER}eta = 1\n{WORLD}", "known keys: .*name, schedule"),
    "unknown parameter": (
        scheduled("size = 3"),
        "schedule must be one of .*shrink.*; got 'size'",
    ),
    "two kinds": (
        f"{WORLD}[[budgets]]\nlabel_budget = 5",
        "label_budget is given in two kinds",
    ),
    "empty list": (f"{WORLD}noise_rate = []", "an empty list"),
    "nameless learner": (f"{WORLD}[[learners]]\nschedule = {{}}", "needs a name or a method"),
    "number for a name": (f"{WORLD}[[learners]]\nname = 3", "needs a name or a method"),
    "table and features": (
        f"{TABLES}n_features = 9\n{TABLE_ATTACK}",
        "n_features is for simulated",
    ),
    "table with a schedule": (
        f"{TABLES}{TABLE_ATTACK}[[learners]]\nname = 'a'\nschedule = {{ shrink = 0.5 }}",
        "schedule is for simulated worlds",
    ),
    "table with more labels": (
        f"{TABLES}{TABLE_ATTACK}[[learners]]\nmethod = 'sever'\nbudget_factor = 2",
        "budget_factor is for simulated worlds",
    ),
    "table in another folder": (
        f"{TABLES}{TABLE_ATTACK}".replace("'b'", "'../b'"),
        "table must be",
    ),
    "number for a table": (
        f"{TABLES}{TABLE_ATTACK}".replace("'b'", "3"),
        "table must be a file",
    ),
    "table under no attack": (TABLES, "needs an adversary"),
    "table under an attack on oracles": (
        f"{TABLES}{TABLE_ATTACK}".replace("far-clump", "in-band-mass"),
        "adversary must be one of none, far-clump",
    ),
    "attack too strong for a table": (
        f"{TABLES}{TABLE_ATTACK}".replace("far-clump", "linf-hijack"),
        "strength must be",
    ),
    "method not for tables": (
        f"{TABLES}{TABLE_ATTACK}[[learners]]\nmethod = 'zhang-2018'",
        "method must be one of thresher, .*l1-logistic",
    ),
    "unknown method": (f"{WORLD}[[learners]]\nmethod = 'guess'", "method must be one of"),
    "method of a world": (f"{WORLD}method = 'zhang-2018'", "unknown key 'method'"),
    "number for a method": (f"{WORLD}[[learners]]\nmethod = 3", "method must be one of"),
    "one name, two methods": (
        f"{WORLD}[[learners]]\nname = 'a'\nmethod = 'zeng-shen'\n[[learners]]\n"
        "name = 'a'\nmethod = 'zhang-2018'",
        "two different learners are called 'a'",
    ),
    "method with a schedule": (
        f"{WORLD}[[learners]]\nmethod = 'zhang-2018'\nschedule = {{ shrink = 0.5 }}",
        "takes no schedule",
    ),
    "one name, two schedules": (
        f"{WORLD}{LEARNER}[[learners]]\nname = 'quick'",
        "two different learners are called 'quick'",
    ),
    "schedule that is no table": (
        f"{WORLD}[[learners]]\nname = 'a'\nschedule = 3",
        "schedule must be a table",
    ),
    "schedule with a table": (
        scheduled("shrink = { a = 1 }"),
        "shrink must be a number",
    ),
    "schedule with infinity": (
        scheduled("first_radius = inf"),
        "first_radius must be finite",
    ),
    "schedule with a date": (
        scheduled("shrink = 2020-01-01"),
        "shrink must be a number",
    ),
    "word for a number": ("[[worlds]]\nn_features = 'many'\nsparsity = 1", "must be an integer"),
    "list in a list": (f"{WORLD}noise_rate = [[0.1]]", "noise_rate must be a number"),
    "noise without an adversary": (f"{WORLD}noise_rate = 0.1", "needs an adversary"),
    "unknown adversary": (f"{WORLD}noise_rate = 0.1\nadversary = 'me'", "adversary must be one of"),
    "strength it has not": (
        f"{WORLD}noise_rate = 0.1\nadversary = 'label-flip'\nstrength = 2",
        "strength = 2: adversary .label-flip. takes no strength",
    ),
    "title": (f"title = 3\n{WORLD}", "title must be a string"),
    "about": (f"about = 2020-01-01\n{WORLD}", "about must be a string"),
    "seeds": (f"seeds = [1, 2]\n{WORLD}", "seeds: seeds must be"),
    "pilot seeds": (f"pilot_seeds = 'x'\n{WORLD}", "pilot_seeds: seeds must be"),
    "seeds of both kinds": (
        f"seeds = '0-4'\npilot_seeds = '4-8'\n{WORLD}",
        "seed 4 is among both seeds and pilot_seeds",
    ),
    "time limit": (f"time_limit = 0\n{WORLD}", "time_limit must be greater than 0"),
    "endless time limit": (f"time_limit = inf\n{WORLD}", "time_limit must be finite"),
    "wordy time limit": (f"time_limit = 'long'\n{WORLD}", "time_limit must be a number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_spec_that_cannot_be_run_is_refused_with_the_reason(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=f"^the spec.*{reason}"):
        load(text)


def test_too_many_runs_are_refused_before_they_are_made() -> None:
    values = ", ".join(map(str, range(1, 102)))
    text = f"seeds = 100\n[[worlds]]\nn_features = [{values}]\nsparsity = [{values}]"
    with pytest.raises(ValueError, match="1,020,100 runs are too many; the limit is 1,000,000"):
        load(text)


def test_a_block_of_astronomically_many_choices_is_refused_at_once() -> None:
    lists = "\n".join(
        f"{name} = [{'1, ' * 100}]" for name in ("n_features", "sparsity", "strength")
    )
    with pytest.raises(ValueError, match=r"runs are too many"):
        load(f"[[worlds]]\n{lists}\nnoise_rate = [{'0.1, ' * 100}]")


@pytest.mark.parametrize("text", ["=", "a = 1\na = 2", "[[worlds]", f"a = {'9' * 5000}"])
def test_what_is_no_toml_is_a_damaged_file(text: str) -> None:
    with pytest.raises(DamagedFile, match="the spec"):
        load(text)


# -- files -------------------------------------------------------------------------------------


shipped = cache(load_sweeps)
OF_PARTS = ("claims", "paper")  # the sweeps that are several


# The others are parts of the paper.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in (*OF_PARTS, "smoke") else pytest.mark.slow)
        for name in shipped_names()
    ],
)
def test_every_shipped_sweep_loads(name: str) -> None:
    sweeps = shipped(name)
    n_runs = [len(sweep.entries) * len(sweep.seeds + sweep.pilot_seeds) for sweep in sweeps]
    assert [sweep.name for sweep in sweeps] == [name] or name in OF_PARTS
    assert 0 < min(n_runs) <= max(n_runs) <= MAX_RUNS


def test_the_paper_has_every_other_shipped_sweep_but_smoke() -> None:
    parts = {sweep.name for sweep in shipped("paper")}
    assert parts == set(shipped_names()) - {*OF_PARTS, "smoke"}


def test_the_claims_are_the_sweeps_of_that_name() -> None:
    parts = [sweep.name for sweep in shipped("claims")]
    assert sorted(parts) == [name for name in shipped_names() if name.startswith("claim-")]


def test_parts_are_found_beside_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(tiny().text)
    both = tmp_path / "both.toml"
    both.write_text("parts = ['mine.toml', 'smoke']")
    assert [sweep.name for sweep in load_sweeps(str(both))] == ["mine", "smoke"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parts = 'smoke'", "parts must be a list of names"),
        ("parts = ['smoke', 3]", "parts must be a list of names"),
        ("parts = ['smoke']\nseeds = 3", "unknown key 'seeds' in .*, which has parts"),
        ("parts = ['nobody']", "unknown sweep 'nobody'"),
        ("parts = ['paper']", "unknown key 'parts'"),
    ],
)
def test_parts_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises((TypeError, ValueError), match=message):
        load_sweeps(str(path))


def test_a_file_is_called_by_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(tiny().text)
    assert Sweep.load(str(path)).entries == tiny().entries
    assert Sweep.load(str(path)).name == "mine"


@pytest.mark.parametrize("name", ["nothing", "nothing.toml", "", ".", "../arena"])
def test_a_sweep_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown sweep .*smoke"):
        Sweep.load(name)


def test_a_file_in_another_encoding_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"title = '\xe4'")
    with pytest.raises(DamagedFile, match=r"mine\.toml"):
        Sweep.load(str(path))


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("seeds = 3")
    with pytest.raises(ValueError, match=r"mine\.toml: at least one"):
        Sweep.load(str(path))


# -- hostile -----------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [*sorted(_KEYS | SPEC_KEYS), "name", "schedule", "shrink", "min_unlabeled", "unknown"]
)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.1, 0.3, 1e-300, 1e300, math.inf, math.nan]),
    st.sampled_from(["", "3", "0-2", "label-flip", "in-band-mass", "gaussian", *ADVERSARIES]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)
BLOCKS = st.lists(st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=3)), max_size=2)
WORLDS = st.fixed_dictionaries(
    {"n_features": st.integers(1, 9), "sparsity": st.integers(0, 9)},
    optional={"noise_rate": SCALARS, "adversary": SCALARS, "strength": VALUES, "x": VALUES},
)
CONTENTS = st.fixed_dictionaries(
    {"worlds": st.lists(WORLDS, max_size=2) | VALUES},
    optional={"seeds": VALUES, "learners": BLOCKS | VALUES, "budgets": BLOCKS, "title": VALUES},
)


def write(value: Any) -> str:
    """The value in TOML, everything inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {write(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write, value)) + "]"
    if isinstance(value, (bool, str)):
        return f'"{value}"' if isinstance(value, str) else str(value).lower()
    return repr(value)


def typed(text: str) -> Sweep | None:
    """The sweep, or nothing if the text is refused in terms that a caller expects."""
    try:
        return load(text)
    except (ThresherError, TypeError, ValueError) as error:
        assert "the spec" in str(error)
        return None


@given(CONTENTS | st.dictionaries(KEYS, VALUES))
def test_whatever_toml_says_is_a_sweep_or_a_typed_error(content: dict[str, Any]) -> None:
    sweep = typed("\n".join(f"{key} = {write(value)}" for key, value in content.items()))
    if sweep is not None:
        assert sweep.entries and sweep.seeds and sweep.time_limit > 0


@given(st.text(max_size=60) | st.text(alphabet='[]{}="\n.,abn01- ', max_size=60))
def test_whatever_a_text_says_is_a_typed_error(text: str) -> None:
    assert typed(text) is None
