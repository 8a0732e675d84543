"""A module's parameters under the papers' letters, as the oracles take them."""

import numpy as np


def array(tensor):
    return tensor.detach().double().numpy()


def close(actual, expected, bound=1e-10):
    """Assert max|a − b| ≤ bound · max(1, max|b|), shapes and all."""
    actual = array(actual) if hasattr(actual, "detach") else np.asarray(actual)
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= bound * max(1.0, np.abs(expected).max())


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
