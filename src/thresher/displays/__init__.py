"""Pictures of a fitted classifier: whom it trusts, what each phase proved, which features it uses.

Each display holds plain data and draws it with matplotlib, which comes with
`pip install "thresher[plot]"` and is not needed before `plot` is called.
"""

from thresher.displays.features import FeaturesDisplay
from thresher.displays.phases import PhasesDisplay
from thresher.displays.trust import TrustDisplay

__all__ = ["FeaturesDisplay", "PhasesDisplay", "TrustDisplay"]
