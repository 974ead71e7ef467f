"""The displays as pictures inside a page."""

from __future__ import annotations

from thresher.auditing.examination import Findings
from thresher.displays import FeaturesDisplay, PhasesDisplay, TrustDisplay
from thresher.rendering.html import Html, element
from thresher.rendering.svg import as_image, new_figure, side_by_side

MAX_FEATURES = 20


def picture_of_features(findings: Findings) -> Html:
    """The largest weights of the model."""
    model = findings.model()
    figure = new_figure(7.0, 1.7 + 0.3 * max(min(model.support.size, MAX_FEATURES), 4))
    FeaturesDisplay.from_model(model, max_features=MAX_FEATURES, ax=figure.subplots())
    text = "Bars: the weights of the features that the model uses"
    return element("figure", as_image(figure, text))


def picture_of_trust(findings: Findings) -> Html:
    """Who lost trust, and in which phase, by label."""
    figures = [new_figure(5.0, 4.0) for _ in range(2)]
    groups = [f"labeled {label}" for label in findings.labels.tolist()]
    axes = [figure.subplots() for figure in figures]
    TrustDisplay.from_estimator(findings.classifier, groups=groups, ax=axes)
    texts = ("How many rows have how much trust", "What each phase took from them")
    return side_by_side(figures, texts)


def picture_of_phases(findings: Findings) -> Html:
    """What each phase proved."""
    figures = [new_figure(4.2, 3.8) for _ in range(3)]
    PhasesDisplay.from_estimator(findings.classifier, ax=[figure.subplots() for figure in figures])
    texts = ("Proven variance of each phase", "Hinge loss of each phase", "Rows of each phase")
    return side_by_side(figures, texts)
