"""Automatic settings of text: which tokenizer suits the lines of a side, and with which options."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from regard.config.toml import Tree
from regard.pipeline.corpus_profile import MAX_WORDS, CorpusProfile, SideProfile
from regard.pipeline.tag_profile import TagProfile

SUBWORDS = ("unigram", "bpe")

T = TypeVar("T")
Rules = Iterator[tuple[str, Any, str]]
"""Settings of a section by name, each with its value and the reason."""


def section_of(tree: Tree, name: str) -> Tree:
    """Return an explicit section; anything but a section is refused later, with all problems."""
    section = tree.get(name, {})
    return section if isinstance(section, dict) else {}


def text_rules(profile: CorpusProfile, tree: Tree) -> Rules:
    """Yield the settings of [text]."""
    kinds = {}
    shared = (
        tree["text"].get("shared_vocabulary")
        or section_of(tree, "model").get("tied_embeddings") == "all"
    )
    for name, side, other in (
        ("source", profile.source, profile.target),
        ("target", profile.target, profile.source),
    ):
        kind, reason = _choose_tokenizer(side, other)
        # a shared vocabulary needs one tokenizer: tags and marks may be on one side only
        tags = side.tags if name == "source" and other.mean_words <= 3 and not shared else None
        if tags is not None:
            where = {"last": "ends in", "first": "begins with"}[tags.position]
            kind, reason = "tagged", f"every line {where} some of {len(tags.tags):,} tags"
        if kind == "whitespace" and not shared:
            num_parts = side.num_phoneme_tokens
            if num_parts <= 0.9 * len(side.words):
                kind, reason = "phonemes", f"{reason}, {num_parts:,} without their marks"
        kinds[name] = tree["text"].get(name, kind)
        yield name, kind, reason
        if tags is not None and kinds[name] == "tagged":
            yield from _tag_rules(tags)
        if kinds[name] in SUBWORDS:
            size = by_num_pairs(profile, {5000: 1000, 20_000: 2000, 200_000: 4000}, 8000)
            reason = f"{profile.pairs:,} pairs suffice for about this many pieces"
            yield f"{name}_vocabulary_size", size, reason
    if profile.pairs >= 1000 and any(kind not in SUBWORDS for kind in kinds.values()):
        yield "min_count", 2, "tokens that occur once train the unknown token"
    if section_of(tree, "model").get("tied_embeddings") == "all":
        yield "shared_vocabulary", True, "model.tied_embeddings = all needs one vocabulary"
    common = profile.source.characters & profile.target.characters
    all_characters = profile.source.characters | profile.target.characters
    overlap = common.total() / all_characters.total()
    if kinds["source"] == kinds["target"] and kinds["source"] in SUBWORDS and overlap >= 0.5:
        yield "shared_vocabulary", True, f"the sides share {overlap:.0%} of their characters"


def _tag_rules(tags: TagProfile) -> Rules:
    """Yield where tags stand and how they are separated, unless it is as usual."""
    if tags.position == "first":
        yield "tag_position", "first", "the tags stand before the lemma"
    if tags.separators != ";":
        yield "tag_separators", tags.separators, "the signs that separate tags"


def by_num_pairs(profile: CorpusProfile, steps: Mapping[int, T], beyond: T) -> T:
    """Return the value of the first limit above the number of pairs."""
    return next((value for limit, value in steps.items() if profile.pairs < limit), beyond)


def _choose_tokenizer(side: SideProfile, other: SideProfile) -> tuple[str, str]:
    num_words = len(side.words)
    if side.share_with_spaces < 0.05:
        return "characters", f"{side.share_with_spaces:.0%} of the lines contain spaces"
    if side.mean_word_length <= 2.5 and len(side.words) <= 1000 and side.mean_words >= 2:
        return "whitespace", f"spaces separate {len(side.words):,} short tokens"
    is_short = side.mean_length <= 40 and side.mean_words < 4
    if is_short and other.share_with_spaces < 0.05:
        return "characters", f"the lines are short, {side.mean_length:.0f} characters on average"
    if side.mean_words < 3:
        return "characters", f"a line has {side.mean_words:.1f} words on average"
    if len(side.words) <= 300 or (len(side.words) <= 2000 and side.mean_word_count >= 10):
        return "words", f"there are {num_words:,} words, each {side.mean_word_count:.0f} times"
    more = "more than " * (num_words >= MAX_WORDS)
    num_words = min(num_words, MAX_WORDS)
    return "unigram", f"there are {more}{num_words:,} words, too many to learn one by one"
