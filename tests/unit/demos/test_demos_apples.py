"""The demo of generated sentences: what is kept from training, and where its words look."""

import pytest
from demo_job import texts, trained

from regard.demos import apples

ASKED = ("我爱吃苹果", "i love apples")
# by hand, one for each turn that a sentence can take
BY_HAND = {
    "我爱吃苹果": ("i love apples", ["我", "爱吃", "苹果"]),
    "他讨厌西瓜": ("he hates melons", ["他", "讨厌", "西瓜"]),
    "她不想吃香蕉": ("she does not want bananas", ["她", "", "不", "想吃", "香蕉"]),
    "今天我们喜欢红桃子": (
        "today we like red peaches",
        ["今天", "我们", "喜欢", "红", "桃子"],
    ),
    "他们现在不爱吃大橙子": (
        "they do not love big oranges now",
        ["他们", "", "不", "爱吃", "大", "橙子", "现在"],
    ),
    "你今天想吃小葡萄": (
        "you want small grapes today",
        ["你", "想吃", "小", "葡萄", "今天"],
    ),
}


def test_sentences_are_correct_and_aligned_to_their_characters():
    family = {sentence.source: sentence for sentence in apples.family()}
    for source, (target, owners) in BY_HAND.items():
        assert family[source].target == target
        own = ["".join(source[place] for place in places) for places in family[source].own]
        assert own == owners


def test_the_sentences_are_many_of_several_lengths_and_unique():
    family = apples.family()
    # pronouns × verbs × looks or none × fruits × negated or not × times, at two places, or none
    assert len(family) == 6 * 4 * 4 * 6 * 2 * 5
    assert len({sentence.source for sentence in family}) == len(family)
    assert {len(sentence.source) for sentence in family} == set(range(5, 11))
    assert {len(sentence.target.split()) for sentence in family} == set(range(3, 8))


def test_the_question_never_occurs_in_training():
    pairs = apples.pairs()
    assert len(pairs) >= 128
    assert len(set(pairs)) == len(pairs)
    assert ASKED not in pairs
    assert ASKED[0] not in {source for source, _ in pairs}
    assert ASKED[1] not in {target for _, target in pairs}


def test_every_sentence_is_either_trained_on_or_unseen():
    unseen = apples.unseen()
    assert unseen[0][:2] == ASKED
    assert len(unseen) + len(apples.pairs()) == len(apples.family())
    trained_on = {source for source, _ in apples.pairs()}
    assert not trained_on & {sentence.source for sentence in unseen}


def test_every_word_and_character_is_trained_on():
    seen = [{*source, *target.split()} for source, target in apples.pairs()]
    whole = [{*sentence.source, *sentence.target.split()} for sentence in apples.family()]
    assert set.union(*seen) == set.union(*whole)


def test_every_english_word_but_do_and_does_is_a_content_word():
    content = apples.word_characters()
    words = {word for sentence in apples.family() for word in sentence.target.split()}
    assert words - content.keys() == {"do", "does"}
    assert content.keys() <= words
    for sentence in apples.family():
        for word, places in zip(sentence.target.split(), sentence.own, strict=True):
            assert "".join(sentence.source[place] for place in places) == content.get(word, "")


def measured(demo, sentences):
    """Return how many are translated exactly, and how many content words look at their own.

    A content word that is not written at its place counts as one that looks elsewhere.
    """
    right = hits = total = 0
    answers = demo.translate([sentence.source for sentence in sentences])
    for answer, sentence in zip(answers, sentences, strict=True):
        right += answer.text == sentence.target
        for row, (word, places) in enumerate(
            zip(sentence.target.split(), sentence.own, strict=True)
        ):
            if places:
                there = answer.tokens[row : row + 1] == (word,)
                hits += there and int(answer.attention[row].argmax()) in places
                total += 1
    return right, hits, total


def learn(seed):
    return trained(apples.pairs(), apples.settings(seed))


def test_apples_are_loved_with_the_default_seed():
    assert apples.settings() == apples.settings(1)
    demo = learn(1)
    assert texts(demo, [ASKED[0]]) == [ASKED[1]]
    right, hits, total = measured(demo, apples.unseen()[:200])
    assert right >= 0.95 * 200
    assert hits >= 0.9 * total


@pytest.mark.slow
def test_apples_with_ten_seeds(record_property):
    unseen = apples.unseen()
    asked, translated, aligned = 0, [], []
    for seed in range(1, 11):
        demo = learn(seed)
        asked += texts(demo, [ASKED[0]]) == [ASKED[1]]
        right, hits, total = measured(demo, unseen)
        translated.append(right / len(unseen))
        aligned.append(hits / total)
    record_property("sentences never seen", len(unseen))
    record_property("我爱吃苹果", f"{asked} of 10")
    for name, shares in (("translated exactly", translated), ("own characters", aligned)):
        record_property(name, f"mean {sum(shares) / 10:.4f}, least {min(shares):.4f}")
    assert asked == 10
    assert min(translated) >= 0.95
    assert min(aligned) >= 0.9
