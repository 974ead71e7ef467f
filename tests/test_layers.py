"""Who may import whom: a lower layer never imports a higher one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import thresher

PACKAGE = Path(str(thresher.__file__)).parent

FOUNDATIONS = {
    "arrays",
    "errors",
    "validation",
    "memory",
    "device_memory",
    "files",
    "wording",
    "archives",
}
# What each layer may import besides itself; a layer that is not listed may not exist.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "arrays": set(),
    "streaming": {"arrays"},
    "validation": {"arrays", "errors"},
    "memory": {"errors"},
    "device_memory": {"arrays", "errors", "memory"},
    "files": set(),
    "wording": set(),
    "rendering": {"wording"},
    "archives": {"errors", "memory", "wording"},
    "certificates": set(),
    "device_certificates": {"arrays", "certificates"},
    "preparation": FOUNDATIONS,
    "table_files": FOUNDATIONS | {"preparation"},
    "geometry": FOUNDATIONS,
    "solvers": FOUNDATIONS | {"geometry", "certificates", "device_certificates"},
    "outliers": FOUNDATIONS | {"geometry", "certificates", "device_certificates", "solvers"},
    "adversary_checker": {"certificates"},
    "penalty_checker": {"certificates"},
    "adversary": FOUNDATIONS | {"certificates", "adversary_checker", "solvers"},
    "oracles": FOUNDATIONS | {"geometry"},
}
ALLOWED["learning"] = ALLOWED["outliers"] | {"outliers", "oracles"}
ALLOWED["simulate"] = ALLOWED["learning"] | {"learning"}
ALLOWED["estimators"] = ALLOWED["learning"] | {
    "learning",
    "rendering",
    "adversary",
    "penalty_checker",
    "preparation",
}
ALLOWED["labeling"] = ALLOWED["estimators"] | {"estimators"}
ALLOWED["label_sessions"] = ALLOWED["labeling"] | {"labeling", "table_files"}
ALLOWED["displays"] = FOUNDATIONS | {"estimators", "learning", "rendering"}
ALLOWED["rivals"] = ALLOWED["estimators"] | {"estimators"}
ALLOWED["experiments"] = ALLOWED["rivals"] | {"rivals", "simulate", "table_files"}
ALLOWED["auditing"] = ALLOWED["rivals"] | {"displays", "table_files"}
ALLOWED["label_page"] = ALLOWED["label_sessions"] | {"label_sessions", "rendering"}
ALLOWED["__init__"] = ALLOWED["auditing"] | ALLOWED["label_sessions"]
ALLOWED["__init__"] |= {"auditing", "label_sessions"}
ALLOWED["demo"] = ALLOWED["auditing"] | {"auditing", "rivals", "simulate"}
ALLOWED["cli"] = ALLOWED["demo"] | {"demo", "experiments", "label_sessions", "labeling", "__init__"}
ALLOWED["cli"] |= {"label_page"}
ALLOWED["__main__"] = {"cli"}

LABORATORY = {"simulate", "rivals", "experiments"}
LEARNERS = [
    "learning",
    "solvers",
    "outliers",
    "oracles",
    "estimators",
    "geometry",
    "certificates",
    "labeling",
    "label_sessions",
]


def layer_of(module: str) -> str:
    """The layer of a dotted module name: what follows the package's own name."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported_modules(source: str, module: str) -> Iterator[str]:
    """The modules of ours that a source imports, also inside functions, also relatively."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = module.rsplit(".", node.level)[0] if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            names = [origin]
            if origin == "thresher":  # then a layer is named only in what is imported
                parts = [alias.name for alias in node.names]
                names = [f"thresher.{part}" if part in ALLOWED else "thresher" for part in parts]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "thresher")


def forbidden_imports(source: str, module: str) -> list[str]:
    """The imports of a module that its layer does not allow."""
    layer = layer_of(module)
    allowed = ALLOWED[layer] | {layer}
    return [name for name in imported_modules(source, module) if layer_of(name) not in allowed]


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__" and len(parts) > 2
        found[".".join(parts[:-1] if is_package else parts)] = path
    return found


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_what_its_layer_allows(module: str) -> None:
    source = modules()[module].read_text(encoding="utf-8")
    # A package's own relative imports are resolved as if it were a module inside itself.
    is_package = modules()[module].name == "__init__.py" and layer_of(module) != "__init__"
    assert forbidden_imports(source, f"{module}.__init__" if is_package else module) == []


def test_the_layers_have_no_cycle() -> None:
    settled: set[str] = set()
    while len(settled) < len(ALLOWED):
        free = {layer for layer, below in ALLOWED.items() if below <= settled} - settled
        assert free, f"these layers import one another: {set(ALLOWED) - settled}"
        settled |= free


@pytest.mark.parametrize("layer", LEARNERS)
def test_nobody_who_learns_may_import_the_laboratory(layer: str) -> None:
    assert not ALLOWED[layer] & LABORATORY


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("thresher.learning.algorithm", "from thresher.simulate import MaliciousOracle"),
        ("thresher.learning.algorithm", "import thresher.simulate.oracle as laboratory"),
        ("thresher.learning.algorithm", "from thresher import simulate"),
        ("thresher.learning.algorithm", "from ..rivals import Rival"),
        ("thresher.learning.algorithm", "from .. import experiments"),
        ("thresher.solvers.hinge", "def f():\n    from thresher.learning import Phase"),
        ("thresher.geometry.balls", "if True:\n    import thresher.solvers"),
        ("thresher.certificates", "from thresher.validation import FloatArray"),
        ("thresher.oracles.pools", "from thresher.outliers import remove_outliers"),
        ("thresher.validation", "from thresher.geometry import Band"),
        ("thresher.learning.algorithm", "from thresher import HalfspaceClassifier"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    assert len(forbidden_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("thresher.solvers.hinge", "import numpy\nfrom thresher.certificates import EPS"),
        ("thresher.solvers.hinge", "from .eigen import top_eigenpair"),
        ("thresher.solvers.hinge", "from thresher.solvers.eigen import top_eigenpair"),
        ("thresher.solvers.hinge", "from thresher import geometry"),
        ("thresher.simulate.oracle", "from thresher.oracles import Draw"),
        ("thresher.solvers.hinge", "import thresherish.simulate"),
    ],
)
def test_an_allowed_import_is_not_reported(module: str, source: str) -> None:
    assert forbidden_imports(source, module) == []


def test_a_folder_without_a_layer_is_noticed() -> None:
    with pytest.raises(KeyError, match="utils"):
        forbidden_imports("", "thresher.utils.helpers")


def test_no_folder_has_a_module_called_utils() -> None:
    assert not [name for name in modules() if name.split(".")[-1] in {"utils", "helpers", "misc"}]
