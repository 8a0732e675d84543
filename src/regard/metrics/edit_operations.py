"""Edit operations: how an output differs from its reference, unit by unit."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from regard.terminal_text import visible_token

Unit = Literal["character", "word"]


class EditOperation(NamedTuple):
    """One difference at a position of the reference, from 0.

    `expected` is empty for an insertion, `output` for a deletion; both are written ∅. An insertion
    stands before the unit at its position.
    """

    position: int
    expected: str
    output: str

    def __str__(self) -> str:
        return f"{self.position + 1}:{visible_token(self.expected)}→{visible_token(self.output)}"


def split_units(line: str, unit: Unit) -> list[str]:
    """Return the characters of a line, or its words, which are separated by white space."""
    return list(line) if unit == "character" else line.split()


def edit_operations(reference: Sequence[str], output: Sequence[str]) -> tuple[EditOperation, ...]:
    """Return the fewest operations that turn a reference into an output, from left to right."""
    from rapidfuzz.distance import Levenshtein

    return tuple(
        EditOperation(
            op.src_pos,
            "" if op.tag == "insert" else reference[op.src_pos],
            "" if op.tag == "delete" else output[op.dest_pos],
        )
        for op in Levenshtein.editops(reference, output)
    )


def best_reference(
    references: Sequence[str], output: str, unit: Unit
) -> tuple[str, tuple[EditOperation, ...]]:
    """Return the reference with the fewest edits, among equals the longest, and the operations."""
    units = split_units(output, unit)
    candidates = [
        (text, edit_operations(parts, units), len(parts))
        for text in references
        for parts in [split_units(text, unit)]
    ]
    text, operations, _ = min(candidates, key=lambda one: (len(one[1]), -one[2]))
    return text, operations
