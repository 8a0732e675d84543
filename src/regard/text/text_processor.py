"""One side of a pair of lines, source or target: from a line to ids and back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from regard.text import messages
from regard.text.normalization import normalize
from regard.text.tokenizers import Tokenizer, tokenizer_from_json
from regard.text.vocabulary import Vocabulary


@final
@dataclass(frozen=True)
class TextProcessor:
    """Normalization, tokenizer and vocabulary of one side."""

    normalization: str
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def tokenize(self, line: str) -> list[str]:
        """Split a line into tokens."""
        return self.tokenizer.tokenize(normalize(line, self.normalization))

    def encode(self, line: str) -> list[int]:
        """Return the ids of the tokens of a line."""
        return self.vocabulary.encode(self.tokenize(line))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Join tokens to a line."""
        return self.tokenizer.detokenize(tokens)

    def to_json(self) -> dict[str, Any]:
        """Return what `TextProcessor.from_json` takes."""
        return {
            "normalization": self.normalization,
            "tokenizer": self.tokenizer.to_json(),
            "vocabulary": self.vocabulary.to_json(),
        }

    @classmethod
    def from_json(cls, value: Any) -> "TextProcessor":
        """Read back what `to_json` wrote; anything else is a ValueError or a RegardError."""
        if not isinstance(value, dict) or value.keys() != {
            "normalization",
            "tokenizer",
            "vocabulary",
        }:
            raise ValueError(messages.NOT_A_SIDE)
        normalize("", value["normalization"])
        return cls(
            value["normalization"],
            tokenizer_from_json(value["tokenizer"]),
            Vocabulary.from_json(value["vocabulary"]),
        )
