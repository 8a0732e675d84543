"""One sentence pair for Luong attention: the model learns the words, but no alignment.

It holds data and settings; `regard.cli.demo` trains and prints.
"""

from regard.config.model import (
    AttentionConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig

PAIR = ("ich mochte ein bier", "i want a beer")

WHY = (
    "One pair cannot teach an alignment: the next word is the same wherever the decoder looks, so "
    "nothing says which German word it translates, and another seed looks elsewhere. "
    "`regard demo apples` learns one, since each of its words is in many sentences."
)


def pairs() -> list[tuple[str, str]]:
    """Return the only training pair."""
    return [PAIR]


def settings(seed: int = 1) -> Settings:
    """Return an Elman encoder–decoder whose new state is the query of a bilinear score.

    α_t = softmax_j(h_tᵀ W h̄_j)   c_t = Σ_j α_tj h̄_j   logits = G [h_t; c_t] + b

    Luong's decoder without its tanh layer and without input feeding.
    """
    max_steps = 100
    return Settings(
        data=DataConfig(dev_fraction=0.0),
        text=TextConfig(source="words", target="words"),
        model=ModelConfig(
            source=EmbeddingConfig(size=16),
            target=EmbeddingConfig(size=16),
            encoder=RecurrentEncoderConfig(cell="elman", hidden_size=64),
            decoder=LuongDecoderConfig(
                cell="elman",
                hidden_size=64,
                initial_state="copy",
                attention=AttentionConfig(score="bilinear"),
                attentional=False,
                input_feeding=False,
            ),
            readout=ReadoutConfig(inputs=("new_state", "context")),
        ),
        train=TrainConfig(
            seed=seed,
            learning_rate=0.002,
            label_smoothing=0.0,
            max_steps=max_steps,
            validate_every=max_steps,
            save_every=max_steps,
            patience=0,
        ),
        search=SearchConfig(max_length=8),
    )
