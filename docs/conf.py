"""How Sphinx makes the documents: `make docs`."""

import shutil
import sys
from pathlib import Path

import matplotlib

from thresher import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
matplotlib.use("agg")

# Pages of names and examples that no longer exist would be in no table of contents.
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)
for page in (HERE / "examples").glob("plot_*.rst"):
    if not (HERE / "gallery" / f"{page.stem}.py").exists():
        page.unlink()

project = "Thresher"
author = "The Thresher developers"
project_copyright = "the Thresher developers"
version = release = __version__

extensions = [
    "compact_docstrings",  # ours: before numpydoc, which reads what it makes
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "**/README.md"]
templates_path = ["_templates"]
myst_heading_anchors = 3  # links such as limits.md#wide-tables
default_role = "py:obj"  # a link where there is something to link to, else code
nitpicky = False  # backticks also mark things that are not Python objects

# The reference: https addresses are never fetched, so there is no intersphinx.
autosummary_generate = True
autosummary_ignore_module_all = False  # public_names.rst lists what a module has in __all__
autodoc_typehints = "none"  # the docstrings say what a parameter is
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads scripts from elsewhere
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "abort_on_example_error": False,  # -W makes an error of it, after the others ran
}

html_theme = "pydata_sphinx_theme"
html_title = "Thresher"
html_static_path = ["_static"]
html_css_files = ["thresher.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "getting-started": []}
html_context = {"default_mode": "light"}
