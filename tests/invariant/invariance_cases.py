"""Search the same lines alone and in batches, and count outputs that are not bitwise equal.

Run as a process of its own: the checks of shapes in the other tests would cost six times as much.
"""

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from regard.models import build, preset
from regard.search import SearchRequest, search
from regard.text.vocabulary import Vocabulary
from search_options import wanted

BATCH_SIZES = (1, 7, 33, 64)
# widths without a common factor: every kernel has a remainder
NARROW = {
    "bahdanau2015": {
        **{"embedding_size": 13, "hidden_size": 19, "align_size": 11, "readout_size": 7},
    },
    "vaswani2017": {
        **{"model_size": 22, "feed_forward_size": 17, "num_heads": 2, "num_layers": 2},
        **{"max_length": 256, "tied_embeddings": "none"},
    },
}
USUAL = {
    "bahdanau2015": {
        **{"embedding_size": 64, "hidden_size": 96, "align_size": 64, "readout_size": 64},
    },
    "vaswani2017": {
        **{"model_size": 64, "feed_forward_size": 128, "num_heads": 4, "num_layers": 2},
        **{"max_length": 256, "tied_embeddings": "none"},
    },
}
NARROW["copies"], USUAL["copies"] = NARROW["bahdanau2015"], USUAL["bahdanau2015"]
PRESET = {"copies": "bahdanau2015"}
NARROW_VOCABULARY_SIZE = 11
"""Vocabulary size of the narrow models: with so few tokens some lines end before others."""


def generate_lines(count):
    """Return lines of 1 to 60 tokens."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 61, count)
    return [
        tuple(map(int, rng.integers(4, NARROW_VOCABULARY_SIZE, length))) for length in lengths
    ], NARROW_VOCABULARY_SIZE


def read_lines(folder, count):
    """Return lines from all over a file, as characters, none longer than 200."""
    path = Path(folder) / "tatoeba" / "eng-fra" / "train.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.split("\t")[0][:200] for line in file]
    lines = lines[:: len(lines) // count][:count]
    vocabulary = Vocabulary.build(lines)
    return [tuple(vocabulary.encode(line)) for line in lines], len(vocabulary)


def random_model(name, sizes, vocabulary_size):
    """Build a model with random weights so large that its outputs depend on the source."""
    torch.manual_seed(2)
    config = preset(PRESET.get(name, name))(**sizes)
    if name == "copies":
        config = replace(config, readout=replace(config.readout, pointer_generator=True))
    built = build(config, vocabulary_size, vocabulary_size).eval()
    if name == "copies":
        # EOS can be copied too: some lines end before others
        built.readout.pointer.target_ids[4:] = torch.arange(3, vocabulary_size - 1)
    for parameter in built.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.2 if name == "vaswani2017" else 0.7)
    return built


def bits(answers):
    """Return all that must be equal: tokens, scores and weights of every hypothesis."""
    return [
        (
            answer.token_ids,
            np.array(answer.scores).tobytes(),
            answer.weights.tobytes(),
            answer.truncated,
        )
        for answer in answers
    ]


def compare(model, lines, beam_size):
    """Search at every batch size, shuffled; return how many lines differ from the line alone."""
    requests, rng = [SearchRequest(line) for line in lines], np.random.default_rng(1)
    alone, counts, lengths = {}, {"lines": len(lines), "compared": 0, "different": 0}, Counter()
    for batch_size in BATCH_SIZES:
        order = rng.permutation(len(requests))
        options = wanted(beam_size=beam_size, nbest=beam_size, max_length=10, batch_size=batch_size)
        found = search([model], [requests[i] for i in order], options)
        for i, answers in zip(order.tolist(), found, strict=True):
            if batch_size == 1:
                alone[i] = bits(answers)
                lengths[len(answers[0].token_ids)] += 1
            else:
                counts["compared"] += 1
                counts["different"] += bits(answers) != alone[i]
    distinct = len({one[0][0] for one in alone.values()})
    return {**counts, "outputs": distinct, "lengths": len(lengths)}


def compare_in_new_process(which, name, beam_size):
    """Compare in a process of its own; `which` is `generated`, or a folder of data."""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests.parent / 'src'}:{tests}"}
    command = [sys.executable, __file__, str(which), name, str(beam_size)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


if __name__ == "__main__":
    torch.set_num_threads(1)
    which, name, beam_size = sys.argv[1:]
    generated = which == "generated"
    lines, vocabulary_size = generate_lines(300) if generated else read_lines(which, 5000)
    model = random_model(name, (NARROW if generated else USUAL)[name], vocabulary_size)
    print(json.dumps(compare(model, lines, int(beam_size))))
