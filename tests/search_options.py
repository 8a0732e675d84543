"""Options of a search as the settings have them, but for what a test says itself."""

from dataclasses import fields

from regard.config.settings import SearchConfig
from regard.search import Options

SHARED = {field.name for field in fields(Options)} & {field.name for field in fields(SearchConfig)}
DEFAULTS = {name: getattr(SearchConfig(), name) for name in SHARED}


def wanted(**changes):
    """Return the settings' defaults with some changed."""
    return Options(**{**DEFAULTS, **changes})
