"""Find good targets: greedy, beam, sampling, under constraints; knows only the decoder contract."""

from regard.search.beam import search
from regard.search.request import Hypothesis, Request, SearchOptions, TreeNode

__all__ = ["Hypothesis", "Request", "SearchOptions", "TreeNode", "search"]
