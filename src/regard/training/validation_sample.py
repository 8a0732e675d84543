"""One line of a validation: source → output, safe for a terminal and cut to its width.

Widths are upper bounds: if terminals differ, the wider is assumed, and no line wraps.
"""

from collections.abc import Sequence

from rich.cells import get_character_cell_size

from regard.terminal_text import fit, isolate_right_to_left, visible_line
from regard.training.progress_report import ValidationSample

MAX_CHARACTERS = 4000
"""Maximum number of characters of a line: no screen has room for more."""

CONTEXT_CHARACTERS = 3
"""Characters that stay before the first difference."""

EMOJI_VARIATION = "\ufe0f"


def sample_line(sample: ValidationSample, width: int) -> str:
    """Return `source → output`, and the right target if the output is wrong."""
    is_wrong = sample.output != sample.target
    texts = [sample.source, sample.output, *([sample.target] if is_wrong else [])]
    texts = [visible_line(text[:MAX_CHARACTERS]) for text in texts]
    template = "{} → {} (right: {})" if is_wrong else "{} → {}"
    available = width - max_cells(template.replace("{}", ""))
    if is_wrong and sum(map(max_cells, texts)) > available:
        texts[1:] = _cut_common_start(texts[1], texts[2])
    widths = _allocate_widths([max_cells(text) for text in texts], available)
    cut_texts = (fit_cells(*pair) for pair in zip(texts, widths, strict=True))
    return template.format(*map(isolate_right_to_left, cut_texts))


def max_cells(text: str) -> int:
    """Return how many columns of a terminal a text takes at most."""
    return sum(map(_character_cells, text))


def fit_cells(text: str, width: int) -> str:
    """Cut a text to a width, with an ellipsis."""
    return fit(text, width, cells=max_cells)


def _cut_common_start(one: str, other: str) -> tuple[str, str]:
    """Cut the common start of two texts, except its last few letters."""
    pairs = enumerate(zip(one, other, strict=False))
    common = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, common - CONTEXT_CHARACTERS)
    while start and not _character_cells(one[start]):
        start -= 1
    return (one, other) if start < 2 else (f"…{one[start:]}", f"…{other[start:]}")


def _character_cells(character: str) -> int:
    # some terminals widen the character before it
    return 1 if character == EMOJI_VARIATION else get_character_cell_size(character)


def _allocate_widths(sizes: Sequence[int], width: int) -> list[int]:
    """Divide a width; a text that needs less than an even share leaves the rest to the others."""
    widths = list(sizes)
    shortest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
    for others, at in zip(range(len(sizes), 0, -1), shortest_first, strict=True):
        widths[at] = max(1, min(sizes[at], width // others))
        width -= widths[at]
    return widths
