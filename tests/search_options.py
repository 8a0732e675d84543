"""Search options with the default settings, except for those that a test passes."""

from dataclasses import fields

from regard.config.settings import SearchConfig
from regard.search import SearchOptions

SETTINGS = {field.name for field in fields(SearchConfig)} - {"constraint"}


def wanted(**changes):
    """Return the defaults with some settings, or other options, changed."""
    settings = {name: changes.pop(name) for name in SETTINGS & changes.keys()}
    return SearchOptions(config=SearchConfig(**settings), **changes)
