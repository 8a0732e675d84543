"""What is asked of a training run, and `regard.train`, which takes it as arguments."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, final

from regard.api.sources import AnyPath, Given, Origin, is_file
from regard.config.settings import DataConfig, SearchConfig, TextConfig, TrainConfig
from regard.config.toml import Tree
from regard.errors import ConfigError
from regard.translator import Translator

FLAT = {"train": TrainConfig, "data": DataConfig, "text": TextConfig, "search": SearchConfig}


@final
@dataclass(frozen=True, kw_only=True)
class Order:
    """One training run, as a person asks for it."""

    origin: Origin
    dev: Given | None = None
    preset: str | None = None
    paper_sizes: bool = False
    settings: Tree = field(default_factory=dict)
    """What was said of [data], [text], [model], [train] and [search]; the rest is automatic."""

    out: Path | None = None
    """The model file; without one, nothing is kept."""

    resume: bool = False
    overwrite: bool = False
    allow_changes: bool = False
    """Go on with other settings than the run began with."""

    allow_inexact: bool = False
    """Go on with other versions, threads or devices than the run began with."""

    skip_bad_lines: bool = False
    quiet: bool = False

    @property
    def folder(self) -> Path | None:
        """Where the run keeps what it needs to go on."""
        # another ending stays: a.v1 and a.v2 are not to share a folder
        return self.out and self.out.with_name(self.out.name.removesuffix(".regard") + ".run")


def train(
    pairs: Given | None = None,
    *,
    source: AnyPath | None = None,
    target: AnyPath | None = None,
    **settings: Any,
) -> Translator:
    """Train on pairs (a path, or (source, target) lines) and return what translates.

    Arguments are those of `Order` (dev, preset, out, resume, quiet …), whole sections as dicts
    (`train={"max_steps": 500}`), or single settings by their name (`max_steps=500`).
    """
    from regard.api.run import run

    asked = {f.name for f in fields(Order)} - {"origin", "settings"}
    order = {name: settings.pop(name) for name in asked & settings.keys()}
    columns = settings.pop("columns", None)
    if is_file(order.get("out")):
        order["out"] = Path(order["out"])
    origin = Origin(pairs, source, target, columns)
    done = run(Order(origin=origin, settings=_sections(settings), **order))
    if done.translator is None:
        raise KeyboardInterrupt
    return done.translator


def _sections(given: dict[str, Any]) -> Tree:
    """Sort single settings into their sections; what none of them has is the model's."""
    tree: Tree = {}
    for name, value in given.items():
        if name in FLAT or name == "model":
            _put(tree, name, value)
        else:
            homes = (section for section in FLAT if name in _names(section))
            _put(tree, next(homes, "model"), {name: value})
    return tree


def _put(tree: Tree, section: str, values: Any) -> None:
    if not isinstance(values, dict):
        raise ConfigError("settings", [f"{section} = {values}, but it must be a dict of settings"])
    tree[section] = {**tree.get(section, {}), **values}


def _names(section: str) -> Iterable[str]:
    return {f.name for f in fields(FLAT[section])}
