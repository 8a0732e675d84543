"""The log: one entry per request, and errors; as text or as JSON lines.

No text of a request is logged unless that is requested.
"""

import json
import logging
import re
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal, final

from starlette.types import Scope
from typing_extensions import override

LEVELS = ("debug", "info", "warning", "error")
LogFormat = Literal["text", "json"]

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Request ids that are accepted from clients and proxies."""

QUIET_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that monitoring calls every few seconds: their requests are logged at level debug."""

MAX_PATH_CHARACTERS = 200

access_log = logging.getLogger("regard.server.access")


@final
@dataclass
class RequestRecord:
    """What the log says of a request; the handlers fill it in."""

    request_id: str
    fields: dict[str, Any] = field(default_factory=dict)


def new_request_id(proposed: str | None) -> str:
    """Return the id that the client or a proxy gave to a request, or a new one."""
    return proposed if proposed and REQUEST_ID.fullmatch(proposed) else uuid.uuid4().hex


def record_of(scope: Scope) -> RequestRecord:
    """Return the record of a request; outside of the middleware, one that nobody reads."""
    record = scope.get("regard.record")
    return record if isinstance(record, RequestRecord) else RequestRecord("")


def log_request(scope: Scope, record: RequestRecord, status: int, seconds: float) -> None:
    """Log a request that has ended; status 0 is a connection that broke."""
    route = getattr(scope.get("route"), "path", None)
    path = scope["path"][:MAX_PATH_CHARACTERS] if route in (None, "page") else route
    fields = {
        "request_id": record.request_id,
        "method": scope["method"],
        "path": path,
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
        **record.fields,
    }
    level = logging.WARNING if status >= 500 or not status else logging.INFO
    if status < 400 and route in QUIET_ROUTES:
        level = logging.DEBUG
    access_log.log(level, "request", extra={"fields": fields})


def configure_logging(level: str, format_: LogFormat) -> None:
    """Log to stderr: regard from a level on, other packages from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else TextFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("regard").setLevel(level.upper())


@final
class JsonFormatter(logging.Formatter):
    """One JSON object per entry: time, level, logger, message, and the fields of the entry."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        content = {
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        # ASCII: neither a lone surrogate nor a line separator can break a log
        return json.dumps(content, default=str)


@final
class TextFormatter(logging.Formatter):
    """One line per entry: time, level, message, and its fields as name=value."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        parts = [_timestamp(record), record.levelname.lower(), _one_line(record.getMessage())]
        parts += [f"{name}={_text(value)}" for name, value in fields.items()]
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _timestamp(record: logging.LogRecord) -> str:
    """Return the time of an entry in UTC (RFC 3339)."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03}Z"


def _one_line(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)


def _text(value: Any) -> str:
    """Return a value as one word, quoted if it is not: a client must not forge an entry."""
    if isinstance(value, str) and re.fullmatch(r"[\w./:@%+-]+", value, flags=re.ASCII):
        return value
    return json.dumps(value, default=str)
