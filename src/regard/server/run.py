"""A socket, uvicorn on it, and an end that lets everybody finish who was let in."""

import ctypes
import errno
import ipaddress
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
from regard.server.impatient import Impatient

IDLE = 65
"""Seconds that a connection without a request is kept."""

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def bind(host: str, port: int) -> socket.socket:
    """Take an address, or say why it cannot be had; port 0 is any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise _refused(
            f"host = {host}, but it must be an address or name of this machine"
        ) from None
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError as error:
        taken.close()
        raise _refused(_why(error, host, port)) from None
    return taken


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port = {port}, but it must be free; port = 0 takes one that is, and would do"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port = {port}, but this user may not take it; port = 8000 would do"
    return f"host = {host}, but it must be an address or name of this machine"


def _refused(problem: str) -> ConfigError:
    would = "" if problem.endswith("would do") else "; host = 127.0.0.1 would do"
    return ConfigError("serve", [problem + would])


def hosts(taken: socket.socket, host: str, more: Sequence[str] = ()) -> set[str] | None:
    """Return the names a server may be called by: its own, this machine's, and those it is told.

    Where others can reach it and no name is told, it is None, for any.
    """
    address = taken.getsockname()[0]
    if not more and not ipaddress.ip_address(address).is_loopback:
        return None
    named = f"[{address}]" if ":" in address else address
    return {*LOOPBACK, named, *(name.lower() for name in (host, *more))}


def address(taken: socket.socket) -> str:
    """Return the address for a browser."""
    host, port = taken.getsockname()[:2]
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    host = anywhere.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: FastAPI, taken: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until a signal ends it; what was accepted by then is finished."""
    _give_memory_back()
    taken.listen(2048)
    ready()
    server(app).run(sockets=[taken])


def _give_memory_back() -> None:
    """Have glibc return large blocks when they are freed, where it is glibc.

    It learns to keep what was large once, and a heap for each thread: a sixth more, and up and down
    with every batch.
    """
    arena_max, mmap_threshold = -8, -3
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(mmap_threshold, 2**20)
        libc.mallopt(arena_max, 2)


def server(app: FastAPI) -> "Graceful":
    """Return uvicorn as it suits the app."""
    service = app.state.service
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        lifespan="on",
        log_config=None,
        # what a client does wrong is told to the client
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        # a request that came last may take all of its time, and its client some to read
        timeout_graceful_shutdown=ceil(service.limits.seconds + service.limits.stall_seconds) + 5,
    )
    return Graceful(config, service)


@final
class Graceful(uvicorn.Server):
    """A signal is a wish to stop, and stopping no failure."""

    def __init__(self, config: uvicorn.Config, service: Any) -> None:
        super().__init__(config)
        self.service = service

    @contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals; unlike uvicorn, do not raise them once all is done."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.service.stopping = True
        super().handle_exit(sig, frame)
