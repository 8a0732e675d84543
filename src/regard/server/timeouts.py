"""Timeouts that uvicorn lacks: for headers that do not arrive and for clients that do not read."""

import asyncio
import socket
from typing import Any, final

from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT_SECONDS = 10
"""Seconds within which the headers of a request must arrive."""

SEND_BUFFER_BYTES = 262_144
"""The kernel's send buffer. A larger one would hide for long whether a slow client still reads."""


@final
class TimeoutProtocol(H11Protocol):
    """HTTP/1.1 that closes connections whose headers or reads take too long."""

    header_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        app: Any = self.config.app
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES
        )
        stall_seconds = app.state.service.limits.stall_seconds
        stall_timeout: Any = StallTimeoutTransport(transport, self.loop, stall_seconds)
        super().connection_made(stall_timeout)
        self._set_header_timer(True)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_header_timer(self.cycle is None or self.cycle.response_complete)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._set_header_timer(False)

    def _set_header_timer(self, idle: bool) -> None:
        """Count from the first byte of a request, not from the latest."""
        if self.header_timer is not None and not idle:
            self.header_timer.cancel()
            self.header_timer = None
        elif self.header_timer is None and idle:
            self.header_timer = self.loop.call_later(HEADER_TIMEOUT_SECONDS, self.transport.close)


@final
class StallTimeoutTransport:
    """A transport that aborts when the client reads nothing of the response for some seconds.

    It aborts rather than closes, since `close` waits until everything is sent.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
    ) -> None:
        self.transport = transport
        self.loop = loop
        self.seconds = seconds
        self.bytes_written = 0
        self.bytes_sent = 0
        self.last_progress_time = 0.0
        self.is_polling = False

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the transport."""
        return getattr(self.transport, name)

    def write(self, data: bytes) -> None:
        """Send bytes, or buffer them until the client reads."""
        self.transport.write(data)
        self.bytes_written += len(data)
        if not self.is_polling and self.transport.get_write_buffer_size():
            self.is_polling, self.last_progress_time = True, self.loop.time()
            self._poll()

    def _poll(self) -> None:
        """Check for progress four times within the timeout, until the buffer is empty."""
        buffered_bytes = self.transport.get_write_buffer_size()
        if self.bytes_written - buffered_bytes > self.bytes_sent:
            self.bytes_sent = self.bytes_written - buffered_bytes
            self.last_progress_time = self.loop.time()
        self.is_polling = buffered_bytes > 0
        if self.is_polling and self.loop.time() - self.last_progress_time >= self.seconds:
            self.transport.abort()
        elif self.is_polling:
            self.loop.call_later(self.seconds / 4, self._poll)
