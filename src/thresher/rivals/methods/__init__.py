"""Methods that learn from an oracle under a label budget, with one interface.

method.py          what a method is, and what passive methods share
earliest.py        1988 to 2013: consistent halfspaces, averages, L1 regression
phase_loop.py      Algorithm 1 without some of its steps: earlier and later phase loops
filters.py         dense and sparse filters of y·x
pool_filters.py    filters of unlabeled rows, with sparse localization
mirror_descent.py  stage-wise mirror descent near the boundary
shen2023.py        phases with matrix-multiplicative-weights scores
peers.py           classifiers for tables, and peers from optional packages

To add a method, touch three files: a module here with a tuple `METHODS`; the module's name in
`_MODULES` below; and a test of the module, where the method holds and where it breaks. Its entry
names the world in which its claim is tested. The tests in tests/rivals/methods/test_every_method.py
and test_worlds.py run for all methods. A classifier for tables becomes a
method by its row in `thresher.rivals.classifiers.CLASSIFIERS`.
"""

from importlib import import_module

from thresher.rivals.methods.method import Method, Source, draw_labeled, unit
from thresher.rivals.methods.peers import MISSING

_MODULES = (
    "earliest",
    "phase_loop",
    "filters",
    "pool_filters",
    "mirror_descent",
    "shen2023",
    "peers",
)
METHODS: dict[str, Method] = {
    method.name: method
    for module in _MODULES
    for method in import_module(f"{__name__}.{module}").METHODS
}

__all__ = ["METHODS", "MISSING", "Method", "Source", "draw_labeled", "unit"]
