"""What one section of the settings asks of another, said before anything is read twice."""

from collections.abc import Iterator
from typing import Any

from regard.config.settings import Settings
from regard.config.toml import Tree, to_tree
from regard.errors import ConfigError
from regard.models.combinations import problems


def check_settings(settings: Settings) -> None:
    """Refuse settings that are sound by themselves, but not together: all problems at once."""
    found = [
        *_text_problems(settings),
        *_length_problems(settings),
        *_reading_problems(settings),
        *(f"model: {problem}" for problem in problems(settings.model)),
    ]
    if found:
        raise ConfigError("settings", found)


def _text_problems(settings: Settings) -> Iterator[str]:
    text = settings.text
    if text.shared_vocabulary and text.source != text.target:
        yield (
            f"text.shared_vocabulary = true, but text.source = {text.source} and text.target = "
            f"{text.target} cut lines differently; text.target = {text.source} would do"
        )
    if settings.model.tied_embeddings == "all" and not text.shared_vocabulary:
        yield (
            "model.tied_embeddings = all needs one vocabulary, but text.shared_vocabulary = false; "
            "text.shared_vocabulary = true or model.tied_embeddings = output would do"
        )


def _reading_problems(settings: Settings) -> Iterator[str]:
    if settings.train.rdrop_alpha and not any(_dropouts(to_tree(settings)["model"])):
        yield (
            f"train.rdrop_alpha = {settings.train.rdrop_alpha}, but two readings without dropout "
            "are one; train.rdrop_alpha = 0 or model.dropout = 0.3 would do"
        )


def _dropouts(tree: Tree) -> Iterator[float]:
    """Yield what is dropped anywhere in a section."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _dropouts(value)
        elif name.endswith("dropout"):
            yield value


def _length_problems(settings: Settings) -> Iterator[str]:
    """Every line that is trained on must have a position for each of its symbols."""
    model, data = settings.model, settings.data
    wanted: list[tuple[str, Any, str, int]] = []
    if model.source.positions != "none":
        wanted.append(("model.source", model.source, "source", 0))
    if model.target.positions != "none":
        # BOS is fed too
        wanted.append(("model.target", model.target, "target", 1))
    attention = getattr(model.decoder, "attention", None)
    if attention is not None and attention.score == "location":
        wanted.append(("model.decoder.attention", attention, "source", 0))
    for name, section, side, more in wanted:
        longest = getattr(data, f"max_{side}_length")
        if section.max_length < longest + more:
            yield (
                f"{name}.max_length = {section.max_length}, but data.max_{side}_length = {longest} "
                f"needs {longest + more}; {name}.max_length = {longest + more} or "
                f"data.max_{side}_length = {max(1, section.max_length - more)} would do"
            )
