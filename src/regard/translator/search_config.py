"""The settings of one search: the model's own, with the changes of a call."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from regard.config.renamed_settings import with_new_names
from regard.config.settings import SearchConfig
from regard.errors import ConfigError
from regard.translator import messages


def search_config(model_settings: SearchConfig, settings: Mapping[str, Any]) -> SearchConfig:
    """Return the model's settings with changes; None changes nothing."""
    settings = with_new_names({"search": dict(settings)})["search"]
    known = [f.name for f in fields(SearchConfig)]
    if unknown := [name for name in settings if name not in known]:
        problems = [messages.unknown_setting(name, known) for name in unknown]
        raise ConfigError("search", problems)
    changes = {name: value for name, value in settings.items() if value is not None}
    nbest = changes.get("nbest", model_settings.nbest)
    if type(nbest) is int and "beam_size" not in changes:
        temperature = changes.get("temperature", model_settings.temperature)
        sampling = isinstance(temperature, int | float) and temperature > 0
        # with a larger beam, the best of several samples would not be a sample
        changes["beam_size"] = max(1, nbest) if sampling else max(nbest, model_settings.beam_size)
    config = replace(model_settings, **changes)
    defaults = {"top_k": 0, "top_p": 1}
    unused = [name for name, off in defaults.items() if changes.get(name, off) != off]
    if unused and config.temperature == 0:
        problems = [messages.needs_sampling(name, changes[name]) for name in unused]
        raise ConfigError("search", problems)
    return config
