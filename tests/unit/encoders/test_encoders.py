"""What encoders show, and what is left of a source in one vector."""

import numpy as np
import pytest
import torch

import letters
from letters import assert_close
from oracle import cells as oracle
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.encoders.recurrent import RecurrentEncoder
from regard.encoders.summary import SUMMARIES
from regard.encoders.transformer import TransformerEncoder
from regard.nn.cells import GRUCell, LSTMCell
from regard.nn.encoder_output import EncoderOutput
from regard.nn.recurrent_stack import RecurrentStack

B, S, E, D = 3, 5, 7, 11
LENGTHS = (5, 2, 4)
MASK = torch.arange(S) < torch.tensor(LENGTHS)[:, None]


def words():
    return torch.randn(B, S, E, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def recurrent(**options):
    torch.manual_seed(0)
    reversed_source = options.pop("reversed_source", False)
    stack = RecurrentStack(
        lambda size: GRUCell(size, D), E, options.pop("num_layers", 1), **options
    )
    return RecurrentEncoder(stack, reversed_source=reversed_source).double()


def test_a_reversed_source_is_encoded_backwards_and_returned_in_reading_order():
    encoder = recurrent(reversed_source=True)
    x = words()
    encoded = encoder(x, MASK)
    cell = letters.gru(encoder.stack.layers[0])
    for b, n in enumerate(LENGTHS):
        states = oracle.run(oracle.gru_before, x[b, :n].numpy()[::-1], np.zeros(D), **cell)
        assert_close(encoded.keys[b, :n], np.array(states[::-1]))
        assert_close(encoded.last[b], states[-1])
        assert not encoded.keys[b, n:].any()


def test_a_recurrent_encoder_returns_its_final_states():
    encoder = recurrent(bidirectional=True, num_layers=2)
    encoded = encoder(words(), MASK)
    for b, n in enumerate(LENGTHS):
        assert torch.equal(encoded.last[b, :D], encoded.keys[b, n - 1, :D])
        assert torch.equal(encoded.last[b, D:], encoded.keys[b, 0, D:])
    assert len(encoded.states) == 2
    assert encoded.values is encoded.keys


def test_an_lstm_encoder_returns_its_cell_states():
    stack = RecurrentStack(lambda size: LSTMCell(size, D), E, 2)
    encoded = RecurrentEncoder(stack).double()(words(), MASK)
    assert [state.c.shape for state in encoded.states] == [(B, D), (B, D)]


@pytest.mark.parametrize("hidden_size", [E, D])
def test_convolutional_values_are_keys_plus_words(hidden_size):
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(E, hidden_size, 2, 3).double()
    x = words()
    encoded = encoder(x, MASK)
    assert encoded.keys.shape == (B, S, E)
    visible = MASK[..., None]
    assert_close(encoded.values, letters.array((encoded.keys + x) * visible))
    assert_close(encoded.last[1], letters.array(encoded.keys[1, 1]))


def test_a_pre_norm_encoder_ends_in_a_norm_and_a_post_norm_one_does_not():
    for pre_norm in (False, True):
        encoder = TransformerEncoder(E, 0, lambda: None, pre_norm=pre_norm).double()
        x = words()
        shown = encoder(x, MASK).keys
        expected = torch.nn.functional.layer_norm(x, (E,)) if pre_norm else x
        assert_close(shown, letters.array(expected * MASK[..., None]))


def encoded():
    keys = torch.randn(B, S, 2 * D, dtype=torch.float64)
    last = torch.randn(B, 2 * D, dtype=torch.float64)
    return EncoderOutput(keys, keys, MASK, last)


def test_summaries_agree_with_their_equations():
    given = encoded()
    made = {name: make(2 * D).double() for name, make in SUMMARIES.items()}
    c = {name: summary(given) for name, summary in made.items()}
    for name, summary in made.items():
        assert c[name].shape == (B, summary.output_size)
    V = letters.array(made["tanh"].V.weight)
    for b, n in enumerate(LENGTHS):
        h = given.keys[b, :n].numpy()
        assert_close(c["mean"][b], h.mean(axis=0))
        assert_close(c["max"][b], h.max(axis=0))
        assert_close(c["last"][b], given.last[b].numpy())
        assert_close(c["backward"][b], given.last[b, D:].numpy())
        assert_close(c["tanh"][b], np.tanh(V @ given.last[b].numpy()))


@pytest.mark.parametrize("name", ["mean", "max"])
def test_a_source_with_nothing_visible_has_a_zero_summary(name):
    given = encoded()
    nothing = torch.zeros(B, S, dtype=torch.bool)
    hidden = EncoderOutput(given.keys, given.values, nothing, given.last)
    assert not SUMMARIES[name](2 * D)(hidden).any()
