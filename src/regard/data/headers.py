"""Recognizes the line with the names of the columns. A real pair must not be taken for it."""

import re
from collections.abc import Sequence

_SOURCE_NAMES = """
source src input lemma lemmas word words wordform orthography ortho orth spelling grapheme graphemes
written text sentence headword entry name original historical old from question lexeme
wort quelle mot lemme palabra lema fuente слово лемма исходное 词 單詞 单词 原文 源 שם מקור
"""
_TARGET_NAMES = """
target tgt trg output form forms inflection inflected inflected_form ipa pronunciation pron
transcription transcript phonemes phones phoneme phonetic phon translation translated modern
normalized normalised normalization transliteration to answer reference
aussprache übersetzung ziel prononciation traduction forme cible
pronunciación traducción forma
произношение перевод форма 译文 翻译 目标 发音 拼音 תרגום תעתיק יעד
"""
_OTHER_NAMES = """
id no nr number index # line row key split tag tags msd feats features feature pos upos xpos morph
gloss comment comments note notes lang language dialect frequency freq count date speaker
stem root
"""
_LANGUAGES = """
english german french spanish italian portuguese dutch russian polish czech slovene slovenian
slovak croatian serbian finnish estonian hungarian turkish greek hebrew arabic persian hindi
chinese mandarin cantonese japanese korean vietnamese thai latin welsh irish icelandic swedish
danish norwegian ukrainian bulgarian romanian catalan basque
"""
SOURCE_NAMES, TARGET_NAMES, OTHER_NAMES, LANGUAGES = (
    frozenset(names.split()) for names in (_SOURCE_NAMES, _TARGET_NAMES, _OTHER_NAMES, _LANGUAGES)
)
_ALL = SOURCE_NAMES | TARGET_NAMES | OTHER_NAMES | LANGUAGES


def _plain(cell: str) -> str:
    """Return a name in lower case, without a number, language or unit behind it."""
    name = cell.strip().strip("\"'*:").casefold()
    name = re.sub(r"\s*[(\[].*[)\]]$", "", name)
    return re.sub(r"[\s_-]*\d+$", "", name).strip() or name


def is_name(cell: str) -> bool:
    """Whether a cell is the name of a column, such as lemma, Form or source_text."""
    parts = _parts(cell)
    return 0 < len(parts) <= 3 and all(part in _ALL for part in parts)


def _parts(cell: str) -> list[str]:
    name = _plain(cell)
    return [name] if name in _ALL else [part for part in re.split(r"[\s_./-]+", name) if part]


def is_header(cells: Sequence[str]) -> bool:
    """Whether a row holds names, none of them twice: a source's and a target's, or most of many."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if len(filled) < 2 or len(set(filled)) < len(filled):
        return False
    if len(filled) > 2:
        return 3 * sum(map(is_name, filled)) >= 2 * len(filled)
    # word and Wort are both names, but also a pair of a dictionary
    first, second = (set(_parts(cell)) for cell in filled)
    return all(map(is_name, filled)) and any(
        first & one and second & other
        for one, other in (
            (SOURCE_NAMES, TARGET_NAMES),
            (TARGET_NAMES, SOURCE_NAMES),
            (LANGUAGES, LANGUAGES | SOURCE_NAMES | TARGET_NAMES),
            (SOURCE_NAMES | TARGET_NAMES, LANGUAGES),
        )
    )


def guess_columns(names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the columns that names suggest for source and target, from 1; [] if unclear."""
    plain = [_plain(name) for name in names]
    if "source" in plain and "target" in plain:
        return [plain.index("source") + 1], [plain.index("target") + 1]
    targets = [n for n, name in enumerate(plain, 1) if name in TARGET_NAMES]
    tags = {"tags", "tag", "msd", "feats", "features", "morph"}
    sources = [n for n, name in enumerate(plain, 1) if name in SOURCE_NAMES | tags]
    return (sources, targets) if sources and len(targets) == 1 else ([], [])
