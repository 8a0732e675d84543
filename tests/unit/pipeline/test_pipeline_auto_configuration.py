"""Automatic settings: each rule on a small file by hand, and that what is said stands."""

import random
import re

import pytest
from pipeline_cases import digits, profile

from regard.config.toml import read_settings, to_toml, to_tree
from regard.errors import ConfigError
from regard.models import PRESETS, paper_sizes
from regard.pipeline.auto_configuration import auto_configure, will_use_gpu
from regard.pipeline.settings_checks import check_settings

SPELLING = [("cat", "kat"), ("phone", "fone"), ("knee", "nee"), ("laugh", "laf")]
PHONES = [("cat", "k ae t"), ("phone", "f ow n"), ("knee", "n iy"), ("laugh", "l ae f")]
DATES = [("2 January 2020", "2020-01-02"), ("31 May 1999", "1999-05-31")]
NAMES = [("John Smith", "Smith, John"), ("Ann Lee", "Lee, Ann")]


def sentences(words, count=400, length=6):
    """Return lines of words drawn at random, each with its words turned round."""
    rng = random.Random(2)
    lines = [[f"w{rng.randrange(words):04}" for _ in range(length)] for _ in range(count)]
    return [(" ".join(line), " ".join(line[::-1])) for line in lines]


def as_many(pairs, count):
    """Profile pairs as if there were so many of them."""
    found = profile(pairs)
    for side in (found.source, found.target):
        factor = count // side.lines
        side.lines, side.num_words = count, side.num_words * factor
        side.num_letters *= factor
        for key in side.characters:
            side.characters[key] *= factor
    return found


def chosen(pairs, given=None, name=None, **options):
    return auto_configure(profile(pairs), given or {}, name, **options)


def refusal(pairs, given, name=None, **options):
    with pytest.raises(ConfigError) as caught:
        chosen(pairs, given, name, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pairs", "source", "target", "reason"),
    [
        (SPELLING, "characters", "characters", "0% of the lines contain spaces"),
        (PHONES, "characters", "whitespace", "spaces separate 8 short tokens"),
        (DATES, "characters", "characters", "the lines are short, 12 characters on average"),
        (NAMES, "characters", "characters", "a line has 2.0 words on average"),
        (sentences(200), "words", "words", "there are 200 words, each 12 times"),
        (
            sentences(3000),
            "unigram",
            "unigram",
            r"there are 1,\d\d\d words, too many to learn one by one",
        ),
    ],
    ids=["spelling", "phones", "dates", "names", "few words", "many words"],
)
def test_the_tokenizer_is_chosen_by_the_lines(pairs, source, target, reason):
    found = chosen(pairs)
    assert (found.settings.text.source, found.settings.text.target) == (source, target)
    reasons = {one.name: one.reason for one in found.reasons}
    assert any(re.fullmatch(reason, reasons[f"text.{side}"]) for side in ("source", "target"))


def test_token_counts_beyond_a_bound_do_not_matter():
    reasons = {one.name: one.reason for one in chosen(sentences(10**4, count=2000)).reasons}
    assert reasons["text.source"] == (
        "there are more than 5,000 words, too many to learn one by one"
    )


def test_frequent_words_are_tokens_even_if_there_are_many():
    assert chosen(sentences(1000, count=2000)).settings.text.source == "words"
    assert chosen(sentences(1000, count=400)).settings.text.source == "unigram"


def test_sides_that_share_their_characters_share_their_pieces():
    pairs = sentences(3000)
    assert chosen(pairs).settings.text.shared_vocabulary
    other = [(a, b.translate(str.maketrans("w0123456789", "абвгдежзийк"))) for a, b in pairs]
    assert not chosen(other).settings.text.shared_vocabulary
    assert not chosen(SPELLING).settings.text.shared_vocabulary


def test_length_limits_leave_a_margin_and_exclude_outliers():
    data = chosen([("a" * 30, "b c d" * 1), ("a", "b")]).settings.data
    assert (data.max_source_length, data.max_target_length) == (60, 32)
    huge = chosen([("a" * 600, "b"), ("a", "b")]).settings.data
    assert huge.max_source_length == 512
    # a mark of punctuation is a word of its own
    words = chosen([(a, b) for a, b in sentences(50, length=20)]).settings
    assert (words.text.source, words.data.max_source_length) == ("words", 80)
    assert words.search.max_length == words.data.max_target_length == 80


def test_automatic_sizes_grow_with_the_number_of_pairs():
    counts = (400, 4000, 12_000, 40_000, 400_000)
    found = [auto_configure(as_many(digits(400), count), {}).settings for count in counts]
    widths = [one.model.decoder.hidden_size for one in found]
    assert widths == [96, 256, 320, 320, 384]
    pieces = {"text": {"source": "bpe", "target": "bpe"}}
    captions = [
        auto_configure(as_many(sentences(3000), count), pieces).settings for count in counts
    ]
    assert [one.model.decoder.hidden_size for one in captions] == [96, 128, 192, 256, 384]
    assert [one.model.source.dropout for one in found] == [0.3, 0.3, 0.3, 0.3, 0.1]
    batches = [one.train.batch_tokens for one in found]
    assert batches[0] == 256
    assert batches == sorted(batches)
    assert batches[-1] == 4096
    assert all(300 <= one.train.max_steps <= 50_000 for one in found)
    pieces = [
        auto_configure(as_many(sentences(3000), count), {"text": {"source": "bpe"}}).settings.text
        for count in counts
    ]
    assert [one.source_vocabulary_size for one in pieces] == [1000, 1000, 2000, 4000, 8000]


