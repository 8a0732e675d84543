"""`regard.train`: a training request as keyword arguments."""

import time
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from regard.config.model import ModelConfig
from regard.config.renamed_settings import section_of_old_name, with_new_names
from regard.config.settings import DataConfig, SearchConfig, TextConfig, TrainConfig
from regard.config.toml import Tree, merge_trees
from regard.data.lines import AnyPath
from regard.errors import ConfigError
from regard.models import PRESETS
from regard.pipeline import messages
from regard.pipeline.pairs_source import PairsInput, PairsSource, is_file
from regard.pipeline.request import TrainRequest
from regard.translator import Translator

SECTIONS = {"train": TrainConfig, "data": DataConfig, "text": TextConfig, "search": SearchConfig}
FILE_ARGUMENTS = ("format", "delimiter", "encoding", "header", "joiner", "comment", "sheet")
"""Arguments of `train` that are settings of [data.file]."""

SOURCE_ARGUMENTS = ("source", "target", "columns", "group_by", *FILE_ARGUMENTS)
"""Arguments of `train` that say where pairs are, besides the fields of a request."""


def train(
    pairs: PairsInput | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    **settings: Any,
) -> Translator:
    """Train on pairs (a path, or (source, target) lines) and return the translator.

    Arguments are those of `TrainRequest` (dev, preset, out, resume, quiet …), whole sections as
    dicts (`train={"max_steps": 500}`), or single settings by name (`max_steps=500`). A name that
    several sections have is the first's of [train], [data], [text], [search] and [model]: `seed` is
    train's, `max_length` search's; `search={"seed": 7}` and `model={"max_length": 64}` reach the
    others. `source` and `target` are files; the tokenizers are `text={"source": "words"}`.
    """
    started = time.monotonic()
    from regard.pipeline.run import run

    names = _request_arguments() - set(SOURCE_ARGUMENTS)
    arguments = {name: settings.pop(name) for name in names & settings.keys()}
    columns, group_by = settings.pop("columns", None), settings.pop("group_by", None)
    file = {name: settings.pop(name) for name in FILE_ARGUMENTS if name in settings}
    tree = _sort_into_sections(settings)
    if file and isinstance(tree.get("data", {}), dict):
        tree = merge_trees({"data": {"file": file}}, tree)
    for name in ("out", "start_from", "embeddings"):
        if is_file(arguments.get(name)):
            arguments[name] = Path(arguments[name])
    pairs_source = PairsSource(pairs, source, target, columns, group_by=group_by)
    outcome = run(TrainRequest(pairs=pairs_source, settings=tree, **arguments), started)
    if outcome.translator is None or outcome.stopped_by is not None:
        raise KeyboardInterrupt(messages.stopped(resumable=bool(arguments.get("out"))))
    return outcome.translator


def _sort_into_sections(settings: dict[str, Any]) -> Tree:
    """Sort single settings into their sections; names of no section are the model's.

    A misspelled name goes to the section of its closest match, which refuses it with all problems.
    """
    tree: Tree = {}
    known = {*_known_names(), *filter(section_of_old_name, settings)}
    closest = {name: _closest_name(name) or name for name in settings if name not in known}
    arguments = _request_arguments()
    if wrong := [(name, match) for name, match in closest.items() if match in arguments]:
        problems = [messages.unknown_argument(*names) for names in wrong]
        raise ConfigError("train", problems)
    for name, setting in settings.items():
        match = closest.get(name, name)
        if match in SECTIONS or match == "model":
            _merge_section(tree, name, setting)
        else:
            sections = (section for section in SECTIONS if match in _setting_names(section))
            section = section_of_old_name(name) or next(sections, "model")
            _merge_section(tree, section, {name: setting})
    return with_new_names(tree)


def _merge_section(tree: Tree, section: str, settings: Any) -> None:
    if not isinstance(settings, dict):
        raise ConfigError("settings", [messages.not_a_dict(section, settings)])
    tree[section] = {**tree.get(section, {}), **settings}


def _setting_names(section: str) -> Iterable[str]:
    return {f.name for f in fields(SECTIONS[section])}


def _request_arguments() -> set[str]:
    return {f.name for f in fields(TrainRequest)} - {"pairs", "settings"} | set(SOURCE_ARGUMENTS)


def _known_names() -> set[str]:
    """Return every name that `train` accepts, wherever it belongs."""
    model = {f.name for f in fields(ModelConfig)} | {"model", *SECTIONS}
    sizes = {name for make in PRESETS.values() for name in signature(make).parameters}
    settings = {name for section in SECTIONS for name in _setting_names(section)}
    return model | sizes | settings | _request_arguments()


def _closest_name(name: str) -> str | None:
    # sorted: among equally close names the suggestion must not be random
    return next(iter(get_close_matches(name, sorted(_known_names()), n=1)), None)
