"""Settings that name a part: regard's own parts, and those that `regard.extensions` registers."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from regard.choices import TokenizerName
from regard.config.checks import Names, refuse

ScoreName = Literal[
    "additive",
    "concat",
    "dot",
    "scaled_dot",
    "bilinear",
    "gaussian",
    "gaussian_learned",
    "location",
]

ScoreSetting = Annotated[str, Names(get_args(ScoreName), "score")]
TokenizerSetting = Annotated[str, Names(get_args(TokenizerName), "tokenizer")]
ConstraintSetting = Annotated[str, Names(("none",), "constraint")]


@dataclass(frozen=True, kw_only=True)
class CustomDecoderConfig:
    """The base class for the config of a custom decoder; its fields become settings."""

    def __post_init__(self) -> None:
        refuse("model.decoder", self)
