"""Find good targets: greedy, beam, sampling, under constraints; knows only the decoder contract."""

from regard.search.beam import search
from regard.search.constraints import Constraint
from regard.search.options import SearchOptions
from regard.search.ranking import NEVER
from regard.search.request import Hypothesis, Request, TreeNode

__all__ = [
    "NEVER",
    "Constraint",
    "Hypothesis",
    "Request",
    "SearchOptions",
    "TreeNode",
    "search",
]
