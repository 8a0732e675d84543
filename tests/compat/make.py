"""Train the models that every later version must load, and record their outputs.

`python tests/compat/make.py [FOLDER]` writes one small model of each preset and its outputs.
Existing files are never overwritten.
"""

import json
import random
import sys
from pathlib import Path

import torch

import regard

PRESETS = {
    "cho2014": {"embedding_size": 8, "hidden_size": 28, "readout_size": 14},
    "sutskever2014": {"embedding_size": 8, "hidden_size": 32, "num_layers": 1},
    "bahdanau2015": {
        "embedding_size": 8,
        "hidden_size": 20,
        "align_size": 16,
        "readout_size": 12,
    },
    "luong2015": {"embedding_size": 8, "hidden_size": 24, "num_layers": 1},
    "gehring2017": {"embedding_size": 16, "hidden_size": 16, "num_layers": 2, "max_length": 33},
    "vaswani2017": {
        "model_size": 24,
        "feed_forward_size": 32,
        "num_heads": 2,
        "num_layers": 1,
        "max_length": 33,
        "tied_embeddings": "output",
    },
}
LINES = ["1234", "9870", "0000", "5", "20", "111", "31415", "12a4", "7 7", "", "xyz"]
SEARCHES = [{"beam_size": 1}, {"beam_size": 4, "nbest": 2}]


def pairs():
    """Return nine tenths of the strings of four digits, each with its reverse."""
    every = [f"{number:04}" for number in range(10_000)]
    random.Random(1).shuffle(every)
    return [(line, line[::-1]) for line in every[:9000]]


def trained(name, **changes):
    """Train a preset to reverse four digits."""
    settings = {
        "max_steps": 1500,
        "batch_tokens": 1280,
        "learning_rate": 0.01,
        "validate_every": 250,
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "data": {"max_dev_sources": 100},
        "device": "cpu",
        "quiet": True,
    }
    return regard.train(pairs(), preset=name, **{**settings, **PRESETS[name], **changes})


def outputs_of(translator):
    """Return the outputs of a model for every line and search."""
    return [
        {
            "search": search,
            "answers": [
                [
                    {"text": one.text, "token_scores": list(one.token_scores)}
                    for one in answer.alternatives or (answer,)
                ]
                for answer in translator.translate(LINES, **search)
            ],
        }
        for search in SEARCHES
    ]


def main(folder):
    """Write the missing models."""
    torch.set_num_threads(1)
    for name in PRESETS:
        model, outputs = folder / f"{name}.regard", folder / f"{name}.json"
        if model.exists() or outputs.exists():
            print(f"{model} is there already, and stays as it is", file=sys.stderr)
            continue
        trained(name).save(model)
        translator = regard.load(model, device="cpu")
        record = {"regard": regard.__version__, "lines": LINES, "said": outputs_of(translator)}
        outputs.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        scores = {one["name"]: one["value"] for one in translator.summary["scores"]}
        print(f"{model}: {model.stat().st_size:,} bytes, exact {scores['exact']}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
