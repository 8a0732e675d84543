"""What the pairs are: grapheme-to-phoneme conversion, inflection, translation and so on.

The task names the metrics of its field (`regard.metrics.tasks`) and decides what is held out
together. It is inferred from the profile of the pairs and their tokenizers.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from regard.config.toml import Tree
from regard.metrics.tasks import is_chinese
from regard.pipeline.corpus_profile import CorpusProfile, SideProfile

MIN_WORDS = 4
"""Mean number of words from which on lines are sentences."""

MIN_EQUAL_LENGTHS = 0.99
"""Share of pairs with two sides of equal length from which on outputs get the source's length."""


class Task(NamedTuple):
    """The task of some pairs, and what it was inferred from."""

    name: str
    reason: str
    sentences: bool
    """Whether the pairs are sentences, not words."""


def infer_task(profile: CorpusProfile, text: Tree) -> Task:
    """Infer the task of pairs from their profile and the settings of [text]."""
    kinds = text.get("source"), text.get("target")
    phones = kinds[1] in ("whitespace", "phonemes") and _is_latin(profile.target)
    if phones and kinds[0] in ("characters", "tagged") and profile.source.mean_words < MIN_WORDS:
        return Task("g2p", "the targets are phones of words", sentences=False)
    if kinds[0] == "tagged":
        return Task("inflection", "the sources are lemmas with tags", sentences=False)
    sentences = are_sentences(profile, kinds)
    similarity = profile.sample.similarity
    if similarity >= (0.6 if sentences else 0.5):
        reason = f"both sides share {similarity:.0%} of their characters, in order"
        return Task("normalization", reason, sentences)
    if sentences:
        return Task("translation", "the lines are sentences", sentences)
    if _shared_letters(profile) < 0.1:
        return Task("transliteration", "the sides have other letters", sentences)
    return Task("other", "the lines are short", sentences)


def are_sentences(profile: CorpusProfile, kinds: tuple[object, object]) -> bool:
    """Whether a side has lines of several words, or both sides are written in Chinese."""
    if all(_is_chinese(side) and side.mean_length >= MIN_WORDS for side in _sides(profile)):
        return True
    return any(
        side.mean_words >= MIN_WORDS and kind not in ("whitespace", "phonemes", "tagged")
        for side, kind in zip(_sides(profile), kinds, strict=True)
    )


def split_rules(profile: CorpusProfile, task: Task) -> Iterator[tuple[str, Any, str]]:
    """Yield what is held out together, unless it is each source by itself."""
    tags = profile.source.tags
    if profile.has_groups:
        yield "split_by", "group", "pairs of one group are held out together"
    elif tags is not None and len(tags.lemmas) > 1:
        yield "split_by", "lemma", "validation has lemmas of its own, as new words will be"
    elif task.sentences and profile.sample.share_of_near_duplicates < 0.5:
        reason = "sentences that differ in punctuation or digits stay together"
        yield "split_by", "near_duplicates", reason


def metric_rule(task: Task) -> tuple[str, str, str]:
    """Return the validation metric of a task: one that moves from the first updates on."""
    if task.name == "g2p":
        return "metric", "wer", "the share of wrong words, as the field reports it"
    if task.name == "translation":
        return "metric", "chrf", "it moves before whole words are right"
    if task.name in ("normalization", "transcription") and task.sentences:
        return "metric", "cer", "it moves before whole lines are right"
    return "metric", "accuracy", "the targets are short"


def same_length_rule(profile: CorpusProfile, text: Tree) -> Iterator[tuple[str, Any, str]]:
    """Yield `same_length` if both sides of nearly all pairs have as many tokens."""
    kinds = {text.get("source"), text.get("target")}
    counts = {
        "characters": profile.sample.equal_characters,
        "whitespace": profile.sample.equal_words,
    }
    if len(kinds) != 1 or (kind := kinds.pop()) not in counts:
        return
    lengths = profile.source.lengths if kind == "characters" else profile.source.word_lengths
    share = counts[kind] / profile.pairs
    # lines of one length say nothing about others
    if profile.pairs >= 100 and len(lengths) > 1 and share >= MIN_EQUAL_LENGTHS:
        yield "same_length", True, f"{share:.1%} of the pairs have two sides of equal length"


def _sides(profile: CorpusProfile) -> tuple[SideProfile, SideProfile]:
    return profile.source, profile.target


def _shared_letters(profile: CorpusProfile) -> float:
    """Return the share of letters that both sides have, in either case; 1 without letters."""
    counts: Counter[str] = Counter()
    alphabets = []
    for side in _sides(profile):
        letters = [x for x in side.characters if x.isalpha()]
        alphabets.append({x.casefold() for x in letters})
        for letter in letters:
            counts[letter.casefold()] += side.characters[letter]
    shared = sum(counts[letter] for letter in alphabets[0] & alphabets[1])
    return shared / counts.total() if all(alphabets) else 1.0


def _is_chinese(side: SideProfile) -> bool:
    letters = {x: count for x, count in side.characters.items() if x.isalpha()}
    chinese = sum(count for x, count in letters.items() if is_chinese(x))
    return 2 * chinese > sum(letters.values())


def _is_latin(side: SideProfile) -> bool:
    """Whether a side is written in Latin letters, as phonetic alphabets are."""
    letters = {x: count for x, count in side.characters.items() if x.isalpha()}
    latin = sum(
        count for x, count in letters.items() if "LATIN" in unicodedata.name(x, "").split(" ")
    )
    return 2 * latin > sum(letters.values())
