"""The digest of the code behind a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.experiments.arena import Run
from thresher.experiments.sources import (
    EVERY_SOURCE,
    LEARNER,
    NO_RUN,
    PACKAGE,
    RIVALS,
    TABLES,
    code_of,
    source_behind,
    source_digest,
)
from thresher.experiments.spec import SimulationSpec, TableSpec

CODE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    "same",
    [
        "def f(x):\n    # why\n    return x + 1\n",
        'def f(x):\n    """What it returns."""\n    return x + 1\n',
        '"""A module."""\n\n\ndef f(x):\n\n    return (x\n            + 1)\n',
    ],
)
def test_words_and_layout_do_not_count(same: str) -> None:
    assert code_of(same) == code_of(CODE)


@pytest.mark.parametrize(
    "other",
    [
        "def f(x):\n    return x + 2\n",
        "def f(x):\n    return x - 1\n",
        "def g(x):\n    return x + 1\n",
    ],
)
def test_code_counts(other: str) -> None:
    assert code_of(other) != code_of(CODE)


def test_messages_do_not_count_but_names_in_strings_do() -> None:
    raised = "raise ValueError(f'{name} must be an integer')"
    assert code_of(raised) == code_of("raise ValueError(f'{name} must be positive')")
    assert code_of("kind = 'near'") != code_of("kind = 'far'")


def test_zeros_and_constants_are_told_apart() -> None:
    texts = ["x = 0", "x = 0.0", "x = False", "x = None", "x = ''", "x = ()"]
    assert len({code_of(text) for text in texts}) == len(texts)


def test_a_digest_changes_with_any_module_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "part" / name).write_text(CODE)
    before = source_digest(("part",), tmp_path)
    (tmp_path / "part" / "b.py").write_text(CODE.replace("1", "2"))
    source_digest.cache_clear()
    assert source_digest(("part",), tmp_path) != before


def test_a_source_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"missing\.py is named"):
        source_digest(("missing.py",), tmp_path)


def test_every_source_exists_and_differs_from_the_others() -> None:
    assert len({source_digest(parts) for parts in EVERY_SOURCE}) == len(EVERY_SOURCE)


def test_what_only_looks_numbers_up_changes_no_digest(tmp_path: Path) -> None:
    for name in NO_RUN:
        assert (PACKAGE / name).is_file()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(CODE)
    before = source_digest(("learning",), tmp_path)
    for name in NO_RUN:
        (tmp_path / name).write_text(CODE.replace("1", "2"))
    source_digest.cache_clear()
    assert source_digest(("learning",), tmp_path) == before


def test_a_run_depends_on_what_it_uses() -> None:
    ours = SimulationSpec(n_features=9, sparsity=1)
    rival = SimulationSpec(n_features=9, sparsity=1, method="trimmed-mean")
    loop = SimulationSpec(n_features=9, sparsity=1, schedule={"sample_labels": False})
    table = TableSpec(table="mail")
    found = [source_behind(spec) for spec in (ours, rival, loop, table)]
    assert found == [source_digest(parts) for parts in (LEARNER, RIVALS, RIVALS, TABLES)]


def test_a_record_names_its_source() -> None:
    run = Run("thresher", SimulationSpec(n_features=9, sparsity=1), seed=0)
    assert run.unfinished("died", "", None)["version.source"] == source_digest(LEARNER)
