"""The figures of a sweep, from its records alone.

kinds.py     every kind of figure: which numbers of the summary become which curves
sketch.py    what a figure is before it is drawn, and each learner's color, marker and line
drawing.py   panels as matplotlib figures, and all figures as a section of the report

A new figure is a function in `kinds.py`, listed in its `FIGURES`.
"""

from thresher.experiments.arena.figures.drawing import figures_section
from thresher.experiments.arena.figures.kinds import figures_of

__all__ = ["figures_of", "figures_section"]
