"""`regard doctor`: the installation, what runs on it and why, and a test of batch invariance."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import options
from regard.cli.options import file_argument

if TYPE_CHECKING:
    from regard.kernels import Decision

EXTRAS = {
    "matplotlib": 'pip install "regard[plots]"',
    "gensim": 'pip install "regard[embed]"',
    "tensorboard": "pip install tensorboard",
}
"""Optional packages, and how to install each."""


def doctor(
    model: Annotated[
        Path | None,
        file_argument("[MODEL]", "A model file: show what runs for its parts."),
    ] = None,
) -> None:
    """Show what this installation has, and which implementations run.

    Lists devices, optional packages and kernels, and tests whether a line's output depends on the
    other lines of its batch; if it does, the exit code is 1. With a model file: lists what runs
    for each part of the model, on a CPU and on a GPU, and why nothing faster does.
    """
    if model is None:
        _examine_installation()
    else:
        _examine_model(model)


def _examine_model(path: Path) -> None:
    from regard.inference.prepare import explain_decoding
    from regard.saved_model import load_model
    from regard.training.explain import explain_training

    saved = load_model(path)
    for device in ("cpu", "cuda"):
        training = explain_training(saved.model, saved.settings.train, device)
        for work, decisions in (
            ("training", training),
            ("decoding", explain_decoding(saved.model, device)),
        ):
            if decisions:
                print(_table(f"{work} on {device}", decisions))
    options.hint("regard", "info", path)


def _table(heading: str, decisions: "Mapping[str, Decision]") -> str:
    rows = [(part, *decision) for part, decision in decisions.items()]
    return options.table((heading, "runs as", "because"), *rows)


def _examine_installation() -> None:
    import torch

    from regard import __version__
    from regard.kernels import OPS, Call, bfloat16_instructions

    print(f"regard {__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    print("devices: " + ", ".join(["CPU", *devices]))
    print(f"bfloat16 of the CPU: {', '.join(bfloat16_instructions()) or 'none; float32 is used'}")
    for package, command in EXTRAS.items():
        missing = f"not installed; install it with: {command}"
        print(f"{package}: {_installed(package) or missing}")
    print()
    for device in ["cpu", *(["cuda"] if devices else [])]:
        print(_table(f"op on {device}", {n: op.explain(Call(device)) for n, op in OPS.items()}))
    print(options.table(("decoder", "unrolls", "because"), *_decoders()))
    verdicts = _invariance()
    for preset, same in verdicts.items():
        verdict = "the same to the last bit" if same else "NOT the same: please report this machine"
        print(f"{preset}: a line decoded alone and in a batch of 41 is {verdict}")
    options.hint("regard", "demo", "dates")
    if not all(verdicts.values()):
        raise typer.Exit(1)


def _installed(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _decoders() -> list[tuple[str, str, str]]:
    """Return how recurrent decoders with attention unroll, for each of several settings."""
    from regard.kernels import Call
    from regard.models import build, preset

    sizes = {"embedding_size": 2, "hidden_size": 3}
    tiny_sizes: dict[str, dict[str, Any]] = {
        "bahdanau2015": {"align_size": 5, "readout_size": 7},
        "luong2015": {"num_layers": 1},
    }
    scores = ("additive", "concat", "dot", "scaled_dot", "bilinear", "gaussian", "location")
    variants: list[dict[str, Any]] = [
        {},
        *({"cell": cell} for cell in ("gru_before", "gru_after", "lstm", "elman")),
        *({"score": score, "bidirectional": False} for score in scores),
        {"num_layers": 2},
    ]
    luong_variants: list[dict[str, Any]] = [
        {"window": "local_m"},
        {"window": "local_p"},
        {"input_feeding": False},
    ]
    rows = []
    for name, sizes_of_preset in tiny_sizes.items():
        for variant in [*variants, *(luong_variants if name == "luong2015" else [])]:
            decoder = build(preset(name)(**sizes, **{**sizes_of_preset, **variant}), 5, 5).decoder
            label = ", ".join(f"{k} = {v}" for k, v in variant.items() if k != "bidirectional")
            unrolling = decoder.explain(Call("cpu"))["decoder"]
            rows.append((f"{name}, {label}" if label else name, *unrolling))
    return rows


def _invariance() -> dict[str, bool]:
    """Decode random lines alone and in a batch; say for each preset whether all bits are equal."""
    import numpy as np
    import torch

    from regard.config.settings import SearchConfig
    from regard.models import build, preset
    from regard.search import SearchOptions, SearchRequest, search

    sizes = {"embedding_size": 24, "hidden_size": 40, "align_size": 24, "readout_size": 24}
    transformer_sizes = {"model_size": 32, "feed_forward_size": 64, "num_heads": 4, "num_layers": 2}
    rng = np.random.default_rng(0)
    lines = [rng.integers(4, 30, size=rng.integers(1, 60)) for _ in range(41)]
    requests = [SearchRequest(tuple(line.tolist())) for line in lines]
    config = SearchConfig(beam_size=3, max_length=12)
    together_options, alone_options = (
        SearchOptions(config=replace(config, batch_size=size)) for size in (41, 1)
    )
    verdicts = {}
    for name, preset_sizes in (("bahdanau2015", sizes), ("vaswani2017", transformer_sizes)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = build(preset(name)(**preset_sizes), 30, 30).eval()
        together = search([model], requests, together_options)
        alone = search([model], requests[:8], alone_options)
        verdicts[name] = all(
            a[0].token_ids == b[0].token_ids
            and a[0].scores == b[0].scores
            and np.array_equal(np.array(a[0].weights), np.array(b[0].weights))
            for a, b in zip(alone, together, strict=False)
        )
    return verdicts
