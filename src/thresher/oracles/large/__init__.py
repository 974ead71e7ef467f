"""Pools that do not fit into memory, or onto one machine."""

from thresher.oracles.large.dask_pool import DaskPool
from thresher.oracles.large.large_pool import LargePool
from thresher.oracles.large.parquet_pool import ParquetPool

__all__ = ["DaskPool", "LargePool", "ParquetPool"]
