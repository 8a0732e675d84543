"""Characters of validation or test pairs that training has only in another case, width or form."""

from collections import Counter, defaultdict

from regard.config.settings import DataConfig
from regard.pipeline import messages
from regard.pipeline.corpus_profile import CorpusProfile, SideProfile
from regard.text.letter_case import change_case
from regard.text.normalization import normalize
from regard.text.unknown_tokens import Difference, similar_text

MAX_EXAMPLES = 5


def spelling_differences(
    train: CorpusProfile, other: CorpusProfile, name: str, data: DataConfig
) -> list[str]:
    """Return a warning for each side and difference; `name` is that of the other pairs."""
    warnings = []
    for side in ("source", "target"):
        is_source = side == "source"
        sides = getattr(train, side), getattr(other, side)
        counts = _count_differences(*sides, data.source_case if is_source else "keep")
        for (difference, remedy), characters in sorted(counts.items()):
            # only sources are brought to one case
            remedy = "" if "case" in remedy and not is_source else remedy
            examples = [character for character, _ in characters.most_common(MAX_EXAMPLES)]
            count = characters.total()
            warnings.append(
                messages.spelling_difference(name, side, difference, examples, count, remedy)
            )
    return warnings


def _count_differences(
    train: SideProfile, other: SideProfile, case: str
) -> dict[tuple[Difference, str], Counter[str]]:
    """Count the characters that training lacks, by difference and by the settings that fold it."""
    known = set(change_case("".join(train.characters), case, "none"))
    counts: dict[tuple[Difference, str], Counter[str]] = defaultdict(Counter)
    for character, count in other.characters.items():
        text = change_case(character, case, "none")
        if known.issuperset(text):
            continue
        similar, difference = similar_text(text, known.issuperset)
        if similar is not None and difference is not None:
            counts[difference, _remedy(text, similar)][character] += count
    return counts


def _remedy(text: str, similar: str) -> str:
    """Return the settings that make two spellings alike."""
    for form in ("NFC", "NFKC"):
        if normalize(text, form) == normalize(similar, form):
            return f"data.normalization = {form}"
    if normalize(text, "NFKC") == text:
        return "data.source_case = lower"
    return "data.normalization = NFKC and data.source_case = lower"
