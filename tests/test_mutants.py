"""The list of equivalent mutants is up to date, and mutants are told apart by what they do."""

from __future__ import annotations

import pytest

from mutants import OWN_TESTS, ROOT, behavior, changed, equivalents, source_of


def test_every_equivalent_mutant_has_a_reason_and_is_one_of_a_line_that_exists() -> None:
    for (module, before, after), reason in equivalents().items():
        source = " ".join(source_of(module).read_text(encoding="utf-8").split())
        assert before in source, f"{module} no longer has the line: {before}"
        assert after != before
        assert len(reason) > 10


def test_every_module_and_its_tests_exist() -> None:
    for module, tests in OWN_TESTS.items():
        assert source_of(module).is_file()
        assert all((ROOT / name).is_file() for name in tests)


@pytest.mark.parametrize(
    ("mutated", "is_mutant"),
    [
        ("def f(a: int, *, b=1) -> int | None:\n    return a + b\n", False),
        ("def f(a: int, *, b=1) -> int & None:\n    return a + b\n", False),
        ("def f(a: int, *, b=1) -> int | None:\n    return a - b\n", True),
        ("def f(a: int, *, b=2) -> int | None:\n    return a + b\n", True),
    ],
)
def test_mutants_differ_in_more_than_annotations(mutated: str, is_mutant: bool) -> None:
    source = "def f(a: int, *, b=1) -> int | None:\n    return a + b\n"
    assert (behavior(mutated) != behavior(source)) is is_mutant


def test_what_does_not_compile_or_only_marks_parameters_is_no_mutant() -> None:
    assert behavior("def f(a, /, b=1):\n    return a\n") is None
    assert behavior("def f(+, b):\n    return b\n") is None
    assert behavior("return 1\n") is None


def test_the_changed_line_is_found() -> None:
    assert changed("a = 1\nb = f(2)\n", "a = 1\nb = f( 3)\n") == ("b = f(2)", "b = f(3)")
    assert changed("@x\ndef f(): ...\n", "def f(): ...\n") == ("@x", "(nothing)")
