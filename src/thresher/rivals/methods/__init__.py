"""The methods of the literature, under one interface: they learn from the arena's own oracle.

interface.py   what a method is, and what it may ask
"""

from thresher.rivals.methods.interface import Method, Source, draw_labeled, unit

__all__ = ["Method", "Source", "draw_labeled", "unit"]
