"""A Dask cluster that runs trials: its address, the way to it, and what comes back."""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thresher.errors import ThresherError
from thresher.experiments.arena.isolation import run_isolated
from thresher.experiments.arena.trials import FlatRecord

_PATIENCE = 10  # seconds for a cluster to answer
_HOST_AND_PORT = re.compile(
    r"(?:(?:tcp|tls|ucxx?|wss?)://)?"
    r"(?:\[[0-9a-fA-F:.%]+\]|[^\s/:\[\]]+)"  # [::1], or a name or number without colons
    r":(?P<port>[0-9]{1,5})"
)


def check_address(address: str) -> str:
    """The address of a Dask scheduler, if it looks like one.

    Asked here because a Dask client that was given another text neither says clearly what is
    wrong with it nor ends with the program.

    Examples
    --------
    >>> check_address("tcp://127.0.0.1:8786")
    'tcp://127.0.0.1:8786'
    >>> check_address("foo")
    Traceback (most recent call last):
    ValueError: scheduler must be an address like tcp://127.0.0.1:8786, got 'foo'
    """
    if not isinstance(address, str):
        raise TypeError(f"scheduler must be a string, got {address!r}")
    found = _HOST_AND_PORT.fullmatch(address)
    is_port = found is not None and 0 < int(found["port"]) < 2**16
    if not is_port and not address.startswith("inproc://"):  # a cluster in threads of our own
        raise ValueError(f"scheduler must be an address like tcp://127.0.0.1:8786, got {address!r}")
    return address


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the Dask cluster, once it has at least one worker.

    Raises
    ------
    ThresherError : nobody answers, no worker comes, or Dask is not installed
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ThresherError(
            'a Dask cluster needs distributed; install it with: pip install "thresher[cluster]"'
        ) from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:  # of many kinds, when what answers is no scheduler
        raise ThresherError(
            f"no Dask scheduler answers at {address!r} ({_in_one_line(error)})"
        ) from error
    try:
        _await_worker(client, address)
        yield client
    finally:
        client.close()


def run_on_cluster(
    client: Any, records: Sequence[dict[str, Any]], time_limit: float
) -> Generator[FlatRecord, None, None]:
    """Records from a Dask cluster, as they are ready.

    Not through joblib's Dask backend: it waits for ever for a task whose worker was lost.

    Raises
    ------
    ThresherError : the cluster lost a run
    """
    from distributed import as_completed

    # The futures are kept nowhere else: what was taken need not survive the loss of a worker.
    tasks = client.map(run_isolated, records, time_limit=time_limit, pure=False)
    waiting = as_completed(tasks, loop=client.loop)
    del tasks
    for task in waiting:
        try:
            record = task.result()
        except ThresherError:
            raise
        except (Exception, CancelledError) as error:
            raise ThresherError(
                f"the Dask cluster lost a run ({_in_one_line(error)}); what was recorded before is "
                "kept, and the same call goes on from there"
            ) from error
        yield record


def _await_worker(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ThresherError(
            f"the Dask scheduler at {address!r} has no worker after {_PATIENCE} s; start one"
        ) from error


def _in_one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
