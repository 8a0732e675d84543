"""A family of Chinese–English sentences from which attention can learn which word is whose.

Every sentence is put together from the tables below; a few hundred are trained on, and
我爱吃苹果 is not among them. Data and settings alone: training is `api`'s part, printing the
command line's.
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

WHO = {"我": "i", "你": "you", "他": "he", "她": "she", "我们": "we", "他们": "they"}
SINGULAR = ("he", "she")
LIKES = {"爱吃": "love", "想吃": "want", "喜欢": "like", "讨厌": "hate"}
LOOKS = {"": "", "红": "red", "大": "big", "小": "small"}
WHAT = {
    "苹果": "apples",
    "香蕉": "bananas",
    "葡萄": "grapes",
    "西瓜": "melons",
    "桃子": "peaches",
    "橙子": "oranges",
}
WHEN = {"": "", "今天": "today", "现在": "now"}
NOT = "不"
ASKED = ("我爱吃苹果", "i love apples")
TRAINED = 256

WHY = (
    "No sentence tells which character is whose, but each word comes in many sentences, and looking "
    "at its own characters is what serves in all of them. "
    "So 我爱吃苹果 is translated though it was never trained on, and the weights show an alignment."
)


class Sentence(NamedTuple):
    """A pair, and for each English word the places of its own characters.

    `do` and `does` have none of their own: what they say is spread over 不 and the pronoun.
    """

    source: str
    target: str
    own: tuple[tuple[int, ...], ...]


class _Piece(NamedTuple):
    chinese: str
    english: str


def family() -> list[Sentence]:
    """Return every sentence that the tables make."""
    # where the time stands: in front of everything, or behind the pronoun (in English at the end)
    times = [(_Piece("", ""), True), *product(_pieces(WHEN)[1:], (True, False))]
    parts = product(_pieces(WHO), _pieces(LIKES), _pieces(LOOKS), _pieces(WHAT), (False, True))
    return [_sentence(*part, *time) for part, time in product(parts, times)]


def pairs() -> list[tuple[str, str]]:
    """Return what is trained on."""
    return [sentence[:2] for sentence in _drawn()[:TRAINED]]


def unseen() -> list[Sentence]:
    """Return every sentence that is not trained on, 我爱吃苹果 first."""
    return [*(s for s in family() if s[:2] == ASKED), *_drawn()[TRAINED:]]


def shown() -> list[tuple[str, str]]:
    """Return what is asked afterwards, with what should come out."""
    return [ASKED]


def content() -> dict[str, str]:
    """Return every English word that has Chinese characters of its own, with those characters."""
    words = {
        english: chinese
        for table in (WHO, LIKES, LOOKS, WHAT, WHEN)
        for chinese, english in table.items()
        if chinese
    }
    return words | {f"{like}s": chinese for chinese, like in LIKES.items()} | {"not": NOT}


def settings(seed: int = 1) -> Settings:
    """Return a model of Luong's whose weights fall on single words, without input feeding.

    There is one validation, at the end: the last weights are the ones kept.
    """
    max_steps = 300
    return Settings(
        data=DataConfig(dev_share=0.0),
        text=TextConfig(source="characters", target="words"),
        model=ModelConfig(
            source=EmbeddingConfig(size=32),
            target=EmbeddingConfig(size=32),
            encoder=RecurrentEncoderConfig(cell="gru_after", hidden_size=32, bidirectional=True),
            summary="last",
            decoder=LuongDecoderConfig(
                cell="gru_after",
                hidden_size=64,
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


def _drawn() -> list[Sentence]:
    """Return the family without 我爱吃苹果, in an order that is as good as random, and fixed."""
    sentences = [sentence for sentence in family() if sentence[:2] != ASKED]
    return sorted(sentences, key=lambda sentence: sha256(sentence.source.encode()).digest())


def _pieces(table: dict[str, str]) -> list[_Piece]:
    return [_Piece(*entry) for entry in table.items()]


def _sentence(
    who: _Piece,
    likes: _Piece,
    looks: _Piece,
    what: _Piece,
    negated: bool,
    when: _Piece,
    early: bool,
) -> Sentence:
    """Put a sentence together: the same pieces in the order of each language."""
    no = _Piece(NOT, "not") if negated else _Piece("", "")
    singular = who.english in SINGULAR
    verb = _Piece(likes.chinese, f"{likes.english}s" if singular and not negated else likes.english)
    helper = _Piece("", ("does" if singular else "do") if negated else "")
    first, second = (when, _Piece("", "")) if early else (_Piece("", ""), when)
    chinese = [first, who, second, no, verb, looks, what]
    english = [first, who, helper, no, verb, looks, what, second]
    places: dict[str, tuple[int, ...]] = {"": ()}
    source = ""
    for piece in chinese:
        end = len(source) + len(piece.chinese)
        places[piece.chinese] = tuple(range(len(source), end))
        source += piece.chinese
    words = [piece for piece in english if piece.english]
    target = " ".join(piece.english for piece in words)
    return Sentence(source, target, tuple(places[piece.chinese] for piece in words))
