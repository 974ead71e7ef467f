"""scikit-learn's callbacks, where the installed version has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method itself."""
        return method


__all__ = ["CallbackSupportMixin", "PhaseReport", "with_callbacks"]


class PhaseReport:
    """Tells the callbacks of an estimator how far its `fit` is.

    Parameters
    ----------
    estimator : that is being fitted
    X, y : what it was given to be fitted to
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._data = {"estimator": estimator, "X": X, "y": y}
        start = getattr(estimator, "_init_callback_context", None)
        self._context = None if start is None else start(max_subtasks=None)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def phase_ended(self, _: object) -> bool:
        """Report a phase; the answer is whether a callback wants learning to end here."""
        if self._context is None:
            return False
        phase = self._context.subcontext(task_name="phase")
        phase.call_on_fit_task_begin(**self._data)
        return bool(phase.call_on_fit_task_end(**self._data))

    def fit_ended(self) -> None:
        """Report that everything is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._data)
