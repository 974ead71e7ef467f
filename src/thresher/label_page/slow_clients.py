"""Connections that end when a client takes too long to send a request or to read an answer."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # for the head of a request; its body has a limit of its own
READING_SECONDS = 30.0  # for an answer that the client does not take


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol with deadlines for slow clients, which it does not have itself."""

    header_seconds = HEADER_SECONDS
    reading_seconds = READING_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait(self.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait on until the head of a request is complete."""
        super().data_received(data)
        if self._deadline is None and not self._has_request:  # bytes of the next request
            self._wait(self.header_seconds)
        self._stop_waiting_for_head()

    def on_response_complete(self) -> None:
        """Begin with the next request if it has arrived already."""
        super().on_response_complete()
        self._stop_waiting_for_head()

    def pause_writing(self) -> None:
        """The client does not read what it asked for."""
        super().pause_writing()
        self._wait(self.reading_seconds)

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._stop_waiting()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also if it never takes the rest of an answer."""
        super().timeout_keep_alive_handler()
        self._wait(self.reading_seconds)

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_waiting_for_head(self) -> None:
        # A client may send on while it does not read: then the wait is for that.
        if self._has_request and not self.flow.write_paused:
            self._stop_waiting()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
