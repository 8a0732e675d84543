"""How to search all lines of a call."""

from dataclasses import dataclass

from regard.config.settings import SearchConfig
from regard.search.constraints import Constraint


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The settings of a search, and what only a call can say."""

    config: SearchConfig
    """The settings of [search]."""

    banned: frozenset[int] = frozenset()
    """Words that must not be written."""

    num_candidates: int = 0
    """Best candidates to report at each position."""

    keep_tree: bool = False
    """Report every hypothesis that was ever in the beam, with the best of each line."""

    constraint: Constraint | None = None
    """What `config.constraint` names, made for the target vocabulary."""
