"""The request of a search for one line."""

from dataclasses import dataclass, field

from regard.errors import InputError
from regard.search import messages


@dataclass(frozen=True)
class SearchRequest:
    """One line: its source, a prefix of its target, and pins, {step: source position}.

    `source_tokens` are for constraints that read the text of the source.
    """

    source: tuple[int, ...]
    prefix: tuple[int, ...] = ()
    pins: dict[int, int] = field(default_factory=dict)
    source_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for step, position in self.pins.items():
            if step < 0 or not 0 <= position < len(self.source):
                raise InputError(messages.invalid_pin(step, position, len(self.source)))
