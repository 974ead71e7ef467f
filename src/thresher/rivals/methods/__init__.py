"""The methods of the literature, under one interface: they learn from the arena's own oracle.

interface.py              what a method is, and what it may ask
samples.py                the labeled sample of a passive method
kearns_li.py              consistent halfspaces of batches
averaging.py              the mean of y·x
l1_polynomial.py          least absolute errors of a polynomial
klivans_long_servedio.py  deletion along top eigenvectors, then the mean
plan_vershynin.py         one-bit compressed sensing
phase_loop.py             Algorithm 1 with switches: the earlier and the later loops
filters.py                dense and sparse filters of y·x
mirror_descent.py         stage-wise mirror descent near the boundary
shen2023.py               phases with matrix-multiplicative-weights scores
tables.py                 the practical peers, on labels that they pay for
optional.py               those from packages that may be missing

Each module has a tuple `METHODS`; `METHODS` here has all of them by name.
"""

from thresher.rivals.methods import (
    averaging,
    filters,
    kearns_li,
    klivans_long_servedio,
    l1_polynomial,
    mirror_descent,
    optional,
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
    optional,
)
METHODS: dict[str, Method] = {
    method.name: method for module in _MODULES for method in module.METHODS
}

MISSING = optional.MISSING

__all__ = ["METHODS", "MISSING", "Method", "Source", "draw_labeled", "unit"]
