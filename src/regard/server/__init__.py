"""Models over HTTP: requests of all clients share one queue; with a page to play with."""

from typing import TYPE_CHECKING, Any

from regard.server.limits import Limits

if TYPE_CHECKING:
    from regard.server.app import create_app
    from regard.server.uvicorn_server import bind, serve

__all__ = ["Limits", "bind", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    """Import the web framework on first use: `regard serve --help` needs only the limits."""
    if name == "create_app":
        from regard.server.app import create_app

        return create_app
    if name in ("bind", "serve"):
        from regard.server import uvicorn_server

        return getattr(uvicorn_server, name)
    raise AttributeError(f"module 'regard.server' has no attribute {name!r}")
