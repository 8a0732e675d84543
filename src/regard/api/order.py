"""What is asked of a training run, and `regard.train`, which takes it as arguments."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any, final

from regard.api.sources import AnyPath, Given, Origin, is_file
from regard.config.model import ModelConfig
from regard.config.renamed_settings import section_of_old_name, with_new_names
from regard.config.settings import DataConfig, SearchConfig, TextConfig, TrainConfig
from regard.config.toml import Tree
from regard.errors import ConfigError
from regard.models import PRESETS
from regard.translator import Translator

FLAT = {"train": TrainConfig, "data": DataConfig, "text": TextConfig, "search": SearchConfig}
ARGUMENTS = ("source", "target", "columns")
"""What `train` takes besides an order and its settings."""


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

    start_from: Path | None = None
    """A model file to start from: its text, its sizes and its weights."""

    embeddings: Path | None = None
    """Word vectors, as `regard embed` writes them, that symbols of either side begin with."""

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
    (`train={"max_steps": 500}`), or single settings by their name (`max_steps=500`). A name that
    several sections have is the first's of [train], [data], [text], [search] and [model]: `seed` is
    train's, `max_length` search's; `search={"seed": 7}` and `model={"max_length": 64}` say the
    others. `source` and `target` are files; the tokenizers are `text={"source": "words"}`.
    """
    from regard.api.run import run

    asked = _arguments() - set(ARGUMENTS)
    order = {name: settings.pop(name) for name in asked & settings.keys()}
    columns = settings.pop("columns", None)
    for name in ("out", "start_from", "embeddings"):
        if is_file(order.get(name)):
            order[name] = Path(order[name])
    origin = Origin(pairs, source, target, columns)
    done = run(Order(origin=origin, settings=_sections(settings), **order))
    if done.translator is None:
        kept = "resume=True goes on" if order.get("out") else "without out= nothing was kept"
        raise KeyboardInterrupt(f"training was stopped; {kept}")
    return done.translator


def _sections(given: dict[str, Any]) -> Tree:
    """Sort single settings into their sections; what none of them has is the model's.

    A name that is nowhere goes where it nearly is, to be refused there with all else that is wrong.
    """
    tree: Tree = {}
    known_names = {*_every(), *filter(section_of_old_name, given)}
    near = {name: _near(name) or name for name in given if name not in known_names}
    if wrong := [(name, argument) for name, argument in near.items() if argument in _arguments()]:
        problems = [f"{name} is no argument; {argument} would do" for name, argument in wrong]
        raise ConfigError("train", problems)
    for name, value in given.items():
        known = near.get(name, name)
        if known in FLAT or known == "model":
            _put(tree, name, value)
        else:
            homes = (section for section in FLAT if known in _names(section))
            section = section_of_old_name(name) or next(homes, "model")
            _put(tree, section, {name: value})
    return with_new_names(tree)


def _put(tree: Tree, section: str, values: Any) -> None:
    if not isinstance(values, dict):
        raise ConfigError("settings", [f"{section} = {values}, but it must be a dict of settings"])
    tree[section] = {**tree.get(section, {}), **values}


def _names(section: str) -> Iterable[str]:
    return {f.name for f in fields(FLAT[section])}


def _arguments() -> set[str]:
    return {f.name for f in fields(Order)} - {"origin", "settings"} | set(ARGUMENTS)


def _every() -> set[str]:
    """Return every name that `train` knows, of whatever it is."""
    model = {f.name for f in fields(ModelConfig)} | {"model", *FLAT}
    sizes = {name for make in PRESETS.values() for name in signature(make).parameters}
    flat = {name for section in FLAT for name in _names(section)}
    return model | sizes | flat | _arguments()


def _near(name: str) -> str | None:
    # sorted: of equally close names it must not be chance which is told
    return next(iter(get_close_matches(name, sorted(_every()), n=1)), None)