def test_recurrent_models_on_a_gpu_are_wider_and_train_longer():
    for count, width in ((400, 256), (4000, 384), (400_000, 512)):
        many = as_many(digits(400), count)
        here = auto_configure(many, {}).settings
        found = auto_configure(many, {}, on_gpu=True)
        there = found.settings
        assert there.model.decoder.hidden_size == width > here.model.decoder.hidden_size
        assert there.train.max_steps >= here.train.max_steps
        assert there.train.precision == "bfloat16"
        assert there.train.learning_rate < here.train.learning_rate
        reasons = {one.name: one.reason for one in found.reasons}
        assert reasons["model.hidden_size"] == f"for {count:,} pairs on a GPU"
    sizes = [
        auto_configure(many, {}, "vaswani2017", on_gpu=on_gpu).settings.model.encoder.model_size
        for on_gpu in (False, True)
    ]
    assert sizes == [384, 384]


def test_characters_get_two_encoder_layers_without_a_preset():
    def layers(*arguments, **options):
        return chosen(*arguments, **options).settings.model.encoder.num_layers

    assert layers(PHONES) == 2
    assert layers(sentences(3000)) == 1
    assert layers(PHONES, {}, "bahdanau2015") == 1
    assert layers(PHONES, {"model": {"num_layers": 1}}) == 1
    three = {"model": {"encoder": {"num_layers": 3}}}
    assert layers(PHONES, three) == 3
    assert "model.encoder.num_layers" not in {one.name for one in chosen(PHONES, three).reasons}


@pytest.mark.parametrize(
    ("device", "here", "expected"),
    [("auto", True, True), ("auto", False, False), ("cuda:1", False, True), ("cpu", True, False)],
)
def test_the_gpu_is_used_if_available_and_not_excluded(monkeypatch, device, here, expected):
    monkeypatch.setattr("torch.cuda.is_available", lambda: here)
    assert will_use_gpu({"train": {"device": device}}) is expected
    assert will_use_gpu({}) is here


def test_a_run_validates_saves_and_reports_often_enough():
    for count in (2, 40, 400, 40_000):
        train = auto_configure(as_many(digits(2), count), {}).settings.train
        assert train.max_steps // train.validate_every in range(5, 101)
        assert train.save_every == train.validate_every >= train.report_every
        assert 0 < train.warmup_steps <= train.max_steps // 20


def test_the_schedule_follows_explicit_settings():
    train = chosen(digits(400), {"train": {"max_steps": 60}}).settings.train
    assert train.max_steps == 60
    assert train.warmup_steps == 3
    assert train.validate_every <= 60


@pytest.mark.parametrize(
    ("pairs", "metric"), [(SPELLING, "accuracy"), (PHONES, "wer"), (sentences(3000), "chrf")]
)
def test_the_metric_depends_on_the_targets(pairs, metric):
    assert chosen(pairs).settings.train.metric == metric


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_without_sizes_gets_them_from_the_pairs(name):
    found = chosen(digits(400), {}, name)
    tree = to_tree(found.settings)["model"]
    sizes = [v for part in tree.values() if isinstance(part, dict) for v in part.items()]
    assert 96 in dict(sizes).values()
    assert max(v for _, v in sizes if type(v) is int and v != 1024) <= 4 * 96
    assert found.preset == name
    check_settings(found.settings)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_have_the_sizes_of_its_paper(name):
    found = chosen(digits(400), {}, name, paper=True)
    sizes = paper_sizes(name).sizes
    told = {one.name.removeprefix("model."): one for one in found.reasons}
    for key, value in sizes.items():
        assert (told[key].value, told[key].reason) == (value, "the paper's")
    assert told["dropout"].reason == "for 400 pairs"
    expected = PRESETS[name](
        **sizes,
        dropout=0.3,
        **({"max_length": 33} if "max_length" in told else {}),
        **({"tied_embeddings": "output"} if "tied_embeddings" in told else {}),
    )
    assert found.settings.model == expected


def test_the_default_preset_has_attention():
    found = chosen(digits())
    assert found.preset == "bahdanau2015"
    assert "model.preset = bahdanau2015: it learns from 40 pairs and shows its attention" in map(
        str, found.reasons
    )


