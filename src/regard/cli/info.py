"""`regard info`: describes a model file."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import messages, options
from regard.cli.options import Import, Model, choice
from regard.errors import ModelFileError

if TYPE_CHECKING:
    from regard.saved_model import SavedModel


def info(
    model: Model,
    settings: Annotated[
        bool,
        typer.Option("--settings", help="Print all settings as TOML, for --config."),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check the file against its digest: was it damaged?"),
    ] = False,
    format_: Annotated[str, choice("format", "Output format.", "text", "json")] = "text",
    import_: Import = None,
) -> None:
    """Describe a model file.

    Prints its parts, vocabularies, training and scores, each score with its signature.
    """
    from regard.config.toml import to_toml, to_tree
    from regard.safetensors_files import UNDAMAGED, check_digest
    from regard.saved_model import load_model

    digest = check_digest(model) if verify else None
    if verify and digest is None:
        raise ModelFileError(str(model), messages.no_digest(model))
    saved = load_model(model)
    if verify:
        print(messages.verified(model, str(digest)))
    elif settings:
        print(to_toml(saved.settings), end="")
    elif format_ == "json":
        facts = _facts(saved) | {"settings": to_tree(saved.settings), "summary": saved.summary}
        print(json.dumps(facts, ensure_ascii=False))
    else:
        try:
            rows = list(_rows(saved))
        except (TypeError, KeyError, ValueError, AttributeError, RecursionError) as error:
            # the weights are valid, but the summary was not written by regard
            raise ModelFileError(str(model), f"Its summary cannot be read. {UNDAMAGED}") from error
        print("\n".join(rows))
        options.hint("regard", "translate", model)


def _facts(saved: "SavedModel") -> dict[str, Any]:
    from regard.config.toml import to_tree

    tree = to_tree(saved.settings)
    return {
        "task": tree["data"]["task"],
        "encoder": tree["model"]["encoder"]["kind"],
        "decoder": tree["model"]["decoder"]["kind"],
        "parameters": sum(parameter.numel() for parameter in saved.model.parameters()),
        "source": tree["text"]["source"],
        "source_symbols": len(saved.source.vocabulary),
        "target": tree["text"]["target"],
        "target_symbols": len(saved.target.vocabulary),
        "normalization": saved.source.normalization,
    }


def _rows(saved: "SavedModel") -> Iterator[str]:
    from regard.metrics.tasks import label, meaning

    summary = dict(saved.summary)
    scores = summary.pop("scores", [])
    examples = summary.pop("examples", [])
    for name, value in (_facts(saved) | summary).items():
        yield f"{name.replace('_', ' '):<16}{_format_value(value)}"
    for example in examples:
        pair = f"{example['source']} → {example['target']}"
        yield f"{'example':<16}{_format_value(pair)}"
    for score in scores:
        name, signature = str(score["name"]), str(score["signature"])
        value = f"{score['value']:.2f}  {meaning(name, signature)}"
        yield f"{_format_value(label(name)):<{max(16, len(label(name)) + 2)}}{value.rstrip()}"
        yield f"{'':<16}{_format_value(signature)}"


def _format_value(value: object) -> str:
    """Format a value; control characters of a foreign file must not reach the terminal."""
    text = f"{value:,}" if type(value) is int else str(value)
    return text if text.isprintable() else repr(text)
