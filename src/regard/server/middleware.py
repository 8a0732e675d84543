"""ASGI middleware around every request: Host check, headers, metrics, log, error handling."""

import logging
import time
from collections.abc import Callable, Collection
from typing import final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server import messages
from regard.server.logs import RequestRecord, log_request, new_request_id
from regard.server.problem_details import problem_response

log = logging.getLogger("regard.server")

SECURITY_HEADERS = {
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

ANY_HOST_PATHS = ("/healthz", "/readyz", "/metrics")
"""Paths without a Host check: monitoring calls a server by its address."""


@final
class RequestMiddleware:
    """Wraps the app; `hosts` are the accepted Host headers, None for any."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] | None,
        record_request: Callable[[str, int, float], None],
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.record_request = record_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; details of an internal error go to the log only."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        record = RequestRecord(new_request_id(Headers(scope=scope).get("x-request-id")))
        scope["regard.record"] = record

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Request-ID"] = record.request_id
            await send(message)

        try:
            if self._host_allowed(scope):
                await self.app(scope, receive, send_with_headers)
            else:
                response = problem_response(421, messages.WRONG_HOST)
                await response(scope, receive, send_with_headers)
        except Exception:
            fields = {"request_id": record.request_id}
            log.exception(messages.LOG_REQUEST_FAILED, extra={"fields": fields})
            if not status:
                response = problem_response(500, messages.INTERNAL_ERROR)
                await response(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - start
            self.record_request(_route(scope), status, seconds)
            log_request(scope, record, status, seconds)

    def _host_allowed(self, scope: Scope) -> bool:
        """Check the Host header, against DNS rebinding by pages of other sites."""
        if self.hosts is None or scope["path"] in ANY_HOST_PATHS:
            return True
        host = Headers(scope=scope).get("host", "")
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        return name.lower() in self.hosts


def _route(scope: Scope) -> str:
    """Return the matched route; unknown paths share one label, so clients cannot add labels."""
    return getattr(scope.get("route"), "path", "other")
