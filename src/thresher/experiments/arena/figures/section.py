"""The figures as a part of a page: pictures, a legend of words, and captions."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.experiments.arena.figures.cast import Cast
from thresher.experiments.arena.figures.drawing import draw_floor_sample, draw_panel, draw_sample
from thresher.experiments.arena.figures.labels import error_by_labels
from thresher.experiments.arena.figures.noise import error_by_noise, worst_case_by_noise
from thresher.experiments.arena.figures.picture import Picture
from thresher.experiments.arena.figures.profiles import profile
from thresher.experiments.arena.figures.scaling import labels_by_size
from thresher.experiments.arena.figures.spike import sparse_against_dense
from thresher.experiments.arena.figures.styles import style_of, title_of
from thresher.experiments.arena.standings import Standings
from thresher.rendering.html import Html, element, join
from thresher.rendering.svg import NO_PICTURES, as_image, side_by_side

KINDS = (
    worst_case_by_noise,
    profile,
    error_by_noise,
    error_by_labels,
    labels_by_size,
    sparse_against_dense,
)


def pictures_of(standings: Standings) -> list[Picture]:
    """Every figure for which the records have what it needs.

    Examples
    --------
    >>> pictures_of(Standings("tiny", None, ()))
    []
    """
    return [picture for make in KINDS for picture in make(standings)]


def figures_section(standings: Standings) -> Html:
    """The figures under a heading; what to install if nobody can draw them.

    Examples
    --------
    >>> figures_section(Standings("tiny", None, ()))
    ''
    """
    pictures = pictures_of(standings)
    if not pictures:
        return Html("")
    cast = Cast.of(standings)
    try:
        parts = [*_explain(cast), *(_figure(picture, cast) for picture in pictures)]
    except ImportError:
        parts = [element("p", NO_PICTURES, class_="quiet")]
    return join([element("h2", "Figures"), *parts], between="\n")


def _explain(cast: Cast) -> Iterator[Html]:
    """Once for all figures, who is not drawn in color."""
    if cast.others:
        told = ", ".join(map(title_of, cast.others))
        text = (
            "A learner looks the same in every figure. Thresher and those with the smallest errors "
            "over all cells are drawn in color; the others are thin grey lines, from best to worst "
            f"with as many labels, then with more: {told}."
        )
        yield element("p", text)


def _figure(picture: Picture, cast: Cast) -> Html:
    drawn = [draw_panel(picture, panel, cast) for panel in picture.panels]
    texts = [picture.describe(panel, cast.prominent) for panel in picture.panels]
    caption = element("figcaption", picture.caption)
    parts = (
        element("strong", picture.title),
        element("ul", *_legend(picture, cast), class_="legend"),
        side_by_side(drawn, texts),
        caption,
    )
    return element("figure", *parts, class_="chart", data_figure=picture.name)


def _legend(picture: Picture, cast: Cast) -> Iterator[Html]:
    """A line for each learner that is drawn in color, one for all others, one for the floor."""
    seen = {curve.learner for panel in picture.panels for curve in panel.curves}
    for name in cast.prominent:
        if name in seen:
            text = style_of(name).words
            yield element("li", as_image(draw_sample(name), text), title_of(name))
    if any(panel.floor for panel in picture.panels):
        sample = as_image(draw_floor_sample(), "dashed black line without markers")
        yield element("li", sample, picture.floor_label)
    n_others = len(seen.intersection(cast.others))
    if n_others:
        sample = as_image(draw_sample(None), "thin grey line without markers")
        yield element("li", sample, f"{n_others} others" if n_others > 1 else "another one")
