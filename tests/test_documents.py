"""The documents lead somewhere, and what they show is what happens."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import itertools
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from shown import printed_by, says_the_same
from thresher.rivals.methods import METHODS
from thresher.simulate import ADVERSARIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = ("_build", "examples", "generated")  # what Sphinx makes
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not set(BUILT) & set(path.relative_to(DOCS).parts)
)
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
SHOWN = [
    "extending.md",
    "files.md",
    "getting-started.md",
    "label-sessions.md",
    "labeling.md",
    "parameters.md",
    "recipes.md",
]
LIMIT = 20  # lines of the adversary that a newcomer is shown

by_path = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(text: str) -> list[tuple[str, str]]:
    """Every fenced block with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


# -- what is shown ---------------------------------------------------------------------------


def programs(text: str) -> list[tuple[str, str]]:
    """Each Python block with the text block that follows it, or with nothing."""
    blocks = [*blocks_of(text), ("", "")]
    return [
        (code, output if next_kind == "text" else "")
        for (kind, code), (next_kind, output) in itertools.pairwise(blocks)
        if kind == "python"
    ]


@pytest.mark.parametrize("name", SHOWN)
def test_the_blocks_of_a_page_print_what_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = programs(text_of(DOCS / name))
    assert pairs
    mark = "---- next block"
    code = f"\nprint({mark!r})\n".join(block for block, _ in pairs)
    with patch.dict(ADVERSARIES), patch.dict(METHODS):  # what is registered does not stay
        printed = printed_by(code).split(f"{mark}\n")
    assert len(printed) == len(pairs)
    for out, (block, shown) in zip(printed, pairs):
        assert says_the_same(out, shown), f"{block}\nprinted\n{out}\nbut the page shows\n{shown}"


def test_another_word_or_number_is_noticed() -> None:
    assert says_the_same("error 0.028 with 398 labels", "error 0.030 with 400 labels")
    assert not says_the_same("error 0.028 with 398 labels", "error 0.040 with 398 labels")
    assert not says_the_same("True", "False")


def test_the_adversary_that_a_newcomer_is_shown_is_short() -> None:
    first, _ = programs(text_of(DOCS / "extending.md"))[0]
    lines = [line for line in first.splitlines() if line.strip()]
    assert any("def corrupt(" in line for line in lines)
    assert len(lines) < LIMIT


EXTENDING = text_of(DOCS / "extending.md")


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", EXTENDING)))
)
def test_a_file_to_touch_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name, path", re.findall(r"`(\w+)` in `([\w/.]+)`", EXTENDING))
def test_a_list_that_names_an_addition_is_in_its_file(name: str, path: str) -> None:
    assert re.search(rf"^{name}\b.*= ", text_of(ROOT / path), flags=re.MULTILINE)


QUICK = {
    "plot_2_planted_rows",
    "plot_4_certificates",
}  # the others have their time in the slow suite


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in GALLERY
    ],
)
def test_an_example_of_the_gallery_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    if "onnxruntime" in text_of(script):
        pytest.importorskip("onnxruntime")
        pytest.importorskip("skl2onnx")
    pyplot.switch_backend("agg")
    n_shown: list[int] = []
    monkeypatch.setattr(pyplot, "show", lambda: n_shown.append(len(pyplot.get_fignums())))
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script))
    pyplot.close("all")
    assert n_shown and min(n_shown) > 0
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


def test_there_are_at_least_six_examples() -> None:
    assert len(GALLERY) >= 6


# -- where it leads --------------------------------------------------------------------------


