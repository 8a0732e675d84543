"""Generated Chinese–English sentences from which attention can learn word alignments.

Sentences are combined from the tables below; a few hundred are training pairs, and 我爱吃苹果 is
held out. The module holds data and settings; `regard.cli.demo` trains and prints.
"""

from hashlib import sha256
from itertools import product
from typing import NamedTuple

from regard.config.model import (
    AttentionConfig,
    EmbeddingConfig,
    LuongDecoderConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
)
from regard.config.settings import DataConfig, SearchConfig, Settings, TextConfig, TrainConfig

SUBJECTS = {"我": "i", "你": "you", "他": "he", "她": "she", "我们": "we", "他们": "they"}
SINGULAR = ("he", "she")
VERBS = {"爱吃": "love", "想吃": "want", "喜欢": "like", "讨厌": "hate"}
ADJECTIVES = {"红": "red", "大": "big", "小": "small"}
OBJECTS = {
    "苹果": "apples",
    "香蕉": "bananas",
    "葡萄": "grapes",
    "西瓜": "melons",
    "桃子": "peaches",
    "橙子": "oranges",
}
TIMES = {"今天": "today", "现在": "now"}
NEGATION = "不"
EXAMPLE = ("我爱吃苹果", "i love apples")
NUM_TRAINED = 384

WHY = (
    "No pair says which characters belong to which word, but each word is in many sentences, and "
    "only attention to its own characters is right in all of them. "
    "The decoder starts from a zero state and sees the source only through attention, so its "
    "weights are an alignment. "
    "我爱吃苹果 is not a training sentence; its words are in others."
)


class Sentence(NamedTuple):
    """A pair, and for each English word the positions of its own characters.

    `do` and `does` have none: their meaning is spread over 不 and the pronoun.
    """

    source: str
    target: str
    own: tuple[tuple[int, ...], ...]


class _Piece(NamedTuple):
    """A word in both languages; an empty string if a language has none."""

    chinese: str = ""
    english: str = ""


def family() -> list[Sentence]:
    """Return every sentence of the tables."""
    adverbs = _pieces(TIMES)
    # a time comes first, or after the pronoun; in English the latter is at the end
    times = [
        (_Piece(), _Piece()),
        *((t, _Piece()) for t in adverbs),
        *((_Piece(), t) for t in adverbs),
    ]
    adjectives = [_Piece(), *_pieces(ADJECTIVES)]
    negations = [_Piece(), _Piece(NEGATION, "not")]
    tables = (_pieces(SUBJECTS), _pieces(VERBS), adjectives, _pieces(OBJECTS), negations, times)
    return [_sentence(*parts) for parts in product(*tables)]


def pairs() -> list[tuple[str, str]]:
    """Return the training pairs."""
    return [sentence[:2] for sentence in _shuffled()[:NUM_TRAINED]]


def unseen() -> list[Sentence]:
    """Return every held-out sentence, 我爱吃苹果 first."""
    return [*(s for s in family() if s[:2] == EXAMPLE), *_shuffled()[NUM_TRAINED:]]


def word_characters() -> dict[str, str]:
    """Return, for each English word that has its own Chinese characters, these characters."""
    words = {
        english: chinese
        for table in (SUBJECTS, VERBS, ADJECTIVES, OBJECTS, TIMES)
        for chinese, english in table.items()
    }
    return words | {f"{like}s": chinese for chinese, like in VERBS.items()} | {"not": NEGATION}


def settings(seed: int = 1) -> Settings:
    """Return Luong's model: a bidirectional encoder, a zero initial state, no input feeding.

    Any other path from the source to the decoder would blur the alignment: with a summary of the
    source, the decoder needs no attention. The only validation is at the end, so the last weights
    are saved.
    """
    max_steps = 300
    return Settings(
        data=DataConfig(dev_fraction=0.0),
        text=TextConfig(source="characters", target="words"),
        model=ModelConfig(
            source=EmbeddingConfig(size=32, dropout=0.2),
            target=EmbeddingConfig(size=32, dropout=0.2),
            encoder=RecurrentEncoderConfig(cell="gru_after", hidden_size=32, bidirectional=True),
            decoder=LuongDecoderConfig(
                cell="gru_after",
                hidden_size=64,
                initial_state="zero",
                attention=AttentionConfig(score="bilinear"),
                input_feeding=False,
            ),
            readout=ReadoutConfig(dropout=0.2),
        ),
        train=TrainConfig(
            seed=seed,
            batch_tokens=512,
            learning_rate=0.003,
            max_steps=max_steps,
            validate_every=max_steps,
            save_every=max_steps,
            patience=0,
        ),
        search=SearchConfig(max_length=16),
    )


def _shuffled() -> list[Sentence]:
    """Return the family without 我爱吃苹果, in a fixed pseudo-random order."""
    sentences = [sentence for sentence in family() if sentence[:2] != EXAMPLE]
    return sorted(sentences, key=lambda sentence: sha256(sentence.source.encode()).digest())


def _pieces(table: dict[str, str]) -> list[_Piece]:
    return [_Piece(*entry) for entry in table.items()]


def _sentence(
    subject: _Piece,
    verb_stem: _Piece,
    adjective: _Piece,
    object_: _Piece,
    negation: _Piece,
    time: tuple[_Piece, _Piece],
) -> Sentence:
    """Build a sentence: the same pieces in the order of each language."""
    first, second = time
    singular = subject.english in SINGULAR
    verb, helper = verb_stem, _Piece()
    if negation.english:
        helper = _Piece("", "does" if singular else "do")
    elif singular:
        verb = _Piece(verb_stem.chinese, f"{verb_stem.english}s")
    places: dict[str, tuple[int, ...]] = {}
    source = ""
    for piece in (first, subject, second, negation, verb, adjective, object_):
        end = len(source) + len(piece.chinese)
        places[piece.chinese] = tuple(range(len(source), end))
        source += piece.chinese
    # absent pieces, and the auxiliary verb, which Chinese does not have
    places[""] = ()
    english = [
        p for p in (first, subject, helper, negation, verb, adjective, object_, second) if p.english
    ]
    target = " ".join(piece.english for piece in english)
    return Sentence(source, target, tuple(places[piece.chinese] for piece in english))
