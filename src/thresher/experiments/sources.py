"""A digest of the code behind a record, so that a study can say which code it was measured with.

Comments, docstrings and texts with a space in them (messages) do not count: words can be edited
without making a study stale.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from thresher.experiments.spec import THRESHER, SimulationSpec, TableSpec

PACKAGE = Path(__file__).parents[1]
# What a simulated run of Thresher computes with; a folder stands for all modules in it.
LEARNER = (
    *("geometry", "solvers", "certificates.py", "outliers.py", "learning"),
    *("oracles/requests.py", "oracles/sources.py"),
    *("simulate/adversaries", "simulate/conditional.py", "simulate/distributions.py"),
    *("simulate/oracle.py", "experiments/simulation.py", "experiments/optimizing.py"),
)
RIVALS = (*LEARNER, "rivals/methods", "rivals/classifiers")
LEMMAS = (*RIVALS, "experiments/lemmas.py")
TABLES = (*RIVALS, "estimators", "preparation", "simulate/poisoning", "experiments/table_run.py")
# Modules that count where they are named, and not as parts of their folder.
TRUST_FOR_OTHERS = (
    "estimators/trusted.py",
    "estimators/use_of_trust.py",
    "estimators/plausibility.py",
)
TRUSTED = (*TABLES, *TRUST_FOR_OTHERS)
AUDITS = (*TABLES, "auditing")
RIVALS_ON_TABLES = ("rivals/classifiers", "rivals/methods", "simulate/poisoning")
# What `ActiveClassifier` computes with in the study of pools; the rules beside it are
# scikit-learn's.
POOLS = (
    *("geometry", "solvers", "certificates.py", "outliers.py", "labeling"),
    *("estimators/columns.py", "estimators/copies.py", "estimators/shared_entries.py"),
    *("estimators/trust.py", "simulate/poisoning"),
)
NO_RUN = {  # look numbers of studies up, or write what was found
    *("learning/planning.py", "learning/pool_study.py", "auditing/html_report.py"),
    *("auditing/text_report.py", "auditing/preparation_report.py", "auditing/contents.py"),
}
EVERY_SOURCE = (LEARNER, RIVALS, LEMMAS, TABLES, TRUSTED, AUDITS, RIVALS_ON_TABLES, POOLS)
_WITHOUT_EFFECT = {"type_comment", "type_params", "kind"}


def source_behind(spec: SimulationSpec | TableSpec) -> str:
    """The digest of the code that a run of this spec depends on.

    Examples
    --------
    >>> ours = SimulationSpec(n_features=9, sparsity=1)
    >>> source_behind(ours) == source_digest(LEARNER) != source_digest(RIVALS)
    True
    """
    if isinstance(spec, TableSpec):
        return source_digest(TABLES)
    is_rival = spec.method != THRESHER or not spec.is_whole
    return source_digest(RIVALS if is_rival else LEARNER)


@cache
def source_digest(parts: tuple[str, ...], package: Path = PACKAGE) -> str:
    """Twelve hexadecimal digits that change with the code of these files and folders.

    Examples
    --------
    >>> len(source_digest(("geometry",)))
    12
    """
    digest = hashlib.sha256()
    for path in _modules(parts, package):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(code_of(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def _modules(parts: Sequence[str], package: Path) -> list[Path]:
    found = {path for part in parts for path in _modules_of(package / part)}
    left_out = NO_RUN | (set(TRUST_FOR_OTHERS) - set(parts))
    return sorted(path for path in found if path.relative_to(package).as_posix() not in left_out)


def _modules_of(path: Path) -> Iterable[Path]:
    if not path.exists():
        raise ValueError(f"{path} is named as a source of results, and does not exist")
    return path.rglob("*.py") if path.is_dir() else [path]


@cache  # one module is part of several sources
def code_of(text: str) -> str:
    """The code of a module without comments, docstrings and messages, the same in every Python.

    Examples
    --------
    >>> code_of("x = 1  # one") == code_of("'''A module.'''\\nx = 1") != code_of("x = 2")
    True
    >>> code_of("error('a wrong word')") == code_of("error('the right word')")
    True
    """
    return "".join(_written(ast.parse(text)))


def _written(node: object) -> Iterator[str]:
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if name not in _WITHOUT_EFFECT and value not in (None, []):
                yield f"{name}="
                yield from _written(value)
        yield ")"
    elif isinstance(node, list):
        for part in node:
            if not _is_text(part):
                yield from _written(part)
    elif isinstance(node, str) and " " in node:
        yield "text,"
    else:
        yield f"{node!r},"


def _is_text(node: object) -> bool:
    """Whether a statement is nothing but a string, such as a docstring."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)  # type: ignore[attr-defined]
