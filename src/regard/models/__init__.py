"""Models: joined from their parts, built from a config, and wired as in the papers."""

from regard.models.build import build
from regard.models.presets import PRESETS, paper_sizes, preset
from regard.models.seq2seq import Seq2Seq

__all__ = ["PRESETS", "Seq2Seq", "build", "paper_sizes", "preset"]
