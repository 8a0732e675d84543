"""Replaces unknown tokens of an output."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from regard.choices import UnknownMode, names_of
from regard.errors import ConfigError, InputError
from regard.special_tokens import UNKNOWN
from regard.text import messages
from regard.text.vocabulary import SPECIAL_TOKENS

MARK = "�"


class WeightRows(Protocol):
    """Rows of numbers: an array, a tensor, a list of lists."""

    def __len__(self) -> int:
        """Count the rows."""

    def __getitem__(self, row: int, /) -> Any:
        """Return a row."""


def replace_unknown(
    tokens: Sequence[str],
    source_tokens: Sequence[str],
    weights: WeightRows | None,
    mode: UnknownMode,
    unknown: Sequence[bool] | None = None,
    banned: Collection[str] = (),
) -> list[str]:
    """Return the tokens with each unknown one replaced.

    `copy` inserts the source token with the largest weight in that row (the first of equals),
    `mark` a �. Weights are [T,S], or [T+1,S] with a row for EOS. Without weights or a source, or if
    the source token is banned, `copy` inserts a � too. `unknown` says which tokens are unknown;
    without it, those spelled `<unk>`, which a text may also contain as an ordinary token.
    """
    if mode not in names_of(UnknownMode):
        problem = messages.wrong_choice("unknown", repr(mode), names_of(UnknownMode))
        raise ConfigError("search", [problem])
    if unknown is None:
        unknown = [token == SPECIAL_TOKENS[UNKNOWN] for token in tokens]
    if mode == "mark" or weights is None or not source_tokens:
        return [
            MARK if is_unknown else token for token, is_unknown in zip(tokens, unknown, strict=True)
        ]
    _check(len(tokens), len(source_tokens), weights)
    replaced = [
        source_tokens[_largest(weights[t])] if is_unknown else token
        for t, (token, is_unknown) in enumerate(zip(tokens, unknown, strict=True))
    ]
    return [
        MARK if is_unknown and token in banned else token
        for token, is_unknown in zip(replaced, unknown, strict=True)
    ]


def _check(num_tokens: int, num_source: int, weights: WeightRows) -> None:
    """Refuse weights of another line."""
    widths = {len(weights[t]) for t in range(len(weights))}
    if len(weights) not in (num_tokens, num_tokens + 1) or widths - {num_source}:
        shape = [len(weights), *sorted(widths)]
        raise InputError(messages.wrong_weights_shape(shape, num_tokens, num_source))


def _largest(row: Sequence[float]) -> int:
    """Return the index of the largest number, the first of equals."""
    return max(range(len(row)), key=lambda s: row[s])