def entries(text: str) -> list[str]:
    """The documents that the toctrees of a page name."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def named_in_trees(start: str = "index") -> set[Path]:
    """Every page that can be reached from the index through toctrees."""
    found: set[Path] = set()
    queue = [(DOCS / start).with_suffix(".md")]
    while queue:
        page = queue.pop()
        if page in found or not page.exists():
            continue
        found.add(page)
        queue += [(page.parent / f"{entry}.md").resolve() for entry in entries(text_of(page))]
    return found


@by_path
def test_a_page_can_be_reached_from_the_index(page: Path) -> None:
    assert page in named_in_trees()


@by_path
def test_a_toctree_names_documents_that_are_there(page: Path) -> None:
    made = {"examples/index"}  # by the gallery
    missing = [
        entry
        for entry in entries(text_of(page))
        if entry not in made and not (page.parent / f"{entry}.md").exists()
    ]
    assert not missing


def leads_somewhere(link: str, page: Path) -> bool:
    return (page.parent / link.partition("#")[0]).exists()


def links(text: str) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", without_blocks(text))
    return [link for link in found if not re.match(r"\w+:|#", link)]


@by_path
def test_a_relative_link_leads_somewhere(page: Path) -> None:
    assert all(leads_somewhere(link, page) for link in links(text_of(page)))


def test_a_link_that_leads_nowhere_is_noticed() -> None:
    assert links("see [this](nowhere.md) and [that](https://example.org)") == ["nowhere.md"]
    assert not leads_somewhere("nowhere.md", DOCS / "index.md")
    assert leads_somewhere("getting-started.md", DOCS / "index.md")


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_document_that_an_example_names_is_there(script: Path) -> None:
    named = re.findall(r":doc:`(?:[^`<]*<)?/([\w/-]+)>?`", text_of(script))
    assert all((DOCS / f"{name}.md").exists() for name in named)


# -- the reference ---------------------------------------------------------------------------


def referenced() -> dict[str, set[str]]:
    """The names that the reference lists, by module; public_names.rst lists all of a module's."""
    found: dict[str, set[str]] = {}
    for page in sorted((DOCS / "api").glob("*.md")):
        module, lists_modules = "", False
        for line in text_of(page).splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module, lists_modules = match[1], False
            elif line == "   :template: autosummary/public_names.rst":
                lists_modules = True
            elif match := re.match(r"   ([\w.]+)$", line):
                inner = f"{module}.{match[1]}"
                names = importlib.import_module(inner).__all__ if lists_modules else [match[1]]
                found.setdefault(inner if lists_modules else module, set()).update(names)
    return found


@pytest.mark.parametrize("module", referenced())
def test_a_name_in_the_reference_exists(module: str) -> None:
    for name in referenced()[module]:
        inner, _, last = f"{module}.{name}".rpartition(".")
        assert hasattr(importlib.import_module(inner), last), f"{module}.{name}"


@pytest.mark.parametrize(
    "module",
    [
        "thresher",
        "thresher.solvers",
        "thresher.estimators",
        "thresher.labeling",
        "thresher.displays",
        "thresher.auditing",
        "thresher.rivals",
        "thresher.errors",
    ],
)
def test_every_public_name_of_a_module_is_in_the_reference(module: str) -> None:
    listed = {name.rpartition(".")[2] for names in referenced().values() for name in names}
    loaded = importlib.import_module(module)
    public = getattr(loaded, "__all__", None) or [
        name for name, value in vars(loaded).items() if isinstance(value, type) and name[0] != "P"
    ]
    assert set(public) - {"__version__"} <= listed


def load_extension() -> ModuleType:
    path = DOCS / "_extensions" / "compact_docstrings.py"
    spec = importlib.util.spec_from_file_location("compact_docstrings", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sentence_of_a_compact_entry_goes_below_its_name() -> None:
    given = ["What.", "", "Parameters", "----------", "a, b : one of", "    |x|, or coef_"]
    wanted = ["a, b", "    one of", r"    \|x\|, or coef\_"]
    assert load_extension().rewritten(given)[4:] == wanted


def test_a_type_stays_beside_its_name_and_code_stays_as_it_is() -> None:
    given = ["See `a_`.", "", "Parameters", "----------", "cv : int, default=3", "    Folds."]
    assert load_extension().rewritten(given) == given


@pytest.mark.slow
def test_the_documents_are_built_without_a_warning(tmp_path: Path) -> None:
    for name in ("sphinx", "pydata_sphinx_theme", "sphinx_gallery", "myst_parser", "numpydoc"):
        pytest.importorskip(name)
    options = ["-W", "--keep-going", "-q", "-E", "-b", "html", "-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    html = "".join(text_of(page) for page in (tmp_path / "html").rglob("*.html"))
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*", html)
