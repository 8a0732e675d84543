"""Six pairs of words for an encoder–decoder without attention, and one word that it never saw.

Data and settings alone: training is `api`'s part, printing the command line's.
"""

from regard.config.model import (
    EmbeddingConfig,
    ModelConfig,
    PlainDecoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.config.settings import DataConfig, SearchConfig, Settings, TrainConfig
from regard.special_tokens import EOS

PAIRS = (
    ("man", "women"),
    ("black", "white"),
    ("king", "queen"),
    ("girl", "boy"),
    ("up", "down"),
    ("high", "low"),
)
EXAMPLES = (
    ("man", "women"),
    ("mans", "women"),
    ("king", "queen"),
    ("black", "white"),
    ("up", "down"),
)
PADDING = "P"
LENGTH = 5

WHY = (
    "Filled with P, every word is read in five steps: mansP differs from manPP in one symbol, and "
    "the state it ends in lies near that of man. "
    "Without P, man ends after three steps and mans after four, and that one step more turns the "
    "state to where no learned word ends, far from man. "
    "What the model has learned is where six readings end, not how words are built."
)


def source_text(word: str, *, padded: bool = True) -> str:
    """Return a word as the model reads it: padded to five tokens, or unchanged."""
    return word.ljust(LENGTH, PADDING) if padded else word


def pairs(*, padded: bool = True) -> list[tuple[str, str]]:
    """Return all that is learned; `mans` is not in it."""
    return [(source_text(source, padded=padded), target) for source, target in PAIRS]


def examples(*, padded: bool = True) -> list[tuple[str, str]]:
    """Return what is asked afterwards, with what should come out; without P, `mans` misses it."""
    return [(source_text(source, padded=padded), target) for source, target in EXAMPLES]


def settings(seed: int = 1, *, padded: bool = True) -> Settings:
    """Return an Elman encoder–decoder of 128 units over one-hot symbols.

    A network of one layer has no layers to drop between, so its dropout stands before the
    vocabulary's matrix. There is one validation, at the end: the last weights are the ones kept.
    """
    sources, targets = zip(*pairs(padded=padded), strict=True)
    max_steps = 300
    return Settings(
        data=DataConfig(dev_fraction=0.0),
        model=ModelConfig(
            source=EmbeddingConfig(size=_vocabulary_size(sources), one_hot=True),
            target=EmbeddingConfig(size=_vocabulary_size(targets), one_hot=True),
            encoder=RecurrentEncoderConfig(cell="elman", hidden_size=128),
            decoder=PlainDecoderConfig(cell="elman", hidden_size=128, initial_state="copy"),
            readout=ReadoutConfig(dropout=0.5),
        ),
        train=TrainConfig(
            seed=seed,
            learning_rate=0.001,
            label_smoothing=0.0,
            max_steps=max_steps,
            validate_every=max_steps,
            save_every=max_steps,
            patience=0,
        ),
        search=SearchConfig(max_length=2 * LENGTH),
    )


def _vocabulary_size(lines: tuple[str, ...]) -> int:
    """Count the symbols of a vocabulary: every character, and the four that begin each one."""
    return EOS + 1 + len(set("".join(lines)))
