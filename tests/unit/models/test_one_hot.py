"""One-hot words: nothing learned of them, and a product that picks a column."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from letters import array, assert_close
from letters import elman as letters_of
from oracle.cells import elman
from regard.config.model import (
    EmbeddingConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.config.settings import Settings
from regard.config.toml import settings_from, to_tree
from regard.errors import ConfigError
from regard.models import build
from regard.nn.cells import ElmanCell
from regard.nn.embedding import Embedding
from regard.saved_model import SavedModel, load_model, save_model
from regard.special_tokens import BOS
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters
from regard.text.vocabulary import Vocabulary

V_X, V_Y, D = 11, 13, 7
CONFIG = ModelConfig(
    source=EmbeddingConfig(size=V_X, one_hot=True),
    target=EmbeddingConfig(size=V_Y, one_hot=True),
    encoder=RecurrentEncoderConfig(cell="elman", hidden_size=D),
    decoder=PlainDecoderConfig(cell="elman", hidden_size=D, initial_state="copy"),
    readout=ReadoutConfig(),
)


def test_a_one_hot_token_is_a_one_at_its_id():
    embedded = Embedding(5, None)(torch.tensor([[4, 0]]))
    assert embedded.tolist() == [[[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]]
    assert embedded.dtype == torch.float32
    assert Embedding(5, None).double()(torch.tensor([[4]])).dtype == torch.float64


def test_an_elman_cell_picks_the_column_of_its_word():
    torch.manual_seed(0)
    cell, embedding = ElmanCell(V_X, D).double(), Embedding(V_X, None).double()
    W, U, b = (letters_of(cell)[letter] for letter in "WUb")
    h = np.random.default_rng(0).standard_normal(D)
    for word in range(V_X):
        x = embedding(torch.tensor([[word]]))[:, 0]
        h_next = cell(x, cell.state_with_output(torch.tensor(h)[None])).h[0]
        assert_close(h_next, np.tanh(W[:, word] + b + U @ h))
        assert_close(h_next, elman(np.eye(V_X)[word], h, W=W, U=U, b=b))


def test_a_line_is_read_column_by_column():
    torch.manual_seed(1)
    model = build(CONFIG, V_X, V_Y).double().eval()
    words = [5, 9, 5, 1]
    source = torch.tensor([words])
    encoded = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    letters, h = letters_of(model.encoder.stack.layers[0]), np.zeros(D)
    for place, word in enumerate(words):
        h = np.tanh(letters["W"][:, word] + letters["b"] + letters["U"] @ h)
        assert_close(encoded.keys[0, place], h)


def test_one_hot_embeddings_have_no_parameters():
    model = build(CONFIG, V_X, V_Y)
    assert not any("embedding" in name for name, _ in model.named_parameters())
    assert not any("embedding" in name for name in model.state_dict())
    cells = D * V_X + D * D + D + D * V_Y + D * D + D
    assert sum(part.numel() for part in model.parameters()) == cells + V_Y * D + V_Y


def test_the_zero_start_and_positions_are_as_with_learned_embeddings():
    start = Embedding(V_X, None, zero_bos=True)(torch.tensor([[BOS, 4]]))
    assert not start[0, 0].any()
    assert start[0, 1, 4] == 1
    config = replace(CONFIG, source=replace(CONFIG.source, positions="learned", max_length=3))
    embedding = build(config, V_X, V_Y).source_embedding.double()
    table = array(embedding.positions.table)
    assert_close(embedding(torch.tensor([[6, 2]]))[0], np.eye(V_X)[[6, 2]] + table[:2])


def test_a_one_hot_model_survives_a_file_round_trip(tmp_path):
    sides = [
        TextProcessor("NFC", Characters(), Vocabulary.build([text]))
        for text in ("abcdefg", "hijklmnop")
    ]
    model = build(CONFIG, V_X, V_Y).eval()
    save_model(tmp_path / "model.regard", SavedModel(model, Settings(model=CONFIG), *sides, {}))
    back = load_model(tmp_path / "model.regard").model
    source, fed = torch.tensor([[5, 9, 1]]), torch.tensor([[BOS, 7]])
    mask = torch.ones_like(source, dtype=torch.bool)
    assert torch.equal(back(source, mask, fed).logits, model(source, mask, fed).logits)


def test_settings_of_earlier_versions_mean_learned_embeddings():
    settings = Settings(model=replace(CONFIG, source=EmbeddingConfig(size=3)))
    tree = to_tree(settings)
    assert tree["model"]["source"].pop("one_hot") is False
    assert settings_from(tree) == settings
    assert settings_from(to_tree(Settings(model=CONFIG))) == Settings(model=CONFIG)


REFUSALS = {
    "source.one_hot is true, which makes vectors as wide as the vocabulary, but source.size is 12 "
    "and the vocabulary has 11 tokens. Set source.size = 11.": {
        "source": replace(CONFIG.source, size=12)
    },
    "target.one_hot is true, which makes vectors as wide as the vocabulary, but target.size is 5 "
    "and the vocabulary has 13 tokens. Set target.size = 13.": {
        "target": replace(CONFIG.target, size=5)
    },
    "tied_embeddings is output, which shares the matrix of the target embedding, but "
    "target.one_hot is true and it has none. Set tied_embeddings = none.": {
        "tied_embeddings": "output",
        "readout": ReadoutConfig(kind="tanh", size=V_Y),
    },
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_settings_that_contradict_one_hot_are_refused(sentence):
    with pytest.raises(ConfigError) as refusal:
        build(replace(CONFIG, **REFUSALS[sentence]), V_X, V_Y)
    assert refusal.value.problems == (sentence,)


def test_no_side_can_be_tied_to_the_other():
    both = {"tied_embeddings": "all", "readout": ReadoutConfig(kind="tanh", size=V_Y)}
    learned = EmbeddingConfig(size=V_Y)
    with pytest.raises(ConfigError) as refusal:
        build(replace(CONFIG, source=replace(CONFIG.target), target=learned, **both), V_Y, V_Y)
    assert refusal.value.problems == (
        "tied_embeddings is all, which shares the matrix of the source embedding, but "
        "source.one_hot is true and it has none. Set tied_embeddings = none.",
    )
    build(replace(CONFIG, target=learned, **{**both, "tied_embeddings": "output"}), V_X, V_Y)
