"""Options of a search, the same for all lines of a call."""

from dataclasses import dataclass

from regard.config.settings import SearchConfig
from regard.search.constraints import Constraint


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The settings of a search, and the options that belong to one call."""

    config: SearchConfig
    """The settings of [search]."""

    banned: frozenset[int] = frozenset()
    """Tokens that must not be generated."""

    num_candidates: int = 0
    """Number of best candidates to report at each position."""

    keep_tree: bool = False
    """Report every hypothesis that was in the beam, with the best one of each line."""

    constraint: Constraint | None = None
    """The constraint that `config.constraint` names, for the vocabulary of the target."""
