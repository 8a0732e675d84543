"""What a model is, in a few words, for its `repr`: parts, sizes, vocabularies and scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regard.config.toml import to_tree
from regard.saved_model import SavedModel


def describe(members: Sequence[SavedModel]) -> Iterator[str]:
    """Yield the parts of the description."""
    first, model = members[0], to_tree(members[0].settings)["model"]
    if len(members) > 1:
        yield f"ensemble of {len(members)}"
    for part in ("encoder", "decoder"):
        sizes = (model[part].get(name) for name in ("model_size", "hidden_size"))
        size = next((f" of size {size:,}" for size in sizes if isinstance(size, int)), "")
        yield f"{model[part]['kind']} {part}{size}"
    parameters = sum(p.numel() for member in members for p in member.model.parameters())
    yield f"{parameters:,} parameters"
    for name, side in (("source", first.source), ("target", first.target)):
        yield f"{name} {side.tokenizer.kind} ({len(side.vocabulary):,} tokens)"
    yield from _scores(first.summary)


def _scores(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the scores of a training summary; those of a foreign file may be anything."""
    scores = summary.get("scores")
    for one in scores if isinstance(scores, list) else ():
        if isinstance(one, dict) and {"name", "value"} <= one.keys():
            value = one["value"]
            if isinstance(value, int | float):
                yield f"{one['name']} {value:.2f}"
