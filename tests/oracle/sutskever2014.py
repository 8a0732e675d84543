"""The deep LSTM encoder-decoder of Sutskever et al. 2014: NumPy, float64, one sentence at a time.

Imports neither torch nor regard.
"""

import numpy as np

from oracle.cells import lstm_stack, lstm_start
from oracle.readouts import log_softmax


def forward(source, target, p, *, bos):
    """log p(y_t | y_<t, x) for every word, and no weights  (Sutskever et al. 2014, 2).

    The source is read from its last word to its first; the decoder starts from the encoder's
    final (h, c), layer by layer; logits = W_o h_t, h_t the top layer's.
    """
    states = lstm_start(p["encoder"])
    for x in reversed(source):
        states = lstm_stack(p["E_x"][x], states, p["encoder"])

    log_probs = []
    for y in [bos, *target[:-1]]:
        states = lstm_stack(p["E_y"][y], states, p["decoder"])
        h, _ = states[-1]
        log_probs.append(log_softmax(p["W_o"] @ h))
    return np.array(log_probs), None
