"""Checks that the sections of the settings fit each other, all conflicts at once."""

from collections.abc import Iterator
from typing import Any

from regard.config.settings import Settings
from regard.config.toml import Tree, to_tree
from regard.errors import ConfigError
from regard.models.combinations import combination_problems
from regard.pipeline import messages


def check_settings(settings: Settings) -> None:
    """Refuse settings that are valid by themselves, but not together."""
    conflicts = [
        *_text_problems(settings),
        *_position_problems(settings),
        *_rdrop_problems(settings),
        *(f"model: {problem}" for problem in combination_problems(settings.model)),
    ]
    if conflicts:
        raise ConfigError("settings", conflicts)


def _text_problems(settings: Settings) -> Iterator[str]:
    text = settings.text
    if text.shared_vocabulary and text.source != text.target:
        yield messages.different_tokenizers(text.source, text.target)
    if settings.model.tied_embeddings == "all" and not text.shared_vocabulary:
        yield messages.UNTIED_VOCABULARIES


def _rdrop_problems(settings: Settings) -> Iterator[str]:
    if settings.train.rdrop_alpha and not any(_dropouts(to_tree(settings)["model"])):
        yield messages.rdrop_without_dropout(settings.train.rdrop_alpha)


def _dropouts(tree: Tree) -> Iterator[float]:
    """Yield every dropout rate in a section."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _dropouts(value)
        elif name.endswith("dropout"):
            yield value


def _position_problems(settings: Settings) -> Iterator[str]:
    """Yield limits of positions that are below the longest training line."""
    model, data = settings.model, settings.data
    limits: list[tuple[str, Any, str, int]] = []
    if model.source.positions != "none":
        limits.append(("model.source", model.source, "source", 0))
    if model.target.positions != "none":
        # BOS is fed too
        limits.append(("model.target", model.target, "target", 1))
    attention = getattr(model.decoder, "attention", None)
    if attention is not None and attention.score == "location":
        limits.append(("model.decoder.attention", attention, "source", 0))
    for name, section, side, num_special in limits:
        limit = f"max_{side}_length"
        longest = getattr(data, limit)
        needed = longest + num_special
        if section.max_length < needed:
            yield messages.too_few_positions(name, section.max_length, needed, limit, longest)
