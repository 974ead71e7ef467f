"""The engines that read large pools, imported when they are needed."""

import importlib
from typing import Any


def arrow(module: str = "") -> Any:
    """pyarrow, or one of its modules.

    Examples
    --------
    >>> arrow("compute").__name__
    'pyarrow.compute'
    """
    return _imported(f"pyarrow.{module}" if module else "pyarrow", "files")


def dask(module: str = "") -> Any:
    """Dask, or one of its modules."""
    return _imported(f"dask.{module}" if module else "dask", "cluster")


def _imported(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"this pool needs {package}: install it with pip install 'thresher[{extra}]'"
        ) from error
