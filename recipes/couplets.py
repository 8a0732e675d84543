"""Reference-free scores of couplets, and how well attention follows the diagonal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recipes.preprocessing import read_lines

NUM_SAMPLES = 20


def repetition_pattern(line: Sequence[str]) -> tuple[int, ...]:
    """Return for each character the index of its first occurrence."""
    return tuple(map(line.index, line))


def copies_characters(first: str, second: str) -> bool:
    """Whether the second line repeats a character of the first; punctuation does not count."""
    return any(character.isalpha() and character in first for character in second)


def score_couplets(model: Path, dev: Path, device: str) -> dict[str, Any]:
    """Generate a second line for each first line of dev; return percentages and sample couplets."""
    from regard.translator import load

    pairs = [line.split("\t") for line in read_lines(dev)]
    first_lines = list(dict.fromkeys(first for first, _ in pairs))
    translations = load(model, device=device).translate(first_lines)
    second_lines = [translation.text for translation in translations]
    couplets = list(zip(first_lines, second_lines, strict=True))
    references = dict(reversed(pairs))
    characters = [
        (expected, output)
        for first, second in couplets
        for expected, output in zip(references[first], second, strict=False)
    ]
    percentages = {
        "right length": _percentage([len(first) == len(second) for first, second in couplets]),
        "same pattern of repetition": _percentage(
            [repetition_pattern(first) == repetition_pattern(second) for first, second in couplets]
        ),
        "no copied character": _percentage(
            [not copies_characters(first, second) for first, second in couplets]
        ),
        "character as in the reference": _percentage([a == b for a, b in characters]),
    }
    attentions = [
        translation.attention[:-1]
        for translation in translations
        if translation.attention is not None
    ]
    if attentions:
        diagonal = np.concatenate(
            [weights.argmax(axis=1) == np.arange(len(weights)) for weights in attentions]
        )
        percentages["largest weight on its own position"] = 100 * float(diagonal.mean())
    samples = [list(couplet) for couplet in couplets[:NUM_SAMPLES]]
    return {"couplets": percentages, "samples": samples}


def _percentage(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / len(hits)
