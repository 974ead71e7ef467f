"""Matplotlib figures embedded in an HTML page."""

import base64
import io
import warnings
from collections.abc import Sequence
from html import escape
from typing import Any

from thresher.rendering.html import Html, element

NO_PICTURES = 'No pictures: matplotlib is missing. Install it with: pip install "thresher[plot]"'


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches.

    Raises
    ------
    ImportError : matplotlib is missing

    Examples
    --------
    >>> new_figure(3.0, 2.0).get_size_inches()
    array([3., 2.])
    """
    from matplotlib.figure import Figure  # here: pages can be written without pictures

    return Figure(figsize=(width, height), layout="constrained")


def as_image(figure: Any, text: str) -> Html:
    """An `img` element with the figure's data, and an alternative text for screen readers.

    The same figure gives the same bytes. Letters stay letters, because the reader's fonts have more
    of them than matplotlib's.

    Examples
    --------
    >>> as_image(new_figure(3.0, 2.0), "nothing < something")[:39]
    '<img alt="nothing &lt; something" src="'
    """
    from matplotlib import rc_context

    file = io.BytesIO()
    options = {"svg.hashsalt": "thresher", "svg.fonttype": "none"}
    with rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return Html(f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{data}">')


def side_by_side(figures: Sequence[Any], texts: Sequence[str]) -> Html:
    """Panels next to each other, or below each other on a narrow screen.

    Examples
    --------
    >>> side_by_side([new_figure(3.0, 2.0)] * 2, ["left", "right"]).count("<figure>")
    2
    """
    images = (element("figure", as_image(*pair)) for pair in zip(figures, texts))
    return element("div", *images, class_="pictures")
