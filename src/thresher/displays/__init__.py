"""Pictures of a fitted classifier: the rows it trusts, what each phase proved, its features.

They need matplotlib (`pip install "thresher[plot]"`), but only once `plot` is called.
"""

from thresher.displays.features import FeaturesDisplay
from thresher.displays.phases import PhasesDisplay
from thresher.displays.trust import TrustDisplay

__all__ = ["FeaturesDisplay", "PhasesDisplay", "TrustDisplay"]
