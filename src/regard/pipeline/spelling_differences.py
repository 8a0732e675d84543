"""Characters of validation or test pairs that training has only in another case, width or form."""

from collections import Counter, defaultdict
from typing import get_args

from regard.config.settings import DataConfig
from regard.pipeline import messages
from regard.pipeline.corpus_profile import CorpusProfile, SideProfile
from regard.text.letter_case import change_case
from regard.text.unknown_tokens import Difference, similar_text

MAX_EXAMPLES = 5


def spelling_differences(
    train: CorpusProfile, other: CorpusProfile, name: str, data: DataConfig
) -> list[str]:
    """Return a warning for each side and difference; `name` is that of the other pairs."""
    warnings = []
    for side in ("source", "target"):
        case = data.source_case if side == "source" else "keep"
        counts = _count_differences(getattr(train, side), getattr(other, side), case)
        for difference in get_args(Difference):
            if characters := counts[difference]:
                ranked = [character for character, _ in characters.most_common(MAX_EXAMPLES)]
                warnings.append(
                    messages.spelling_difference(
                        name, side, difference, ranked, characters.total(), data.normalization
                    )
                )
    return warnings


def _count_differences(
    train: SideProfile, other: SideProfile, case: str
) -> dict[Difference, Counter[str]]:
    known = set(change_case("".join(train.characters), case, "none"))
    counts: dict[Difference, Counter[str]] = defaultdict(Counter)
    for character, count in other.characters.items():
        text = change_case(character, case, "none")
        if known.issuperset(text):
            continue
        _, difference = similar_text(text, known.issuperset)
        if difference is not None:
            counts[difference][character] += count
    return counts
