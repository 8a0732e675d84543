"""One sentence pair for a decoder whose new state asks: it learns the words, and no alignment.

Data and settings alone: training is `api`'s part, printing the command line's.
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
    "One pair cannot teach an alignment: wherever the decoder looks, the next word is the same, so "
    "nothing tells it which German word is whose, and with another seed it looks elsewhere. "
    "`regard demo apples` can, since there each word comes in many sentences."
)


def pairs() -> list[tuple[str, str]]:
    """Return all that is learned: one pair."""
    return [PAIR]


def settings(seed: int = 1) -> Settings:
    """Return an Elman encoder–decoder whose new state asks by a bilinear score.

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
