"""Automatic settings: from the profile of the pairs to every setting, with a reason for each.

Explicit settings stay as they are. `dev/LOG.md` describes the experiments behind the numbers.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, final, get_type_hints

import torch

from regard.choices import printable, unknown_choice, wrong_value
from regard.config.checks import choices, must_be, types_of
from regard.config.messages import unknown_setting
from regard.config.model import ModelConfig
from regard.config.settings import Settings
from regard.config.toml import Tree, merge_trees, settings_from, to_tree
from regard.errors import ConfigError
from regard.kernels import has_bfloat16
from regard.models import paper_sizes, preset
from regard.pipeline import messages
from regard.pipeline.auto_tokenizers import SUBWORDS, Rules, by_num_pairs, section_of, text_rules
from regard.pipeline.corpus_profile import CorpusProfile, SideProfile
from regard.pipeline.task_inference import (
    infer_task,
    metric_rule,
    same_length_rule,
    split_rules,
)

LAYERS = {"sutskever2014": 2, "gehring2017": 4, "vaswani2017": 3}
RECURRENT = ("cho2014", "sutskever2014", "bahdanau2015", "luong2015")
SECTIONS = ("data", "text", "train", "search")
MIN_BFLOAT16_WIDTH = 256
"""From this width on, matrix products dominate an update, and bfloat16 on a CPU saves time."""


class AutoSetting(NamedTuple):
    """A setting that the user left out, and the reason for its value."""

    name: str
    value: Any
    reason: str

    def __str__(self) -> str:
        value = str(self.value).lower() if isinstance(self.value, bool) else self.value
        return f"{self.name} = {value}: {self.reason}"


@final
@dataclass(frozen=True)
class AutoConfiguration:
    """Complete settings, and the reasons for the automatic ones."""

    settings: Settings
    preset: str | None
    reasons: tuple[AutoSetting, ...]


def auto_configure(
    profile: CorpusProfile,
    explicit_settings: Tree,
    name: str | None = None,
    *,
    paper: bool = False,
    on_gpu: bool = False,
) -> AutoConfiguration:
    """Complete explicit settings to suit the pairs; a complete [model] stays as it is.

    On a GPU, models are wider and train for longer in the same time.
    """
    if non_sections := [
        section for section in explicit_settings if not isinstance(explicit_settings[section], dict)
    ]:
        section_problems = [messages.not_a_section(x, explicit_settings[x]) for x in non_sections]
        raise ConfigError("settings", section_problems)
    tree = {
        section: dict(explicit_settings.get(section, {}))
        for section in (*SECTIONS, *explicit_settings)
    }
    reasons = [
        setting
        for section, rules in (("text", text_rules), ("data", _data_rules))
        for setting in _fill(tree, section, rules(profile, tree))
    ]
    model = tree.setdefault("model", {})
    preset_name = model.pop("preset", None)
    name = name or (None if preset_name is None else str(preset_name))
    has_whole_model = all("kind" in section_of(model, part) for part in ("encoder", "decoder"))
    if has_whole_model and (name is not None or paper):
        setting = f"preset is {name}" if name is not None else "paper_sizes is true"
        raise ConfigError("model", [messages.preset_with_parts(setting)])
    parts: Tree = {}
    if name is None and not has_whole_model:
        name = "bahdanau2015"
        reason = f"it learns from {profile.pairs:,} pairs and shows its attention"
        reasons.append(AutoSetting("model.preset", name, reason))
        has_explicit_layers = "num_layers" in {*model, *section_of(model, "encoder")}
        if not (paper or has_explicit_layers or _targets_are_sentences(profile, tree)):
            parts = {"encoder": {"num_layers": 2}}
            reason = "two layers encode letters better than the paper's one"
            reasons.append(AutoSetting("model.encoder.num_layers", 2, reason))
    problems: list[str] = []
    if name is not None:
        automatic_sizes, size_reasons = _automatic_sizes(
            profile, tree, name, paper=paper, on_gpu=on_gpu
        )
        model_section = _ModelSection(preset(name), automatic_sizes, parts, model)
        reasons += size_reasons
        problems += model_section.problems()
        tree["model"] = model_section.tree()
    reasons += _fill(tree, "train", _train_rules(profile, tree, on_gpu))
    reasons += _fill(tree, "search", _search_rules(profile, tree))
    return AutoConfiguration(_settings(tree, problems), name, tuple(reasons))


def will_use_gpu(explicit_settings: Tree) -> bool:
    """Whether training will run on a GPU; a missing one is refused later."""
    device = str(section_of(explicit_settings, "train").get("device", "auto"))
    return device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())


def _settings(tree: Tree, problems: list[str]) -> Settings:
    """Build the settings, or refuse them with all problems at once."""
    try:
        settings = settings_from(tree)
    except ConfigError as error:
        raise ConfigError("settings", [*problems, *error.problems]) from None
    if problems:
        raise ConfigError("settings", problems)
    return settings


def _fill(tree: Tree, section: str, rules: Rules) -> list[AutoSetting]:
    """Fill in what the rules yield, except explicit settings."""
    automatic = []
    for name, value, reason in rules:
        if name not in tree[section]:
            tree[section][name] = value
            automatic.append(AutoSetting(f"{section}.{name}", value, reason))
    return automatic


def _data_rules(profile: CorpusProfile, tree: Tree) -> Rules:
    """Yield the task, what is held out together, the case of the sources and limits of lengths.

    The limits leave out lines which would fill a batch by themselves.
    """
    task = infer_task(profile, tree["text"])
    yield "task", task.name, task.reason
    yield from split_rules(profile, task)
    if case := profile.source.single_case:
        yield "source_case", case, f"the sources have {case}-case letters only"
    for name, side in (("source", profile.source), ("target", profile.target)):
        max_tokens = _max_tokens(side, tree["text"].get(name))
        if max_tokens <= 512:
            reason = f"the longest line has {max_tokens} tokens"
            # new inputs may be longer than any training line
            yield f"max_{name}_length", max(32, 2 * max_tokens), reason


def _max_tokens(side: SideProfile, kind: object) -> int:
    """Return the tokens of the longest line; an upper bound for subwords and phonemes."""
    if kind in ("words", "whitespace"):
        return 2 * max(side.word_lengths) if kind == "words" else max(side.word_lengths)
    return max(side.lengths)


def mean_tokens(side: SideProfile, kind: object) -> float:
    """Return the mean number of tokens of a line, EOS included."""
    if kind in ("words", "whitespace"):
        return side.mean_words + 1
    if kind == "phonemes":
        return side.mean_words + side.mean_marks + 1
    if kind in SUBWORDS:
        return 1.5 * side.mean_words + 1
    return side.mean_length + 1


@final
@dataclass(frozen=True)
class _ModelSection:
    """The [model] of a preset: automatic or published sizes, overridden by explicit settings."""

    make: Callable[..., ModelConfig]
    automatic_sizes: Tree
    parts: Tree
    explicit_settings: Tree

    @property
    def sizes(self) -> Tree:
        """Explicit settings that are arguments of the preset; the others override its result."""
        arguments = inspect.signature(self.make).parameters
        return {key: value for key, value in self.explicit_settings.items() if key in arguments}

    @property
    def misspelled(self) -> dict[str, str]:
        """Unknown explicit settings, each with the argument of the preset that it resembles."""
        arguments = list(inspect.signature(self.make).parameters)
        unknown_settings = [
            key for key in self.explicit_settings if key not in [*arguments, *types_of(ModelConfig)]
        ]
        near = {key: get_close_matches(key, arguments, n=1) for key in unknown_settings}
        return {key: matches[0] for key, matches in near.items() if matches}

    def tree(self) -> Tree:
        """Return the complete section; automatic sizes replace explicit ones that are refused."""
        sizes = self.automatic_sizes if self.problems() else self.automatic_sizes | self.sizes
        section = merge_trees(to_tree(Settings(model=self.make(**sizes)))["model"], self.parts)
        sizes_and_typos = self.sizes.keys() | self.misspelled.keys()
        overrides = {
            name: v for name, v in self.explicit_settings.items() if name not in sizes_and_typos
        }
        return merge_trees(section, overrides)

    def problems(self) -> list[str]:
        """Say what is wrong with each size by itself, otherwise with all of them together."""
        misspelled = self.misspelled.items()
        size_problems = [unknown_setting(f"model.{name}", [f"model.{x}"]) for name, x in misspelled]
        size_problems += [
            problem for name, x in self.sizes.items() for problem in self._size_problems(name, x)
        ]
        return size_problems or [
            f"model: {problem}" for problem in self._preset_problems(self.sizes)
        ]

    def _size_problems(self, key: str, value: Any) -> list[str]:
        hint = get_type_hints(self.make)[key]
        if names := choices(hint):
            return [] if value in names else [unknown_choice(f"model.{key}", value, names)]
        if type(value) not in ((int, float) if hint is float else (hint,)):
            return [wrong_value(f"model.{key}", printable(value), must_be(hint))]
        # a part may name the setting differently
        problems = self._preset_problems({key: value})
        return [
            f"model.{problem}" if problem.startswith(f"{key} ") else f"model.{key}: {problem}"
            for problem in problems
        ]

    def _preset_problems(self, sizes: Tree) -> tuple[str, ...]:
        try:
            self.make(**{**self.automatic_sizes, **sizes})
        except ConfigError as error:
            return error.problems
        return ()


def _automatic_sizes(
    profile: CorpusProfile, tree: Tree, name: str, *, paper: bool, on_gpu: bool
) -> tuple[Tree, list[AutoSetting]]:
    """Return the automatic sizes of a preset, and the reason for each."""
    width = by_num_pairs(profile, {1000: 96, 5000: 128, 15_000: 192, 100_000: 256}, 384)
    dropout = by_num_pairs(profile, {50_000: 0.3, 200_000: 0.2}, 0.1)
    if is_wide := on_gpu and name in RECURRENT:
        width = by_num_pairs(profile, {1000: 256, 5000: 384}, 512)
        dropout = by_num_pairs(profile, {50_000: 0.4, 200_000: 0.3}, 0.2)
    elif name in RECURRENT and not _targets_are_sentences(profile, tree):
        width = by_num_pairs(profile, {600: 96, 1000: 192, 5000: 256, 100_000: 320}, 384)
    automatic: dict[str, Any] = {
        "embedding_size": width,
        "hidden_size": width,
        "align_size": width,
        "readout_size": width,
        "model_size": width,
        "feed_forward_size": 4 * width,
        "num_heads": 4,
        "num_layers": LAYERS.get(name, 1),
        "dropout": dropout,
        "max_length": _max_positions(tree),
        "tied_embeddings": "all" if tree["text"].get("shared_vocabulary") else "output",
    }
    published = paper_sizes(name).sizes if paper else {}
    arguments = inspect.signature(preset(name)).parameters
    automatic = {key: value for key, value in (automatic | published).items() if key in arguments}
    reasons = {
        "max_length": "positions for the longest lines",
        "tied_embeddings": "one vocabulary"
        if tree["text"].get("shared_vocabulary")
        else "two vocabularies",
    } | dict.fromkeys(published, "the paper's")
    pairs = f"for {profile.pairs:,} pairs{' on a GPU' * is_wide}"
    return automatic, [
        AutoSetting(f"model.{key}", value, reasons.get(key, pairs))
        for key, value in automatic.items()
        if key not in tree["model"]
    ]


def _max_positions(tree: Tree) -> int:
    """Return the positions that the longest line of either side needs, BOS or EOS included."""
    data = tree["data"]
    lengths = (data.get("max_source_length", 512), data.get("max_target_length", 512))
    # a wrong type is not this rule's to refuse
    return max(length for length in (*lengths, 31) if isinstance(length, int)) + 1


def _train_rules(profile: CorpusProfile, tree: Tree, on_gpu: bool) -> Rules:
    kinds = tree["text"]
    tokens = profile.pairs * max(
        mean_tokens(profile.source, kinds.get("source")),
        mean_tokens(profile.target, kinds.get("target")),
    )
    sentences = _targets_are_sentences(profile, tree)
    num_batches, max_batch = (40, 2048) if sentences else (140, 4096)
    batch = min(max_batch, max(256, 64 * round(tokens / num_batches / 64)))
    batches_text = f", in at least {num_batches} batches" if batch > 256 else ""
    yield "batch_tokens", batch, f"about {tokens:,.0f} tokens{batches_text}"
    explicit = tree["train"].get("batch_tokens", batch)
    batch = explicit if isinstance(explicit, int) and explicit > 0 else batch
    steps_per_epoch = max(1, round(tokens / batch))
    epochs = round((300_000 if sentences else 500_000) / profile.pairs)
    epochs = min(100, max(30, 2 * epochs) if on_gpu else max(15, epochs))
    min_steps = 2000 if profile.pairs >= 2000 else 300
    steps = min(50_000, max(min_steps, epochs * steps_per_epoch))
    yield "max_steps", steps, f"{steps / steps_per_epoch:.0f} epochs"
    explicit = tree["train"].get("max_steps", steps)
    steps = explicit if isinstance(explicit, int) and explicit > 0 else steps
    validate_every = max(1, min(max(steps_per_epoch, steps // 30), steps))
    yield "validate_every", validate_every, f"{steps // validate_every} validations"
    yield "save_every", validate_every, "after each validation"
    yield "report_every", max(1, min(50, validate_every // 5)), "a few between two validations"
    decoder = section_of(section_of(tree, "model"), "decoder")
    if decoder.get("kind") in ("transformer", "convolutional"):
        yield "learning_rate", 0.001, "larger ones diverge without recurrence"
    elif on_gpu:
        yield "learning_rate", 0.001, "the largest at which wide recurrent models are stable"
    else:
        yield "learning_rate", 0.002, "the largest at which models of this size are stable"
    yield "schedule", "cosine", "the last updates are the smallest"
    yield "warmup_steps", min(500, steps // 20), "the first updates are small"
    if on_gpu:
        yield "precision", "bfloat16", "a GPU is several times as fast with it"
    elif has_bfloat16("cpu") and _bfloat16_is_faster(decoder):
        yield "precision", "bfloat16", "this CPU has instructions for it, about twice as fast"
    yield "average_checkpoints", 3, "the mean of the three best usually beats the best"
    task = infer_task(profile, tree["text"])
    yield metric_rule(task._replace(name=str(tree["data"].get("task", task.name))))


def _bfloat16_is_faster(decoder: Tree) -> bool:
    """Whether a decoder is wide enough; an LSTM runs in float32 on a CPU in any case."""
    width = decoder.get("hidden_size", decoder.get("model_size"))
    # a wrong type is not this rule's to refuse
    return isinstance(width, int) and width >= MIN_BFLOAT16_WIDTH and decoder.get("cell") != "lstm"


def _targets_are_sentences(profile: CorpusProfile, tree: Tree) -> bool:
    """Whether the targets are sentences of words, not words of letters or phonemes."""
    kinds = {tree["text"].get("source"), tree["text"].get("target")}
    return bool(kinds & {"words", *SUBWORDS}) and profile.target.mean_words >= 4


def _search_rules(profile: CorpusProfile, tree: Tree) -> Rules:
    max_length = tree["data"].get("max_target_length", 512)
    yield "max_length", max_length, "no output needs more"
    yield "beam_size", 5, "a little better than greedy"
    yield "stop", "likeliest", "otherwise short outputs may end the search before the best one"
    yield from same_length_rule(profile, tree["text"])
