"""The methods of the literature, under one interface: they learn from the arena's own oracle.

interface.py       what a method is, and what it may ask
phase_loop.py      those that are Algorithm 1 with switches: the earlier and the later phase loops
mirror_descent.py  stage-wise mirror descent on rows near the boundary
shen2023.py        phases whose rows are thinned by matrix-multiplicative-weights scores
tables.py          the practical peers, on labels that they pay for

Each module has a tuple `METHODS`; `METHODS` here has all of them by name.
"""

from thresher.rivals.methods import mirror_descent, phase_loop, shen2023, tables
from thresher.rivals.methods.interface import Method, Source, draw_labeled, unit

_MODULES = (phase_loop, mirror_descent, shen2023, tables)
METHODS: dict[str, Method] = {
    method.name: method for module in _MODULES for method in module.METHODS
}

__all__ = ["METHODS", "Method", "Source", "draw_labeled", "unit"]
