"""The constraint of couplets: repeat where the source repeats, copy its marks and nothing else."""

import numpy as np
import pytest
import torch

from regard.plugins.repetition_pattern import RepetitionPattern
from regard.search import NEG_INF, SearchRequest, search
from regard.special_tokens import BOS, EOS, PAD
from regard.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from regard.translator import Translator
from search_options import wanted
from small_models import SOURCE, TARGET, saved, side

# id 9 is a mark
VOCABULARY = Vocabulary((*SPECIAL_TOKENS, *"klmno、qrstu"))


@pytest.mark.parametrize("name", ["bahdanau2015", "vaswani2017"])
@pytest.mark.parametrize(("beam_size", "temperature"), [(1, 0.0), (4, 0.0), (3, 1.0)])
def test_a_repetition_pattern_is_followed_without_copies(name, beam_size, temperature):
    sources = [(5, 9, 5, 7), (4, 4), (8, 5, 8, 8, 5), (6,)]
    patterns = [(-1, -1, 0, -1), (-1, 0), (-1, -1, 0, 0, 1), (-1,)]
    # where a source has 9, so has what is written, though it may stand nowhere else
    fixed = [{at: 9 for at, word in enumerate(source) if word == 9} for source in sources]
    excluded = [frozenset([*source, 9]) for source in sources]
    requests = [
        SearchRequest(source, source_tokens=tuple(VOCABULARY.decode(source))) for source in sources
    ]
    options = wanted(
        beam_size=beam_size,
        nbest=beam_size,
        temperature=temperature,
        constraint=RepetitionPattern(VOCABULARY),
    )
    built = saved(name).model
    outputs = search([built], requests, options)
    for source, pattern, marks, never, answers in zip(
        sources, patterns, fixed, excluded, outputs, strict=True
    ):
        assert answers
        for answer in answers:
            assert len(answer.token_ids) == len(source)
            free = [word for at, word in enumerate(answer.token_ids) if at not in marks]
            assert not set(free) & never
            assert all(answer.token_ids[at] == word for at, word in marks.items())
            for at, earlier in enumerate(pattern):
                same = [answer.token_ids.index(word) for word in answer.token_ids]
                assert same[at] == (at if earlier < 0 else earlier)


def test_an_unknown_token_would_be_copied_and_is_not_generated():
    request = SearchRequest((5, 5), source_tokens=("l", "l"))
    scores = torch.zeros(1, 1, len(VOCABULARY))
    RepetitionPattern(VOCABULARY).restrict(scores, [request], 0, np.zeros((1, 1, 0), dtype=int))
    # specials apart, what is left are letters, and not the source's own
    letters = (scores[0, 0] > NEG_INF).nonzero()[:, 0].tolist()
    assert [word for word in letters if word not in (PAD, BOS, EOS)] == [4, 6, 7, 8, *range(10, 15)]


def test_punctuation_of_a_pattern_keeps_its_position():
    sides = side(SOURCE + "、;"), side(TARGET + "、;")
    couplets = Translator(saved("bahdanau2015", sides=sides))
    for line in ("ab、cd", "a;、b、c", "abcdef"):
        translation = couplets.translate(
            line, constraint="repetition_pattern", beam_size=3, nbest=3
        )
        for answer in translation.alternatives:
            for token, letter in zip(answer.tokens, line, strict=True):
                assert (token == letter) == (letter in "、;")
                assert token in TARGET or token == letter


def test_a_prefix_overrides_punctuation_of_the_pattern():
    sides = side(SOURCE + "、"), side(TARGET + "、")
    couplets = Translator(saved("bahdanau2015", sides=sides))
    assert couplets.translate("a、b", constraint="repetition_pattern", prefix="kl").text.startswith(
        "kl"
    )


def test_a_repetition_pattern_is_followed_and_no_letter_is_copied():
    translator = Translator(saved("luong2015"))
    for line in ("abab", "aab", "abcabc", "a"):
        translation = translator.translate(
            line, constraint="repetition_pattern", beam_size=3, nbest=3
        )
        for answer in translation.alternatives:
            assert len(answer.tokens) == len(line)
            assert not set(answer.tokens) & set(line)
            assert not any(answer.unknown)
            assert [answer.tokens.index(x) for x in answer.tokens] == [line.index(x) for x in line]
