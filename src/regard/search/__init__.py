"""Greedy search, beam search and sampling, under constraints; knows only the step decoder."""

from regard.search.beam import search
from regard.search.constraints import Constraint
from regard.search.hypothesis import Hypothesis, TreeNode, length_penalty
from regard.search.options import SearchOptions
from regard.search.request import SearchRequest
from regard.search.top_k import NEG_INF

__all__ = [
    "NEG_INF",
    "Constraint",
    "Hypothesis",
    "SearchOptions",
    "SearchRequest",
    "TreeNode",
    "length_penalty",
    "search",
]
