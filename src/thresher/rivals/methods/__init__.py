"""The methods of the literature, under one interface: they learn from the arena's own oracle.

interface.py       what a method is, and what it may ask
phase_loop.py      those that are Algorithm 1 with switches: the earlier and the later phase loops
mirror_descent.py  stage-wise mirror descent on rows near the boundary
shen2023.py        phases whose rows are thinned by matrix-multiplicative-weights scores
tables.py          the practical peers, on labels that they pay for

Passive methods on labels of rows as they come (samples.py has what they share):
averaging.py, l1_polynomial.py (Kalai et al. 2005), kearns_li.py, klivans_long_servedio.py,
plan_vershynin.py, and filters.py (Diakonikolas, Kane and Stewart; Balakrishnan et al.)

Each module has a tuple `METHODS`; `METHODS` here has all of them by name.
"""

from thresher.rivals.methods import (
    averaging,
    filters,
    kearns_li,
    klivans_long_servedio,
    l1_polynomial,
    mirror_descent,
    phase_loop,
    plan_vershynin,
    shen2023,
    tables,
)
from thresher.rivals.methods.interface import Method, Source, draw_labeled, unit

_MODULES = (
    kearns_li,
    averaging,
    l1_polynomial,
    klivans_long_servedio,
    plan_vershynin,
    phase_loop,
    filters,
    mirror_descent,
    shen2023,
    tables,
)
METHODS: dict[str, Method] = {
    method.name: method for module in _MODULES for method in module.METHODS
}

__all__ = ["METHODS", "Method", "Source", "draw_labeled", "unit"]
