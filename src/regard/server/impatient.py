"""Clients that keep a connection and do nothing with it are let go: uvicorn would wait for ever."""

import asyncio
import socket
from typing import Any, final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10
"""Seconds within which a request's headers must have come."""

KEPT = 262_144
"""Bytes that the system keeps of an answer: of megabytes, nobody could see a slow client read."""


@final
class Impatient(H11Protocol):
    """Waits neither for headers that never end nor for a client that does not read its answer."""

    late: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        app: Any = self.config.app
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KEPT)
        watched: Any = Watched(transport, self.loop, app.state.service.limits.stall_seconds)
        super().connection_made(watched)
        self._wait(True)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait(self.cycle is None or self.cycle.response_complete)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._wait(False)

    def _wait(self, idle: bool) -> None:
        """Let the time run from the first byte, not from the last."""
        if self.late is not None and not idle:
            self.late.cancel()
            self.late = None
        elif self.late is None and idle:
            self.late = self.loop.call_later(PATIENCE, self.transport.close)


@final
class Watched:
    """A transport that is aborted when nothing of what was written leaves it for a while.

    Closing it would not do: that waits until everything is sent.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        self.transport = transport
        self.loop = loop
        self.seconds = seconds
        self.written = 0
        self.sent = 0
        self.moved = 0.0
        self.watching = False

    def __getattr__(self, name: str) -> Any:
        """Be the transport in all else."""
        return getattr(self.transport, name)

    def write(self, data: bytes) -> None:
        """Send bytes, or keep them until the client takes them."""
        self.transport.write(data)
        self.written += len(data)
        if not self.watching and self.transport.get_write_buffer_size():
            self.watching, self.moved = True, self.loop.time()
            self._look()

    def _look(self) -> None:
        """Look again and again, four times in the time that there is, until nothing is left."""
        left = self.transport.get_write_buffer_size()
        if self.written - left > self.sent:
            self.sent, self.moved = self.written - left, self.loop.time()
        self.watching = left > 0
        if self.watching and self.loop.time() - self.moved >= self.seconds:
            self.transport.abort()
        elif self.watching:
            self.loop.call_later(self.seconds / 4, self._look)
