"""Methods that are not ours: what Thresher is compared with.

classifiers/  scikit-learn classifiers for labeled tables: what a user would try instead
methods/      methods that learn from an oracle under a label budget: the algorithms of the
              literature, and the classifiers above on rows and labels that they draw
worlds.py     small worlds in which the claims of the methods are tested

`METHODS` holds the methods by name; `MISSING`, those whose package is not installed. Each folder's
docstring says how to add to it: three files each time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thresher.rivals import classifiers

if TYPE_CHECKING:
    from thresher.rivals.classifiers import *  # noqa: F403
    from thresher.rivals.methods import METHODS as METHODS
    from thresher.rivals.methods import MISSING as MISSING

__all__ = classifiers.__all__


def __getattr__(name: str) -> Any:
    # On demand, because importing scikit-learn takes longer than starting a worker of the arena.
    if name in ("METHODS", "MISSING"):
        return getattr(import_module("thresher.rivals.methods"), name)
    if name in __all__:
        return getattr(classifiers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
