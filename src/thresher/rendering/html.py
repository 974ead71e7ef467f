"""Pieces of a self-contained HTML page: escaped text, tables, and matplotlib figures."""

import base64
import io
import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from thresher.wording import visible

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STYLE = Path(__file__).with_name("page.css")
NO_PICTURES = 'No pictures: matplotlib is missing. Install it with: pip install "thresher[plot]"'


class Html(str):
    """Text that is already HTML. Every other string is escaped when it becomes part of a page.

    Examples
    --------
    >>> element("b", Html("<i>a</i>"), "<i>")
    '<b><i>a</i>&lt;i&gt;</b>'
    """

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int) -> Html:
    """An element with its children and attributes; `class_` stands for `class`.

    Examples
    --------
    >>> element("td", "0.1 < 0.2", class_="worst")
    '<td class="worst">0.1 &lt; 0.2</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """The parts, joined.

    Examples
    --------
    >>> join(["a & b", element("br")], between="\\n")
    'a &amp; b\\n<br></br>'
    """
    return Html(between.join(part if isinstance(part, Html) else escape(part) for part in parts))


def paragraphs(text: str) -> Html:
    """A paragraph for each part of the text between empty lines.

    Examples
    --------
    >>> paragraphs("first\\n\\nsecond")
    '<p>first</p>\\n<p>second</p>'
    """
    parts = (part.strip() for part in text.split("\n\n"))
    return join((element("p", part) for part in parts if part), between="\n")


def definitions(facts: Iterable[tuple[str, str]]) -> Html:
    """A definition list of names and facts.

    Examples
    --------
    >>> definitions([("seeds", "0-9")])
    '<dl><dt>seeds</dt><dd>0-9</dd></dl>'
    """
    pairs = (join([element("dt", name), element("dd", fact)]) for name, fact in facts)
    return element("dl", *pairs)


def table(
    head: Iterable[str], bodies: Iterable[Html], *, label: str, words: Collection[int] = ()
) -> Html:
    """A table that scrolls on its own where the screen is too narrow.

    Parameters
    ----------
    head : column titles
    bodies : `tbody` elements
    label : for screen readers
    words : columns that hold words, not numbers; the first always does

    Examples
    --------
    >>> "<th scope=\\"col\\">error</th>" in table(["error"], [], label="errors")
    True
    """
    titles = (cell("th", title, j in words, scope="col") for j, title in enumerate(head))
    content = element("table", element("thead", element("tr", *titles)), *bodies)
    return element("div", content, class_="wide", role="region", aria_label=label, tabindex=0)


def cell(name: str, content: str, is_word: bool, **attributes: str) -> Html:
    """A `td` or `th`, aligned like words or like numbers.

    Examples
    --------
    >>> cell("td", "benign", True)
    '<td class="word">benign</td>'
    """
    return element(name, content, **attributes, **({"class_": "word"} if is_word else {}))


def document(title: str, body: str) -> Html:
    """The whole page, with its style sheet inside.

    Examples
    --------
    >>> document("A & B", element("p", "text")).startswith("<!DOCTYPE html>")
    True
    """
    head = join(
        [
            Html('<meta charset="utf-8">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html('<meta name="color-scheme" content="light dark">'),
            element("title", title),
            element("style", Html(_STYLE.read_text(encoding="utf-8"))),
        ],
        between="\n",
    )
    page = element("html", element("head", head), "\n", element("body", body), lang="en")
    return Html(f"<!DOCTYPE html>\n{page}\n")


# -- pictures ----------------------------------------------------------------------------------


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
    of them than matplotlib's; characters that no SVG may contain are escaped.

    Examples
    --------
    >>> as_image(new_figure(3.0, 2.0), "nothing < something")[:39]
    '<img alt="nothing &lt; something" src="'
    """
    from matplotlib import rc_context

    file = io.BytesIO()
    options = {"svg.hashsalt": "thresher", "svg.fonttype": "none"}
    with rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(file, format="svg", metadata={"Date": None})
    drawn = _NOT_IN_XML.sub(lambda found: visible(found[0]), file.getvalue().decode("utf-8"))
    data = base64.b64encode(drawn.encode()).decode("ascii")
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
