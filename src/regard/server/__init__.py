"""Models behind HTTP: requests of many clients through one queue, and the page to play with."""

from typing import TYPE_CHECKING, Any

from regard.server.limits import Limits

if TYPE_CHECKING:
    from regard.server.app import create_app
    from regard.server.run import bind, serve

__all__ = ["Limits", "bind", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    """Import what computes only when it is asked for: the command line tells of limits."""
    if name == "create_app":
        from regard.server.app import create_app

        return create_app
    if name in ("bind", "serve"):
        from regard.server import run

        return getattr(run, name)
    raise AttributeError(f"module 'regard.server' has no attribute {name!r}")
