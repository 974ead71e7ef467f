"""Mutation testing: small faults put into a module, and whether its own tests notice them.

Run by `make mutants`. The faults are those of Cosmic Ray; each runs in a process forked from one
that has imported the libraries, with the faulty source in place of the module. No file is changed.
Faults that no input can show are listed, with the reason, in `equivalent_mutants.txt`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import os
import re
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.txt"
REQUIRED = 0.85
CPU_SECONDS, WALL_SECONDS = 60, 300
NOT_LOADED = 99

# The tests that belong to a module; the quickest first.
OWN_TESTS = {
    "thresher.certificates": [
        "tests/test_certificate_allowances.py",
        "tests/test_certificate_inputs.py",
        "tests/test_certificates.py",
        "tests/test_exact_forgeries.py",
    ],
    "thresher.label_sessions.journal": [
        "tests/label_sessions/test_journal.py",
        "tests/label_sessions/test_power_loss.py",
        "src/thresher/label_sessions/journal.py",
    ],
    "thresher.learning.journal": [
        "tests/learning/test_journal_records.py",
        "tests/learning/test_journal.py",
    ],
    "thresher.validation": ["tests/test_validation.py", "src/thresher/validation.py"],
}

# An operator becomes one other, a comparison its neighbor and its opposite, a number its neighbors.
BINARY = ["Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul"]
BINARY += ["BitOr_BitAnd", "BitAnd_BitOr"]
COMPARISONS = ["Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"]
COMPARISONS += ["Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"]
OPERATORS = [
    *(f"ReplaceBinaryOperator_{name}" for name in BINARY),
    *(f"ReplaceComparisonOperator_{name}" for name in COMPARISONS),
    *(f"ReplaceUnaryOperator_Delete_{name}" for name in ("USub", "Invert", "Not")),
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
]


@dataclass(frozen=True)
class Mutant:
    """A module with one fault; the lines before and after, without spaces at their ends."""

    module: str
    number: int
    before: str
    after: str
    code: CodeType

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.before, self.after

    def __str__(self) -> str:
        return f"{self.module} {self.number}\n- {self.before}\n+ {self.after}"


def source_of(module: str) -> Path:
    return ROOT / "src" / Path(*module.split(".")).with_suffix(".py")


def mutants_of(module: str) -> Iterator[Mutant]:
    """Every mutant that compiles and differs in more than annotations."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    path = source_of(module)
    source = path.read_text(encoding="utf-8")
    seen, number = {behavior(source)}, 0
    for name in OPERATORS:
        occurrence = 0
        operator = get_operator(f"core/{name}")()
        while (mutated := mutate_code(source, operator, occurrence)) is not None:
            occurrence += 1
            if name == "ExceptionReplacer":
                mutated = mutated.replace("CosmicRayTestingException", "ZeroDivisionError")
            tree = behavior(mutated)
            if tree is None or tree in seen:
                continue
            seen.add(tree)
            number += 1
            yield Mutant(module, number, *changed(source, mutated), compile(mutated, path, "exec"))


def behavior(source: str) -> str | None:
    """The syntax tree without annotations; None if there is none.

    The tool takes the star before keyword-only parameters for a product, and makes it a slash.
    """
    try:
        tree = ast.parse(source)
        compile(source, "", "exec")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments) and node.posonlyargs:
            return None
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                setattr(node, field, ast.Constant(None))
    return ast.dump(tree)


def changed(source: str, mutated: str) -> tuple[str, str]:
    """The lines in which two sources differ."""
    before, after = source.splitlines(), mutated.splitlines()
    start = next(i for i, pair in enumerate(zip(before, after)) if pair[0] != pair[1])
    same = (i for i, pair in enumerate(zip(before[::-1], after[::-1])) if pair[0] != pair[1])
    stop = next(same, min(len(before), len(after)))
    lines = (before[start : len(before) - stop], after[start : len(after) - stop])
    old, new = (" ".join(" ".join(part).split()) for part in lines)
    return old, re.sub(r"([(\[]|\*\*) (?=-?\d)", r"\1", new) or "(nothing)"


class Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(name, source_of(name), loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self.mutant.code, module.__dict__)


def unchanged(module: str) -> Mutant:
    """The module without a fault, to see that its tests pass where they are run like this."""
    path = source_of(module)
    return Mutant(module, 0, "", "", compile(path.read_text(encoding="utf-8"), path, "exec"))


def is_killed(mutant: Mutant, tests: list[str]) -> bool:
    """Whether a test fails with this mutant, or takes too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        signal.alarm(WALL_SECONDS)
        code = 1
        try:
            code = run_tests(mutant, tests)
        finally:
            sys.stdout.flush()
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_LOADED:
        sys.exit(f"the tests did not import the mutant of {mutant.module}")
    return status != 0


def run_tests(mutant: Mutant, tests: list[str]) -> int:
    import pytest

    if mutant.number > 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
    sys.meta_path.insert(0, Faulty(mutant))
    # Assertions that are rewritten would be loaded from the module's file, past our loader.
    plain = ["--assert=plain", "-p", "no:cacheprovider"]
    for name in tests:  # one after the other: most mutants need only the first to be collected
        if code := int(pytest.main(["-x", "-q", *plain, name])):
            return code
    is_loaded = isinstance(sys.modules[mutant.module].__loader__, Faulty)
    return 0 if is_loaded else NOT_LOADED


def import_libraries() -> None:
    """What every child would import, but nothing of Thresher."""
    names = ("hypothesis", "pandas", "pytest", "scipy.optimize", "scipy.stats", "sklearn.compose")
    for name in (*names, "sklearn.impute", "sklearn.linear_model", "sklearn.model_selection"):
        importlib.import_module(name)
    assert "thresher" not in sys.modules


def equivalents() -> dict[tuple[str, str, str], str]:
    """The listed mutants, each with its reason."""
    found, entry = {}, {}
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line and line[0] in "@-+=":
            entry[line[0]] = line[1:].strip()
            if line[0] == "=":
                found[entry["@"], entry["-"], entry["+"]] = entry["="]
    return found


def score(module: str, numbers: set[int]) -> bool:
    """Run the mutants of a module, print the survivors, and say whether enough were killed."""
    tests, known, outcomes = OWN_TESTS[module], equivalents(), Counter[str]()
    if is_killed(unchanged(module), tests):
        sys.exit(f"the tests of {module} fail without a mutant")
    for mutant in mutants_of(module):
        if numbers and mutant.number not in numbers:
            continue
        if known.pop(mutant.key, None):
            outcomes["equivalent"] += 1
        elif is_killed(mutant, tests):
            outcomes["killed"] += 1
        else:
            outcomes["survived"] += 1
            print(f"survived: {mutant}", flush=True)
    for key in known:
        if key[0] == module and not numbers:
            print(f"listed as equivalent, but not a mutant: {key}")
    share = outcomes["killed"] / max(outcomes["killed"] + outcomes["survived"], 1)
    counts = ", ".join(f"{outcomes[name]} {name}" for name in ("killed", "survived", "equivalent"))
    print(f"{module}: {counts}: {share:.1%} of those that are not equivalent killed", flush=True)
    return share >= REQUIRED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(OWN_TESTS), metavar="MODULE")
    parser.add_argument("--numbers", default="", help="only these mutants, such as 3,17")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.list:
        for module in options.modules:
            print(*mutants_of(module), sep="\n")
        return
    import_libraries()
    numbers = {int(number) for number in options.numbers.split(",") if number}
    enough = [score(module, numbers) for module in options.modules]
    if not all(enough):
        sys.exit(f"fewer than {REQUIRED:.0%} of the mutants are killed")


if __name__ == "__main__":
    main()
