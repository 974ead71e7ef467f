"""The displays as pictures inside a page: no file beside it, and nothing to load."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay
from thresher.findings.examination import Findings
from thresher.page import Html, element

MAX_FEATURES = 20


def picture_of_features(findings: Findings) -> Html:
    """The largest weights of the model."""
    model = findings.model()
    order = np.argsort(-np.abs(model.weights), kind="stable")[:MAX_FEATURES]
    figure = _figure(7.0, 1.7 + 0.3 * max(order.size, 4))
    assert model.feature_names is not None
    FeaturesDisplay(
        weights=model.weights[order],
        names=[model.feature_names[j] for j in model.support[order]],
        classes=model.classes,
        n_more=model.support.size - order.size,
    ).plot(figure.subplots())
    return _as_image(figure, "Bars: the weights of the features that the model uses")


def picture_of_trust(findings: Findings) -> Html:
    """Who lost trust, and in which phase, by label."""
    figures = [_figure(5.0, 4.0) for _ in range(2)]
    groups = [f"labeled {label}" for label in findings.labels.tolist()]
    axes = [figure.subplots() for figure in figures]
    TrustDisplay.from_estimator(findings.classifier, groups=groups, ax=axes)
    texts = ("How many rows have how much trust", "What each phase took from them")
    return _side_by_side(figures, texts)


def picture_of_phases(findings: Findings) -> Html:
    """What each phase proved."""
    figures = [_figure(4.2, 3.8) for _ in range(3)]
    PhasesDisplay.from_estimator(findings.classifier, ax=[figure.subplots() for figure in figures])
    texts = ("Proven variance of each phase", "Hinge loss of each phase", "Rows of each phase")
    return _side_by_side(figures, texts)


def _side_by_side(figures: Sequence[Any], texts: Sequence[str]) -> Html:
    """Panels that stand below each other on a narrow screen."""
    images = (_as_image(figure, text) for figure, text in zip(figures, texts))
    return element("div", *images, class_="pictures")


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _as_image(figure: Any, text: str) -> Html:
    """An image that holds its own data, with a text for those who do not see it.

    The same picture is the same text. Letters stay letters: the reader's own fonts know more of
    them than the one that they are measured with here.
    """
    from matplotlib import rc_context

    file = io.BytesIO()
    options = {"svg.hashsalt": "thresher", "svg.fonttype": "none"}
    with rc_context(options), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    image = Html(f'<img alt="{text}" src="data:image/svg+xml;base64,{data}">')
    return element("figure", image)
