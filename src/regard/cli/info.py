"""`regard info`: what is inside a model file."""

import json
from typing import Annotated

import typer

from regard.cli import options
from regard.cli.options import Model


def info(
    model: Model,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print every setting as TOML, and no more.")
    ] = False,
    format_: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Print a model's settings, vocabularies, training and scores, each with its recipe."""
    from regard.config.toml import to_toml, to_tree
    from regard.store import load_model

    saved = load_model(model)
    if settings:
        print(to_toml(saved.settings), end="")
        return
    parameters = sum(part.numel() for part in saved.model.parameters())
    tree = to_tree(saved.settings)
    facts = {
        "preset": saved.summary.get("preset"),
        "encoder": tree["model"]["encoder"]["kind"],
        "decoder": tree["model"]["decoder"]["kind"],
        "parameters": parameters,
        "source": f"{tree['text']['source']}, {len(saved.source.vocabulary):,} symbols",
        "target": f"{tree['text']['target']}, {len(saved.target.vocabulary):,} symbols",
        "normalization": saved.source.normalization,
    }
    if format_ == "json":
        print(json.dumps(facts | {"settings": tree, "summary": saved.summary}, ensure_ascii=False))
        return
    summary = {name: value for name, value in saved.summary.items() if name != "scores"}
    for name, value in (facts | summary).items():
        shown = f"{value:,}" if type(value) is int else value
        print(f"{name.replace('_', ' '):<15}{shown}")
    for score in saved.summary.get("scores", []):
        print(f"{score['name']:<15}{score['value']:.2f}  ({score['signature']})")
    options.hint("regard", "translate", model)
