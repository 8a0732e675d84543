"""The settings `[data] [text] [train] [search]`, and all settings together.

The defaults here do not depend on the data; automatic settings do.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from regard import extensions
from regard.choices import Normalization, SourceCase, TagPosition, TaskName, are_tag_separators
from regard.config import messages
from regard.config.checks import above, are_valid, at_least, at_most, ceiling, refuse
from regard.config.files import ANY_FILE, FileConfig
from regard.config.model import DECODERS, ENCODERS, DecoderConfig, EncoderConfig, ModelConfig
from regard.config.names import ConstraintSetting, TokenizerSetting

OptimizerName = Literal["adam", "adamw", "adadelta"]
Part = Literal["embeddings", "encoder", "decoder", "readout"]
ScheduleName = Literal["constant", "inverse_sqrt", "linear", "cosine"]
MetricName = Literal[
    "accuracy", "exact", "cer", "wer", "per", "levenshtein", "bleu", "chrf", "ter", "loss"
]
SplitRule = Literal["source", "lemma", "near_duplicates", "group"]
MIN_TEMPERATURE = 0.001
"""Smallest temperature except 0: logits divided by less can overflow."""
MAX_BEAM_LENGTH = 500_000
"""Maximum product of beam_size and max_length: the work for one line."""
MAX_BEAM_LINES = 100_000
"""Maximum product of beam_size and batch_size: the memory for one batch."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which pairs are used, and how their lines are normalized."""

    normalization: Normalization = "NFC"
    """Unicode normalization form of every line, in training and translation. NFD splits letters
    from their accents and Korean syllables into letters; none leaves lines unchanged."""

    source_case: SourceCase = "keep"
    """Case of the sources, in training and translation. lower and upper make the model read any
    case alike; keep leaves it unchanged. Targets are never changed."""

    max_source_length: int = 512
    """Maximum source length in tokens. Longer training pairs are dropped; longer inputs are
    truncated."""

    max_target_length: int = 512
    """Maximum target length in tokens. Longer training pairs are dropped."""

    dev_fraction: float = 0.05
    """Fraction of the sources held out for validation if no dev file is given."""

    max_dev_sources: int = 2000
    """Maximum number of sources held out for validation if no dev file is given."""

    max_examples: Annotated[int, at_least(0)] = 5
    """Maximum number of validation pairs stored in the model file, as examples for the page of
    `regard serve`. 0 stores none."""

    split_by: SplitRule = "source"
    """What is held out together if no dev file is given, with all of its pairs: a source; the lemma
    of a tagged source; near_duplicates, sources that differ only in case, punctuation, digits or
    spaces; or a group, named in a column of the file."""

    task: TaskName = "auto"
    """Task, which names the metrics: g2p (WER, PER), inflection (accuracy, Levenshtein distance),
    transliteration (accuracy, CER), normalization and transcription (CER, WER), translation (BLEU,
    chrF2, TER), other (accuracy, CER). auto infers it from the pairs."""

    trim: bool = False
    """Remove white space, no-break spaces included, at both ends of a line or cell, in training
    and translation. regard train sets it; older models do without."""

    file: FileConfig = ANY_FILE
    """How files are laid out."""

    def __post_init__(self) -> None:
        refuse("data", self)


