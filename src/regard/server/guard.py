"""What every request passes and every answer gets: hosts, headers, counts, errors kept inside."""

import logging
import time
from collections.abc import Callable, Collection
from typing import final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.problems import BROKEN, problem

log = logging.getLogger("regard.server")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

OPEN = ("/healthz", "/readyz", "/metrics")
"""What answers under any name: whoever watches a server calls it by its address."""


@final
class Guard:
    """Stands around the app; `hosts` are the names it may be called by, None being any."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] | None,
        told: Callable[[str, int, float], None],
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; whatever goes wrong inside is told to the log alone."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            if self._known(scope):
                await self.app(scope, receive, answer)
            else:
                detail = "the Host of the request is not this server's; its own address would do"
                await problem(421, detail)(scope, receive, answer)
        except Exception:
            log.exception("a request could not be answered")
            if not status:
                await problem(500, BROKEN)(scope, receive, answer)
        finally:
            self.told(_route(scope), status, time.perf_counter() - start)

    def _known(self, scope: Scope) -> bool:
        """Whether a request means us: a page elsewhere may have its name point to this address."""
        if self.hosts is None or scope["path"] in OPEN:
            return True
        host = Headers(scope=scope).get("host", "")
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        return name.lower() in self.hosts


def _route(scope: Scope) -> str:
    """Return the route that answered; paths that people made up are all one."""
    return getattr(scope.get("route"), "path", "other")
