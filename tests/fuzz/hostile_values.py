"""Directed changes of JSON: every number, text and list by hostile values, paths and swaps."""

import copy
import math

NUMBERS = [0, -1, 1, 2, 5, 10**5, 10**9, 10**18, 2**63, 10**400, 0.5, 1e-308, 1e5, 1e308]
NUMBERS += [math.nan, math.inf, -math.inf, -0.5]
TEXTS = [
    "",
    "x",
    "\x1b[2J",
    "\ud800",
    "a" * 100_000,
    "NFC",
    "none",
    "os:system",
    "subprocess:Popen",
]
OTHERS = [None, True, False, [], {}, [[]], {"kind": "x"}, ["a"], [1], {"a": [{}]}]


def deep(depth=100_000):
    """Return the text of a list that is nested deeply."""
    return "[" * depth + "]" * depth


def paths(tree, path=()):
    """Yield the path of every value inside a tree."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from paths(value, (*path, key))
    elif isinstance(tree, list):
        # of a long list, its ends and a few in between
        chosen = range(len(tree)) if len(tree) < 12 else [0, 1, 3, 4, 5, len(tree) // 2, -1]
        for index in chosen:
            yield from paths(tree[index], (*path, index))


def value_at(tree, path):
    """Return the value at a path."""
    for key in path:
        tree = tree[key]
    return tree


def replaced(tree, path, value):
    """Return a copy of a tree with the value at a path replaced."""
    if not path:
        return value
    tree = copy.deepcopy(tree)
    value_at(tree, path[:-1])[path[-1]] = value
    return tree


REMOVED = object()
"""Stands for no value at all."""


def changed(tree, path, value):
    """Return a copy of a tree with the value at a path replaced or removed."""
    if value is not REMOVED:
        return replaced(tree, path, value)
    tree = copy.deepcopy(tree)
    del value_at(tree, path[:-1])[path[-1]]
    return tree


def directed_changes(tree):
    """Yield (path, hostile value) for every value of a tree and every replacement."""
    for path in paths(tree):
        value = value_at(tree, path)
        for other in [*NUMBERS, *TEXTS, *OTHERS]:
            if type(other) is not type(value) or other != value:
                yield path, other
        if isinstance(value, list) and value:
            yield path, value * 2
            yield path, value[::-1]
            yield path, [*value, value[0]]
        if path:
            yield path, REMOVED


def random_value(rng, value):
    """Return a hostile value, more often one of the same type."""
    if isinstance(value, bool) or rng.random() < 0.2:
        return rng.choice([*NUMBERS, *TEXTS, *OTHERS])
    if isinstance(value, int | float):
        near = [value + 1, value - 1, value * 2, value // 2, value * 1000, -value]
        return rng.choice([*NUMBERS, *near, rng.randrange(10 ** rng.randrange(1, 19))])
    if isinstance(value, str):
        cut = rng.randrange(len(value) + 1)
        return rng.choice([*TEXTS, value[:cut], value[cut:], value + value, value.upper()])
    if isinstance(value, list):
        parts = [*value]
        rng.shuffle(parts)
        return rng.choice([[], parts, value * 2, value[1:], [value], [*value, *parts[:1]]])
    return rng.choice(OTHERS)
