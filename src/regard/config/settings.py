"""Every setting besides the model's, and all of them together: `[data] [text] [train] [search]`.

What suits a file of pairs is `api`'s part: the defaults here know nothing of the data.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from regard import extensions
from regard.config.checks import above, at_least, at_most, refuse, sound
from regard.config.model import DECODERS, ENCODERS, DecoderConfig, EncoderConfig, ModelConfig
from regard.config.names import ConstraintSetting, TokenizerSetting

Normalization = Literal["NFC", "NFD", "NFKC", "none"]
OptimizerName = Literal["adam", "adamw", "adadelta"]
Part = Literal["embeddings", "encoder", "decoder", "readout"]
ScheduleName = Literal["constant", "inverse_sqrt", "linear", "cosine"]
MetricName = Literal["exact", "cer", "wer", "per", "bleu", "chrf", "ter", "loss"]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which pairs of lines are used, and how they are read."""

    normalization: Normalization = "NFC"
    """Unicode form of every line, in training and in use: NFD takes letters and accents apart, and
    Korean syllables; none leaves lines as they are."""

    max_source_length: int = 512
    """Most symbols of a source that is trained on; of a longer one, these are translated."""

    max_target_length: int = 512
    """Most symbols of a target line that is trained on."""

    dev_share: float = 0.05
    """Share of the sources held out for validation where no dev file is given."""

    max_dev: int = 2000
    """Most sources held out for validation where no dev file is given."""

    def __post_init__(self) -> None:
        refuse("data", self)


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """How lines become symbols."""

    source: TokenizerSetting = "characters"
    """Symbols of a source line: its characters, words, what spaces divide, or learned subwords;
    tagged: characters, and the tags of the last word, which `;` divides, each as one; sounds: what
    spaces divide, and each mark behind it by itself, as aː is a and ː."""

    target: TokenizerSetting = "characters"
    """Symbols of a target line."""

    source_size: Annotated[int, at_least(5)] = 8000
    """Most symbols of the source's vocabulary; rarer ones are unknown."""

    target_size: Annotated[int, at_least(5)] = 8000
    """Most symbols of the target's vocabulary; rarer ones are unknown."""

    min_count: int = 1
    """Symbols that are seen fewer times are unknown, so that the model learns to meet unknown
    ones; for characters, words, symbols, sounds and tags, not for subwords."""

    shared: bool = False
    """One vocabulary for both sides."""

    def __post_init__(self) -> None:
        refuse("text", self)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model learns, when it is checked and saved, and when it stops."""

    seed: Annotated[int, at_least(0)] = 1
    """Where the randomness of training begins: first weights, order of pairs, dropout."""

    batch_tokens: int = 4096
    """Most symbols in a batch, on its longer side, padding included."""

    accumulate: int = 1
    """Batches whose gradients are added up for one update."""

    optimizer: OptimizerName = "adam"
    """What turns gradients into updates."""

    learning_rate: Annotated[float, above(0), at_most(100)] = 0.001
    """Size of an update, at its largest where a schedule changes it."""

    schedule: ScheduleName = "constant"
    """How the learning rate goes on after the warm-up."""

    warmup_steps: Annotated[int, at_least(0)] = 0
    """Updates over which the learning rate rises from nothing, 0 for none."""

    max_steps: int = 10000
    """Updates after which training stops."""

    max_minutes: Annotated[float, at_least(0)] = 0.0
    """Minutes after which training stops, 0 for no limit."""

    clip_norm: Annotated[float, at_least(0)] = 1.0
    """Largest norm of all gradients together; longer ones are shortened to it, 0 for none."""

    label_smoothing: float = 0.1
    """Share of the probability that is asked of all symbols alike, not of the right one."""

    agreement: Annotated[float, at_least(0)] = 0.0
    """How strongly two readings of a line, which dropout makes differ, are drawn together; 0 for
    one reading, which takes half the time."""

    weight_decay: Annotated[float, at_least(0)] = 0.0
    """How strongly weights are drawn to zero, 0 for not at all."""

    validate_every: int = 500
    """Updates between two validations."""

    save_every: int = 500
    """Updates between two checkpoints."""

    report_every: int = 50
    """Updates between two reports of progress."""

    patience: Annotated[int, at_least(0)] = 10
    """Validations without a better score before training stops, 0 for never."""

    average: Annotated[int, at_least(0)] = 0
    """Checkpoints whose weights are averaged at the end, 0 for none; of the best where that scores
    no worse than the best alone."""

    average_of: Literal["last", "best"] = "best"
    """Which checkpoints are averaged."""

    metric: MetricName = "exact"
    """Score of a validation: what early stopping and the best checkpoints go by."""

    freeze: tuple[Part, ...] = ()
    """Parts that do not learn, where a run starts from a model."""

    device: str = "auto"
    """Where to compute, as cpu, cuda or cuda:1; auto takes a GPU where there is one."""

    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    """Numbers of products: on a GPU tf32 is faster, bfloat16 fastest, also on CPUs that have it."""

    def __post_init__(self) -> None:
        refuse("train", self)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """How outputs are searched for; the one declaration of every search setting.

    The engine takes it as it is; the command line, the HTTP interface and the documents are made
    from it.
    """

    beam_size: int = 1
    """Hypotheses kept at each position; 1 is greedy search."""

    nbest: int = 1
    """Outputs returned for each line, best first."""

    length_penalty: Annotated[float, at_least(0)] = 1.0
    """Exponent of the length by which a hypothesis' score is divided; 0 for no division."""

    stop: Literal["full", "likeliest"] = "full"
    """When a beam is done. full: as many hypotheses have ended as the beam holds. likeliest: in
    addition, no open hypothesis is likelier than the nbest that have ended."""

    max_length: int = 256
    """Maximum length of an output in tokens."""

    min_length: Annotated[int, at_least(0)] = 0
    """Minimum length of an output in tokens."""

    same_length: bool = False
    """Give every output as many tokens as its source has."""

    constraint: ConstraintSetting = "none"
    """What outputs must satisfy besides, by a registered name or as module:Class; none: nothing.
    repetition_pattern: repeat a token where the source repeats one, and nowhere else."""

    temperature: Annotated[float, at_least(0)] = 0.0
    """Sample each token, from logits divided by this; 0 for no sampling."""

    top_k: Annotated[int, at_least(0)] = 0
    """Sample among this many likeliest tokens; 0 for all."""

    top_p: Annotated[float, above(0), at_most(1)] = 1.0
    """Sample among the likeliest tokens that together have this probability; 1 for all."""

    seed: Annotated[int, at_least(0)] = 1
    """Random seed of sampling."""

    batch_size: int = 32
    """Lines decoded together; a GPU may take more. No output depends on it."""

    def __post_init__(self) -> None:
        refuse("search", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if sound(self, "nbest", "beam_size") and self.nbest > self.beam_size:
            yield (
                f"nbest = {self.nbest}, but it must be at most beam_size = {self.beam_size}; "
                f"beam_size = {self.nbest} would do"
            )
        if sound(self, "min_length", "max_length") and self.min_length > self.max_length:
            yield (
                f"min_length = {self.min_length}, but it must be at most max_length = "
                f"{self.max_length}; max_length = {self.min_length} would do"
            )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that decides a run, besides the pairs themselves."""

    data: DataConfig = DataConfig()
    """Which pairs of lines are used."""

    text: TextConfig = TextConfig()
    """How lines become symbols."""

    model: ModelConfig
    """Which parts the model has, and how wide they are."""

    train: TrainConfig = TrainConfig()
    """How the model learns."""

    search: SearchConfig = SearchConfig()
    """How an output is found."""

    def __post_init__(self) -> None:
        refuse("settings", self)


# sections of several kinds: what a `kind` in them stands for
KINDS: dict[Any, Mapping[str, type[Any]]] = {
    EncoderConfig: {**ENCODERS},
    # in the order of iteration regard's own come first
    DecoderConfig: ChainMap(extensions.decoder_configs, {**DECODERS}),
}
