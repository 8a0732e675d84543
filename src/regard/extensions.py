"""User-defined scores, decoders, tokenizers and constraints, registered under a name.

A module registers its classes when it is imported; from then on settings may name them. This
module imports only modules that regard ships: loading a model file runs no code.
"""

import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeVar

from regard.errors import ConfigError

Kind = Literal["score", "decoder", "tokenizer", "constraint"]
ClassT = TypeVar("ClassT", bound=type)


class Extension(NamedTuple):
    """A registered class."""

    kind: Kind
    name: str
    cls: Any

    @property
    def module(self) -> str:
        """The module to import before a model file that needs the class is loaded."""
        return str(self.cls.__module__)


SHIPPED: dict[Kind, dict[str, str]] = {
    "constraint": {"repetition_pattern": "regard.plugins.repetition_pattern"}
}
"""Extensions that come with regard, with their modules; imported when they are first used."""

decoder_configs: dict[str, type[Any]] = {}
"""The config of each registered decoder, by name."""

_extensions: dict[Kind, dict[str, Extension]] = {}
_reserved: dict[Kind, set[str]] = {}


def register_score(name: str) -> Callable[[ClassT], ClassT]:
    """Register a `ScoreFunction`, made as `cls(query_size, key_size, align_size)`."""
    return _registration("score", name)


def register_decoder(name: str, config: type[Any]) -> Callable[[ClassT], ClassT]:
    """Register a `regard.decoders.base.Decoder` with its config.

    The config is a frozen dataclass that extends `regard.config.names.CustomDecoderConfig`. The
    decoder is made as `cls.from_config(config, embedding_size, encoder, summary_size)`.
    """

    def register(cls: ClassT) -> ClassT:
        _registration("decoder", name)(cls)
        decoder_configs[name] = config
        return cls

    return register


def register_tokenizer(name: str) -> Callable[[ClassT], ClassT]:
    """Register a `regard.text.tokenizers.Tokenizer`, made as `cls()`: it learns nothing."""

    def register(cls: ClassT) -> ClassT:
        cls.kind = name  # type: ignore[attr-defined]
        return _registration("tokenizer", name)(cls)

    return register


def register_constraint(name: str) -> Callable[[ClassT], ClassT]:
    """Register a `regard.search.Constraint`, made as `cls(target_vocabulary)`."""
    return _registration("constraint", name)


def reserve(kind: Kind, names: Iterable[str]) -> None:
    """Prevent the registration of regard's own names."""
    _reserved.setdefault(kind, set()).update(names)


def names(kind: Kind) -> tuple[str, ...]:
    """Return all registered names of a kind, without the reserved ones."""
    return tuple(dict.fromkeys([*SHIPPED.get(kind, {}), *_extensions.get(kind, {})]))


def find(kind: Kind, name: str) -> Extension | None:
    """Return the extension of a name, or None; `module:Class` is a class of an imported module."""
    if name in SHIPPED.get(kind, {}):
        import_module(SHIPPED[kind][name])
    if name in _extensions.get(kind, {}):
        return _extensions[kind][name]
    module, _, attribute = name.partition(":")
    if kind != "constraint" or module not in sys.modules:
        return None
    # not getattr, which may run code of the module
    cls = vars(sys.modules[module]).get(attribute)
    return Extension(kind, name, cls) if isinstance(cls, type) else None


def decoder_of(config: object) -> Extension | None:
    """Return the registered decoder whose config this is."""
    matching_names = (name for name, cls in decoder_configs.items() if type(config) is cls)
    return next((_extensions["decoder"][name] for name in matching_names), None)


def _registration(kind: Kind, name: str) -> Callable[[ClassT], ClassT]:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        must = "it must be lower-case letters, digits and underscores, a letter first"
        raise ConfigError("extensions", [f"{kind} = {name!r}, but {must}"])

    def register(cls: ClassT) -> ClassT:
        known = _extensions.setdefault(kind, {})
        # a module that is reloaded may register its classes again
        same = name in known and _qualified_name(known[name].cls) == _qualified_name(cls)
        if name in _reserved.get(kind, set()) or (name in known and not same):
            owner = known[name].module if name in known else "regard"
            problem = f"{owner} has a {kind} of the name {name} already; choose another name"
            raise ConfigError("extensions", [problem])
        known[name] = Extension(kind, name, cls)
        return cls

    return register


def _qualified_name(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
