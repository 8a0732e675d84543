"""One side of a pair of lines, source or target: from a line to ids and back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

from regard.text import messages
from regard.text.letter_case import change_case, restore_case
from regard.text.normalization import normalize
from regard.text.tokenizers import Tokenizer, tokenizer_from_json
from regard.text.vocabulary import Vocabulary

KEYS = frozenset({"normalization", "tokenizer", "vocabulary"})


@final
@dataclass(frozen=True)
class TextProcessor:
    """Normalization, tokenizer and vocabulary of one side, and the case in which it is read."""

    normalization: str
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    case: str = "keep"

    def tokenize(self, line: str) -> list[str]:
        """Split a line into tokens, as the model reads them."""
        line = normalize(line, self.normalization)
        return self.tokenizer.tokenize(change_case(line, self.case, self.normalization))

    def original_case(self, tokens: Sequence[str], line: str) -> list[str]:
        """Return the tokens of a line in the case of the line, if they can be aligned with it."""
        if self.case == "keep":
            return list(tokens)
        return restore_case(tokens, normalize(line, self.normalization), self.case)

    def encode(self, line: str) -> list[int]:
        """Return the ids of the tokens of a line."""
        return self.vocabulary.encode(self.tokenize(line))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Join tokens to a line."""
        return self.tokenizer.detokenize(tokens)

    def to_json(self) -> dict[str, Any]:
        """Return what `TextProcessor.from_json` takes."""
        fields = {
            "normalization": self.normalization,
            "tokenizer": self.tokenizer.to_json(),
            "vocabulary": self.vocabulary.to_json(),
        }
        return fields if self.case == "keep" else fields | {"case": self.case}

    @classmethod
    def from_json(cls, value: Any) -> "TextProcessor":
        """Read back what `to_json` wrote; anything else is a ValueError or a RegardError."""
        if not isinstance(value, dict) or value.keys() - {"case"} != KEYS:
            raise ValueError(messages.NOT_A_SIDE)
        case = value.get("case", "keep")
        normalize("", value["normalization"])
        change_case("", case, value["normalization"])
        return cls(
            value["normalization"],
            tokenizer_from_json(value["tokenizer"]),
            Vocabulary.from_json(value["vocabulary"]),
            case,
        )
