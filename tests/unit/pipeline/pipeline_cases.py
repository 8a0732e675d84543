"""Pairs by hand, and the smallest run there is."""

import random

import regard
from regard.pipeline.corpus_profile import CorpusProfile

TINY = {"embedding_size": 5, "hidden_size": 7, "align_size": 5, "readout_size": 3}
QUICK = {
    "max_steps": 2,
    "validate_every": 2,
    "save_every": 1,
    "report_every": 1,
    "batch_tokens": 64,
    "beam_size": 2,
    "max_length": 6,
    "device": "cpu",
    "quiet": True,
}


def digits(count=40, seed=1):
    """Return strings of four digits and their reverses."""
    rng = random.Random(seed)
    lines = ["".join(rng.choices("0123456789", k=4)) for _ in range(count)]
    return [(line, line[::-1]) for line in lines]


def quick(pairs=None, **settings):
    """Train for two updates."""
    sizes = {} if {"preset", "model"} & settings.keys() else TINY
    return regard.train(digits() if pairs is None else pairs, **{**QUICK, **sizes, **settings})


def tsv(path, pairs):
    """Write pairs to a file."""
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path


def profile(pairs, normalization="NFC"):
    return CorpusProfile.of(pairs, normalization)