def test_explicit_settings_win():
    given = {
        "text": {"source": "bpe", "target": "whitespace", "source_vocabulary_size": 77},
        "data": {"max_source_length": 11, "normalization": "NFKC"},
        "model": {"preset": "luong2015", "hidden_size": 10, "dropout": 0.15, "score": "dot"},
        "train": {
            "batch_tokens": 99,
            "metric": "cer",
            "learning_rate": 0.5,
            "average_checkpoints": 0,
        },
        "search": {"beam_size": 3, "max_length": 8},
    }
    found = chosen(sentences(3000), given)
    settings = found.settings
    for section in ("text", "data", "train", "search"):
        made = to_tree(settings)[section]
        assert {key: made[key] for key in given[section]} == given[section]
    assert found.preset == "luong2015"
    assert settings.model.decoder.hidden_size == 10
    assert settings.model.decoder.attention.score == "dot"
    assert settings.model.source.dropout == 0.15
    said = {f"{section}.{key}" for section, keys in given.items() for key in keys}
    assert not said & {one.name for one in found.reasons}


def test_the_input_tree_is_not_modified():
    given = {"model": {"preset": "luong2015"}, "train": {}}
    chosen(digits(), given)
    assert given == {"model": {"preset": "luong2015"}, "train": {}}


def test_a_part_of_a_preset_can_be_replaced():
    given = {"decoder": {"attention": {"score": "bilinear"}}, "encoder": {"num_layers": 2}}
    model = chosen(digits(), {"model": given}).settings.model
    assert model.decoder.attention.score == "bilinear"
    assert model.decoder.hidden_size == model.encoder.hidden_size == 96
    assert model.encoder.num_layers == 2
    other = {"encoder": {"kind": "convolutional", "hidden_size": 9, "num_layers": 1}}
    other |= {"decoder": {"initial_state": "zero"}, "summary": "none"}
    model = chosen(digits(), {"model": other}).settings.model
    assert (type(model.encoder).__name__, model.encoder.hidden_size) == (
        "ConvolutionalEncoderConfig",
        9,
    )


def test_complete_settings_are_used_unchanged():
    first = chosen(sentences(3000), {}, "vaswani2017").settings
    written = read_settings(to_toml(first), "settings.toml")
    again = auto_configure(profile(digits()), written)
    assert again.settings == first
    assert (again.preset, again.reasons) == (None, ())


def test_a_preset_beside_a_whole_model_is_refused():
    whole = {"model": to_tree(chosen(digits()).settings)["model"]}
    said = "the settings already name an encoder and a decoder. Leave one of them out."
    assert refusal(digits(), whole, "luong2015") == f"model: preset is luong2015; {said}"
    assert refusal(digits(), whole, paper=True) == f"model: paper_sizes is true; {said}"


def test_all_errors_are_reported_at_once():
    given = {
        "model": {
            "hidden_size": 0,
            "dropout": 2.0,
            "embedding_size": "big",
            "readout_size": -1,
            "score": "adaptive",
            "depth": 3,
        },
        "train": {"max_step": 3, "seed": -1},
        "data": {"normalization": "NFCC"},
        "serch": {"beam_size": 3},
    }
    found = refusal(digits(), given).splitlines()
    for start in (
        "settings: model.hidden_size is 0; it must be a whole number, at least 1.",
        "settings: model.dropout is 2.0; it must be at least 0 and below 1.",
        "settings: model.embedding_size is big; it must be a whole number, at least 1.",
        "settings: model.readout_size: size is -1; it must be a whole number, at least 1.",
        "settings: model.score is adaptive; it must be additive, concat, dot, ",
        "settings: Unknown setting model.depth.",
        "settings: Unknown setting train.max_step. Did you mean train.max_steps?",
        "settings: train.seed is -1; it must be a whole number, at least 0.",
        "settings: data.normalization is NFCC; it must be NFC, NFD, NFKC or none. ",
        "settings: Unknown section serch. Did you mean search?",
    ):
        assert [line for line in found if line.startswith(start)], start


def test_incompatible_sizes_are_refused():
    said = refusal(digits(), {"model": {"model_size": 50}}, "vaswani2017")
    sentence = "settings: model.model_size: num_heads is 4; it must be a divisor of model_size"
    assert said.startswith(sentence)
    both = {"model_size": 48, "num_heads": 5}
    assert "num_heads is 5; it must be a divisor of model_size = " in refusal(
        digits(), {"model": both}, "vaswani2017"
    )


@pytest.mark.parametrize("given", [{"train": 3}, {"model": "bahdanau2015"}])
def test_a_section_must_be_a_mapping(given):
    ((name, value),) = given.items()
    assert refusal(digits(), given) == (f"settings: {name} is {value}; it must be a section.")
    inside = refusal(digits(), {"model": {"encoder": 3}})
    assert inside == "settings: model.encoder is 3; it must be a section."


def test_an_unknown_preset_is_refused():
    known = "cho2014, sutskever2014, bahdanau2015, luong2015, gehring2017, vaswani2017"
    sentence = f"it must be one of {known}. Did you mean vaswani2017?"
    assert refusal(digits(), {}, "vaswani17") == f"model: preset is vaswani17; {sentence}"
    assert refusal(digits(), {"model": {"preset": 3}}).startswith(
        "model: preset is 3; it must be one of"
    )


def test_a_beam_waits_for_likelier_hypotheses():
    found = chosen(digits())
    assert (found.settings.search.beam_size, found.settings.search.stop) == (5, "likeliest")
    assert "search.stop" in {one.name for one in found.reasons}
