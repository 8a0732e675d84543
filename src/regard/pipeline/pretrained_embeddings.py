"""Word vectors that initialize the embeddings of both sides."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch

from regard.atomic_files import fingerprint
from regard.config.toml import Tree
from regard.errors import ConfigError
from regard.models import preset
from regard.models.seq2seq import Seq2Seq
from regard.pipeline import messages
from regard.text.text_processor import TextProcessor
from regard.text.word_vectors import WordVectors


@final
@dataclass(frozen=True)
class PretrainedEmbeddings:
    """Word vectors, and the fingerprint of their file."""

    vectors: WordVectors
    fingerprint: str

    @classmethod
    def load(cls, path: Path) -> "PretrainedEmbeddings":
        """Read a file of vectors."""
        return cls(WordVectors.load(path), fingerprint(path))

    def complete_settings(self, settings: Tree, preset_name: str | None) -> Tree:
        """Set the embedding size to that of the vectors, unless it is set already."""
        model = settings.get("model", {})
        if not isinstance(model, dict):
            return settings
        size_setting = _embedding_size_setting(
            preset_name or str(model.get("preset", "bahdanau2015"))
        )
        if size_setting is None:
            return settings
        return {**settings, "model": {size_setting: self.vectors.size, **model}}

    def initialize_weights(
        self, model: Seq2Seq, source: TextProcessor, target: TextProcessor
    ) -> str:
        """Copy the vectors of known tokens, scaled to a mean norm of 1; say how many there are."""
        row_of_word, numbers = self.vectors.row_of_word, self.vectors.numbers
        scale = 1 / max(1e-12, float(np.linalg.norm(numbers, axis=1).mean()))
        count_texts = []
        for name, side, embedding in (
            ("source", source, model.source_embedding),
            ("target", target, model.target_embedding),
        ):
            tokens = side.vocabulary.tokens
            id_row_pairs = [
                (i, row_of_word[token]) for i, token in enumerate(tokens) if token in row_of_word
            ]
            if embedding.weight.shape[1] != self.vectors.size:
                sizes = embedding.weight.shape[1], self.vectors.size
                raise ConfigError("model", [messages.other_embedding_size(name, *sizes)])
            if id_row_pairs:
                ids, vector_rows = (torch.tensor(part) for part in zip(*id_row_pairs, strict=True))
                scaled_vectors = torch.from_numpy(numbers[vector_rows.numpy()] * scale)
                with torch.no_grad():
                    embedding.weight[ids] = scaled_vectors.to(embedding.weight)
            count_texts.append(f"{len(id_row_pairs):,} of {len(tokens):,} {name} tokens")
        return f"{' and '.join(count_texts)} are initialized with vectors"


def _embedding_size_setting(name: str) -> str | None:
    """Return the name of a preset's argument for the embedding size."""
    arguments = inspect.signature(preset(name)).parameters
    return next((x for x in ("embedding_size", "model_size") if x in arguments), None)
