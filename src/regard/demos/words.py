"""Six word pairs for an encoder–decoder without attention, and one unseen word.

It holds data and settings; `regard.cli.demo` trains and prints.
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
    "Padded with P, every word takes five steps: mansP differs from manPP in one token, and its "
    "final state is close to that of man. "
    "Without padding, man ends after three steps and mans after four; the extra step moves the "
    "state away from man and from every other trained word. "
    "The model has learned six final states, not how words are built."
)


def source_text(word: str, *, padded: bool = True) -> str:
    """Return a word as source text: padded to five tokens, or unchanged."""
    return word.ljust(LENGTH, PADDING) if padded else word


def pairs(*, padded: bool = True) -> list[tuple[str, str]]:
    """Return the training pairs; `mans` is not in them."""
    return [(source_text(source, padded=padded), target) for source, target in PAIRS]


def examples(*, padded: bool = True) -> list[tuple[str, str]]:
    """Return the examples with their correct outputs; without padding, `mans` fails."""
    return [(source_text(source, padded=padded), target) for source, target in EXAMPLES]


def settings(seed: int = 1, *, padded: bool = True) -> Settings:
    """Return an Elman encoder–decoder of 128 units over one-hot tokens.

    With one layer there is no dropout between layers; it is before the output projection instead.
    The only validation is at the end, so the last weights are saved.
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
    """Return the size of a vocabulary: every character and the four special tokens."""
    return EOS + 1 + len(set("".join(lines)))
