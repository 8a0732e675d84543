"""Readouts and embeddings against hand-written products."""

import numpy as np
import torch

from letters import array, assert_close
from oracle.readouts import maxout
from regard.nn.embedding import Embedding
from regard.nn.positions import SinusoidalPositions
from regard.nn.readouts import LinearLayer, MaxoutLayer, Readout, TanhLayer
from regard.special_tokens import BOS

B, T, X, R, V, E = 2, 3, 5, 7, 11, 13


def given():
    return torch.randn(B, T, X, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def readout(layer, **options):
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.randn(V, layer.output_size))
    made = Readout(layer, weight, **options).double().eval()
    if made.bias is not None:
        torch.nn.init.normal_(made.bias)
    return made


def test_a_linear_readout_is_one_product_and_one_bias():
    made, x = readout(LinearLayer(X), bias=True), given()
    G, b = array(made.weight), array(made.bias)
    for i in np.ndindex(B, T):
        assert_close(made(x)[i], G @ x[i].numpy() + b)


def test_a_tanh_readout_bends_before_the_vocabulary():
    made, x = readout(TanhLayer(X, R)), given()
    W, b, G = array(made.layer.W.weight), array(made.layer.W.bias), array(made.weight)
    assert made.bias is None
    for i in np.ndindex(B, T):
        assert_close(made(x)[i], G @ np.tanh(W @ x[i].numpy() + b))


def test_a_maxout_readout_takes_the_larger_of_each_neighbouring_pair():
    made, x = readout(MaxoutLayer(X, R)), given()
    W, b, G = array(made.layer.W.weight), array(made.layer.W.bias), array(made.weight)
    assert W.shape == (2 * R, X)
    for i in np.ndindex(B, T):
        assert_close(made(x)[i], G @ maxout(W @ x[i].numpy() + b))


def test_maxout_agrees_with_hand_computed_numbers():
    layer = MaxoutLayer(4, 2, bias=False)
    layer.W.weight.data = torch.eye(4)
    assert layer(torch.tensor([3.0, 1.0, -2.0, -1.0])).tolist() == [3.0, -1.0]


def test_an_embedding_is_a_row_scaled_with_its_position_added():
    torch.manual_seed(0)
    embedding = Embedding(V, E, scale=E**0.5, positions=SinusoidalPositions(E, 31)).double()
    words, position = torch.tensor([[4, 5, 4], [7, 2, 9]]), torch.tensor([0, 6])
    embedded = embedding(words, position)
    rows, P = array(embedding.weight), array(embedding.positions.table)
    for b, t in np.ndindex(2, 3):
        place = int(position[b]) + t
        assert_close(embedded[b, t], rows[words[b, t]] * np.sqrt(E) + P[place])
    assert torch.equal(embedding(words), embedding(words, torch.zeros(2, dtype=torch.long)))


def test_embeddings_without_a_size_are_one_hot():
    words = torch.tensor([[2, 0, 4]])
    expected = torch.eye(5)[words]
    assert torch.equal(Embedding(5, None).eval()(words), expected)


def test_dropout_of_the_loss_is_that_of_the_logits():
    made, x = readout(TanhLayer(X, R), dropout=0.5).train(), given()
    target, visible = torch.ones(B, T, dtype=torch.int64), torch.ones(B, T, dtype=torch.bool)
    torch.manual_seed(5)
    losses = {made.loss(x, target, visible).item() for _ in range(3)}
    assert len(losses) == 3
    made.eval()
    logp = made(x).log_softmax(dim=-1)
    assert_close(made.loss(x, target, visible), -logp[..., 1].sum().detach())


def test_a_zero_start_is_zero_whatever_its_row_holds():
    embedding = Embedding(V, E, zero_bos=True)
    embedded = embedding(torch.tensor([[BOS, 4]]))
    assert not embedded[0, 0].any()
    assert torch.equal(embedded[0, 1], embedding.weight[4])
    embedded.sum().backward()
    assert not embedding.weight.grad[BOS].any()
