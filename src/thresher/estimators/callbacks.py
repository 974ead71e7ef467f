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


__all__ = ["CallbackSupportMixin", "FitReport", "with_callbacks"]

Attributes = dict[str, Any]


class FitReport:
    """Tells the callbacks of an estimator how far its `fit` is.

    Parameters
    ----------
    estimator : that is being fitted
    X, y : what it was given to be fitted to
    n_tasks : how many tasks the fit has at most; None if that is not known
    """

    def __init__(self, estimator: Any, X: Any, y: Any, *, n_tasks: int | None = None) -> None:
        self._data = {"estimator": estimator, "X": X, "y": y}
        start = getattr(estimator, "_init_callback_context", None)
        self._context = None if start is None else start(max_subtasks=n_tasks)
        if self._context is not None:
            self._context.call_on_fit_task_begin(**self._data)

    def task_ended(self, name: str, attributes: Callable[[], Attributes] | None = None) -> bool:
        """Report a task; the answer is whether a callback wants the fit to end here.

        `attributes` makes those that turn the estimator into one that was fitted until here; it is
        called only if a callback wants to see such an estimator.
        """
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self._data)
        return bool(task.call_on_fit_task_end(**self._data, reconstruction_attributes=attributes))

    def fit_ended(self) -> None:
        """Report that everything is done, and the estimator fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._data, reconstruction_attributes={})
