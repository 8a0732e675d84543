"""A module's parameters under the papers' letters, as the oracles take them."""

import numpy as np


def array(tensor):
    return tensor.detach().double().numpy()


def assert_close(actual, expected):
    """Assert max|a − b| ≤ 1e-10 · max(1, max|b|), shapes and all."""
    assert_within(actual, expected, 1e-10 * max(1.0, np.abs(np.asarray(expected)).max()))


def assert_within(actual, expected, bound):
    """Assert max|a − b| ≤ bound, shapes and all."""
    actual = array(actual) if hasattr(actual, "detach") else np.asarray(actual)
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= bound


def split(matrix, names, prefix):
    return {
        f"{prefix}_{name}": part
        for name, part in zip(names, np.split(array(matrix), len(names)), strict=True)
    }


def elman(cell):
    letters = {"W": array(cell.W.weight), "U": array(cell.U.weight)}
    return letters if cell.W.bias is None else {**letters, "b": array(cell.W.bias)}


def gates(cell, names):
    letters = {**split(cell.W.weight, names, "W"), **split(cell.U.weight, names, "U")}
    return letters if cell.W.bias is None else {**letters, **split(cell.W.bias, names, "b")}


def gru(cell):
    return gates(cell, "rzn")


def cho_gru(cell):
    """Cho keeps with z where our cell renews: everything inside z changes its sign."""
    letters = gru(cell)
    return {name: -part if name.endswith("_z") else part for name, part in letters.items()}


def lstm(cell):
    return gates(cell, "ifgo")


def heads(attention):
    """The matrices of each head, which lie under each other in ours."""
    matrices = {
        name: np.split(array(getattr(attention, name).weight), attention.num_heads)
        for name in ("W_q", "W_k", "W_v")
    }
    return {**matrices, "W_o": array(attention.W_o.weight)}
