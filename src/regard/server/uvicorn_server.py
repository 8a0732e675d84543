"""The listening socket, uvicorn on it, and a graceful shutdown."""

import asyncio
import ctypes
import errno
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from types import FrameType
from typing import Any, final

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from regard.errors import ConfigError
from regard.server import messages
from regard.server.timeouts import TimeoutProtocol

KEEP_ALIVE_SECONDS = 65
"""Seconds after which a connection without a request is closed."""

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket, or say why it cannot be bound; port 0 picks a free port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise ConfigError("serve", [messages.unknown_host(host)]) from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ConfigError("serve", [_bind_problem(error, host, port)]) from None
    return listener


def _bind_problem(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return messages.port_in_use(port)
    if error.errno in (errno.EACCES, errno.EPERM):
        return messages.port_forbidden(port)
    return messages.unknown_host(host)


def allowed_hosts(
    listener: socket.socket, host: str, extra_names: Sequence[str] = ()
) -> set[str] | None:
    """Return the Host headers to accept: the host's, loopback names, and `extra_names`.

    If other machines can reach the server and no name is given, return None: any name is accepted.
    """
    address = listener.getsockname()[0]
    if not extra_names and not ipaddress.ip_address(address).is_loopback:
        return None
    bracketed = f"[{address}]" if ":" in address else address
    return {*LOOPBACK_NAMES, bracketed, *(name.lower() for name in (host, *extra_names))}


def server_url(listener: socket.socket) -> str:
    """Return the URL to open in a browser."""
    host, port = listener.getsockname()[:2]
    loopback_by_wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    host = loopback_by_wildcard.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: FastAPI, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal arrives; requests accepted by then are finished."""
    _limit_malloc_growth()
    listener.listen(2048)
    ready()
    build_server(app).run(sockets=[listener])


def _limit_malloc_growth() -> None:
    """Let glibc's malloc return freed blocks to the system, if the C library is glibc.

    By default its mmap threshold grows with the largest block and each thread gets an arena of its
    own. Resident memory is then a sixth larger, and varies with every batch.
    """
    arena_max, mmap_threshold = -8, -3
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(mmap_threshold, 2**20)
        libc.mallopt(arena_max, 2)


def build_server(app: FastAPI) -> "GracefulServer":
    """Return uvicorn, configured for the app."""
    service = app.state.service
    config = uvicorn.Config(
        app,
        http=TimeoutProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        # errors of a client are reported to the client
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        # the last request may use its whole deadline, and its client needs time to read
        timeout_graceful_shutdown=ceil(service.limits.seconds + service.limits.stall_seconds) + 5,
    )
    return GracefulServer(config, service)


def _has_terminal() -> bool:
    """Whether the process has a controlling terminal that is still open."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


@final
class GracefulServer(uvicorn.Server):
    """Uvicorn that stops on a signal and then exits with status 0."""

    def __init__(self, config: uvicorn.Config, service: Any) -> None:
        super().__init__(config)
        self.service = service
        self.had_terminal = False
        self.reloads: set[asyncio.Future[None]] = set()

    @contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        """Handle signals; unlike uvicorn, do not raise them again after shutdown."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        previous = {number: signal.signal(number, self.handle_exit) for number in signals}
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None:
            self.had_terminal = _has_terminal()
            asyncio.get_running_loop().add_signal_handler(hangup, self._handle_hangup)
        try:
            yield
        finally:
            if hangup is not None:
                asyncio.get_running_loop().remove_signal_handler(hangup)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle_hangup(self) -> None:
        """Reload the models, or stop if the terminal of the server was closed."""
        if self.had_terminal and not _has_terminal():
            self.handle_exit(signal.SIGHUP, None)
        else:
            task = asyncio.ensure_future(self.service.reload())
            # the event loop itself keeps no task alive
            self.reloads.add(task)
            task.add_done_callback(self.reloads.discard)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.service.stopping = True
        super().handle_exit(sig, frame)
