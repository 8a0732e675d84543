"""Cross-origin requests (CORS): which pages of other sites may call the server."""

import re
from collections.abc import Iterable
from typing import Any

from regard.errors import ConfigError
from regard.server import messages

ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:.]+\](:[0-9]{1,5})?")

CORS_OPTIONS: dict[str, Any] = {
    "allow_methods": ["GET", "POST"],
    "allow_headers": ["Content-Type", "X-Request-ID"],
    "expose_headers": ["Retry-After", "X-Request-ID"],
}
"""What allowed origins may send and read; there are no cookies and no passwords."""


def check_origins(origins: Iterable[str]) -> None:
    """Refuse what no browser would send as an origin, and a wildcard."""
    problems = [messages.not_an_origin(one) for one in origins if not ORIGIN.fullmatch(one)]
    if problems:
        raise ConfigError("serve", problems)