@dataclass(frozen=True, kw_only=True)
class TextConfig:
    """How lines are split into tokens."""

    source: TokenizerSetting = "characters"
    """Tokenizer of the source: characters; words; whitespace (split at spaces); tagged
    (characters, and each tag of the last or first word); phonemes (split at spaces, then
    each mark behind a letter separately: aː is a and ː); unigram or bpe (subwords learned by
    sentencepiece)."""

    target: TokenizerSetting = "characters"
    """Tokenizer of the target."""

    tag_position: TagPosition = "last"
    """Where the tags of a tagged line stand: in its last or in its first word."""

    tag_separators: str = ";"
    """Signs at which tags are split, such as `;(,)` for N;ACC(PL;PSS(1,SG))."""

    source_vocabulary_size: Annotated[int, at_least(5)] = 8000
    """Maximum size of the source vocabulary. Less frequent tokens are unknown."""

    target_vocabulary_size: Annotated[int, at_least(5)] = 8000
    """Maximum size of the target vocabulary. Less frequent tokens are unknown."""

    min_count: int = 1
    """Minimum count of a token in the training pairs. Rarer tokens are unknown, so the
    model learns to handle unknown tokens. Subwords are exempt."""

    shared_vocabulary: bool = False
    """Use one vocabulary for source and target."""

    def __post_init__(self) -> None:
        refuse("text", self, self._problems())

    def _problems(self) -> Iterator[str]:
        valid = are_valid(self, "tag_separators")
        if valid and not are_tag_separators(self.tag_separators):
            yield messages.wrong_tag_separators(self.tag_separators)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Optimization, validation, checkpoints, and when training stops."""

    seed: Annotated[int, at_least(0)] = 1
    """Random seed: initial weights, order of the pairs, dropout."""

    batch_tokens: int = 4096
    """Maximum number of tokens in a batch, padding included, counted on the longer side."""

    gradient_accumulation_steps: int = 1
    """Number of batches whose gradients are summed for one update."""

    optimizer: OptimizerName = "adam"
    """Optimizer."""

    learning_rate: Annotated[float, above(0), at_most(100)] = 0.001
    """Peak learning rate."""

    schedule: ScheduleName = "constant"
    """Learning rate schedule after the warm-up."""

    warmup_steps: Annotated[int, at_least(0)] = 0
    """Number of updates of linear warm-up. 0 disables it."""

    max_steps: int = 10000
    """Maximum number of updates."""

    max_minutes: Annotated[float, at_least(0)] = 0.0
    """Time for the whole run in minutes: updates, learning rate and validations are planned to fit.
    0 means no limit."""

    max_grad_norm: Annotated[float, at_least(0)] = 1.0
    """Gradient clipping: maximum norm of all gradients together. 0 disables it."""

    label_smoothing: float = 0.1
    """Label smoothing ε: the fraction of probability spread evenly over the vocabulary."""

    rdrop_alpha: Annotated[float, at_least(0)] = 0.0
    """R-Drop weight α (Liang et al. 2021). 0 disables it; otherwise an update takes about twice
    as long."""

    weight_decay: Annotated[float, at_least(0)] = 0.0
    """Weight decay. 0 disables it."""

    validate_every: int = 500
    """Number of updates between validations."""

    save_every: int = 500
    """Number of updates between saves of the training state."""

    report_every: int = 50
    """Number of updates between progress reports."""

    patience: Annotated[int, at_least(0)] = 10
    """Early stopping: number of validations without a better score before training stops. 0
    disables it."""

    average_checkpoints: Annotated[int, at_least(0)] = 0
    """Checkpoint averaging: number of checkpoints to average at the end. 0 disables it. An
    average of the best checkpoints is used only if it scores no worse than the best one."""

    average_checkpoints_from: Literal["last", "best"] = "best"
    """Which checkpoints to average: the last ones, or those with the best scores."""

    metric: MetricName = "exact"
    """Validation metric for early stopping and for the choice of the best checkpoints. wer counts
    wrong words with the task g2p, and edits of words otherwise; exact is an older name of
    accuracy."""

    freeze: tuple[Part, ...] = ()
    """Parts of the model whose weights stay fixed. Needs a model to start from."""

    device: str = "auto"
    """Device, such as cpu, cuda or cuda:1. auto uses a GPU if there is one."""

    precision: Literal["float32", "tf32", "bfloat16"] = "float32"
    """Precision of matrix products. On a GPU, tf32 is faster than float32, and bfloat16 (mixed
    precision) is fastest. CPUs need native bfloat16 instructions for it."""

    def __post_init__(self) -> None:
        refuse("train", self)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Greedy search, beam search and sampling.

    This is the only declaration of the search settings: the command line, the HTTP interface and
    the documents are generated from it.
    """

    beam_size: Annotated[int, at_least(1), ceiling(1000)] = 1
    """Beam size: hypotheses kept at each step. 1 is greedy search."""

    nbest: Annotated[int, at_least(1), ceiling(1000)] = 1
    """Number of outputs for each line, best first."""

    length_penalty: Annotated[float, at_least(0), ceiling(10)] = 1.0
    """Length penalty: scores are divided by length ^ length_penalty. 0 disables it."""

    stop: Literal["full", "likeliest"] = "full"
    """When beam search stops. full: once beam_size hypotheses have ended. likeliest: in addition,
    no open hypothesis is likelier than the nbest that have ended."""

    max_length: Annotated[int, at_least(1), ceiling(5000)] = 256
    """Maximum length of an output in tokens."""

    min_length: Annotated[int, at_least(0), ceiling(5000)] = 0
    """Minimum length of an output in tokens."""

    same_length: bool = False
    """Make each output exactly as long as its source, in tokens."""

    constraint: ConstraintSetting = "none"
    """Constraint on outputs: a registered name, module:Class or none. repetition_pattern: an
    output repeats a token exactly where its source does."""

    temperature: Annotated[float, at_least(0), ceiling(100)] = 0.0
    """Sampling temperature. 0 disables sampling."""

    top_k: Annotated[int, at_least(0), ceiling(1_000_000)] = 0
    """Sample from this many likeliest tokens. 0 means all."""

    top_p: Annotated[float, above(0), at_most(1)] = 1.0
    """Sample from the fewest likeliest tokens with this total probability. 1 means all."""

    seed: Annotated[int, at_least(0)] = 1
    """Random seed of sampling."""

    batch_size: Annotated[int, at_least(1), ceiling(10_000)] = 32
    """Number of lines decoded together. It affects the speed, not the outputs."""

    def __post_init__(self) -> None:
        refuse("search", self, self._problems())

    def _problems(self) -> Iterator[str]:
        if are_valid(self, "nbest", "beam_size") and self.nbest > self.beam_size:
            yield messages.above_limit("nbest", self.nbest, "beam_size", self.beam_size)
        if are_valid(self, "min_length", "max_length") and self.min_length > self.max_length:
            yield messages.above_limit("min_length", self.min_length, "max_length", self.max_length)
        if are_valid(self, "temperature") and 0 < self.temperature < MIN_TEMPERATURE:
            yield messages.temperature_too_low(self.temperature, MIN_TEMPERATURE)
        # what one line, and one batch, may cost
        for name, limit in (("max_length", MAX_BEAM_LENGTH), ("batch_size", MAX_BEAM_LINES)):
            if not are_valid(self, "beam_size", name):
                continue
            number, largest = getattr(self, name), limit // self.beam_size
            if number > largest:
                yield messages.too_large_with_beam(name, number, largest, self.beam_size)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings of a run; with the pairs, they determine its outcome."""

    data: DataConfig = DataConfig()
    """Which pairs are used."""

    text: TextConfig = TextConfig()
    """How lines are split into tokens."""

    model: ModelConfig
    """Architecture and sizes."""

    train: TrainConfig = TrainConfig()
    """How the model is trained."""

    search: SearchConfig = SearchConfig()
    """How outputs are searched for."""

    def __post_init__(self) -> None:
        refuse("settings", self)


# sections with several kinds: the class of each `kind`
KINDS: dict[Any, Mapping[str, type[Any]]] = {
    EncoderConfig: {**ENCODERS},
    # a ChainMap iterates over the last map first: regard's own
    DecoderConfig: ChainMap(extensions.decoder_configs, {**DECODERS}),
}
