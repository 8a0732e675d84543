"""A line as a model sees it, for demonstration: one-hot rows, and rows of an embedding."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import InputError
from regard.text import messages
from regard.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def one_hot(tokens: Sequence[str], vocabulary: Vocabulary) -> "NDArray[np.float32]":
    """Return [len,V]: in each row a one at the token's id, zeros elsewhere."""
    import numpy as np

    rows = np.zeros((len(tokens), len(vocabulary)), dtype=np.float32)
    rows[np.arange(len(tokens)), vocabulary.encode(tokens)] = 1
    return rows


def embed(
    tokens: Sequence[str], vocabulary: Vocabulary, matrix: "ArrayLike"
) -> "NDArray[np.floating]":
    """Return [len,E]: for each token its row of the matrix [V,E].

    It equals `one_hot(tokens, vocabulary) @ matrix`, without the product.
    """
    import numpy as np

    rows = np.asarray(matrix)
    if rows.ndim != 2 or len(rows) != len(vocabulary):
        raise InputError(messages.wrong_matrix_shape(list(rows.shape), len(vocabulary)))
    return rows[np.array(vocabulary.encode(tokens), dtype=np.intp)]
