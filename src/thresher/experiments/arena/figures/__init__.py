"""The figures of a sweep, from its records alone.

picture.py   what a figure is before anybody draws it: panels of curves, with a caption
styles.py    each learner's color, marker and line, the same in every figure
cast.py      who is drawn in color, where there are many learners
worlds.py    the worlds that a figure compares
captions.py  what every caption says: seeds, strengths, runs that did not finish
noise.py     error against noise rate, under each attack and in the worst case
labels.py    error against labels, beside the floor
scaling.py   labels needed against sparsity, features and 1/error
spike.py     sparse against dense outlier removal
profiles.py  how often each learner is close to the best
drawing.py   the curves as figures of matplotlib
section.py   the figures as a part of a page
"""

from thresher.experiments.arena.figures.picture import Axis, Curve, Panel, Picture
from thresher.experiments.arena.figures.section import figures_section, pictures_of
from thresher.experiments.arena.figures.styles import Style, style_of

__all__ = [
    "Axis",
    "Curve",
    "Panel",
    "Picture",
    "Style",
    "figures_section",
    "pictures_of",
    "style_of",
]
