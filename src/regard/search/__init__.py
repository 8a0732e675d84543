"""Find good targets: greedy, beam, sampling, under constraints; knows only the decoder contract."""

from regard.search.beam import search
from regard.search.request import Hypothesis, Options, Request, TreeNode

__all__ = ["Hypothesis", "Options", "Request", "TreeNode", "search"]
