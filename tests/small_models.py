"""Whole small models of each preset, of random weights, as a file would hold them."""

import torch

from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig
from regard.models import build, preset
from regard.saved_model import SavedModel
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters
from regard.text.vocabulary import Vocabulary

SOURCE, TARGET = "abcdefghij", "klmnopqrstu"

SIZES = {
    "cho2014": {"embedding_size": 5, "hidden_size": 7, "readout_size": 3},
    "sutskever2014": {"embedding_size": 5, "hidden_size": 7, "num_layers": 2},
    "bahdanau2015": {"embedding_size": 5, "hidden_size": 7, "align_size": 11, "readout_size": 3},
    "luong2015": {"embedding_size": 5, "hidden_size": 7, "num_layers": 2},
    "gehring2017": {"embedding_size": 7, "hidden_size": 7, "num_layers": 3, "max_length": 40},
    "vaswani2017": {
        "model_size": 14,
        "feed_forward_size": 11,
        "num_heads": 2,
        "num_layers": 3,
        "max_length": 40,
        "tied_embeddings": "none",
    },
}
LOOKS = {"bahdanau2015": (1, 1), "luong2015": (1, 1), "gehring2017": (3, 1), "vaswani2017": (3, 2)}
"""Layers and heads of the presets with attention."""


def side(alphabet, tokenizer=None):
    return TextProcessor("NFC", tokenizer or Characters(), Vocabulary.build([alphabet]))


def saved(name="bahdanau2015", seed=1, sides=None, **search):
    """Return a model with large random weights: its outputs depend on the source."""
    source, target = sides or (side(SOURCE), side(TARGET))
    settings = Settings(
        data=DataConfig(max_source_length=20, max_target_length=20),
        text=TextConfig(),
        model=preset(name)(**SIZES[name]),
        search=SearchConfig(**{"max_length": 9, **search}),
    )
    torch.manual_seed(seed)
    model = build(settings.model, len(source.vocabulary), len(target.vocabulary)).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            # convolutions multiply what they are given
            torch.nn.init.normal_(parameter, std=0.4 if name == "gehring2017" else 0.7)
    return SavedModel(model, settings, source, target, {"seed": seed})
