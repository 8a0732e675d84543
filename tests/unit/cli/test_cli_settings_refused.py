"""Settings that cannot be: everything that is wrong at once, in --set, in --config, as options."""

import pytest

ONE = [
    ("--set train.sede=3", "settings: Unknown setting train.sede. Did you mean train.seed?"),
    (
        "--set model.hiden_size=3",
        "settings: Unknown setting model.hiden_size. Did you mean model.hidden_size?",
    ),
    ("--set trian.seed=3", "settings: Unknown section trian. Did you mean train?"),
    (
        "--set train.hidden_size=8",
        "settings: Unknown setting train.hidden_size. Did you mean model.encoder.hidden_size or "
        "model.decoder.hidden_size?",
    ),
    (
        "--set train.learning_rate=fast",
        'settings: train.learning_rate is "fast"; it must be a number, above 0 and at most 100.',
    ),
    (
        "--set train.shared_vocabulary",
        "--set: train.shared_vocabulary is not an assignment. "
        "Write section.setting=value: train.seed=2.",
    ),
    ("--set data=3", "settings: data is 3; it must be a section."),
    (
        "--set data.normalization=NFCC",
        "settings: data.normalization is NFCC; it must be NFC, NFD, NFKC or none. "
        "Did you mean NFC?",
    ),
    ("--seed x", 'settings: train.seed is "x"; it must be a whole number, at least 0.'),
    ("--max-steps 0", "settings: train.max_steps is 0; it must be a whole number, at least 1."),
    ("--max-minutes -1", "settings: train.max_minutes is -1; it must be a number, at least 0."),
    (
        "--preset bahdanau",
        "model: preset is bahdanau; it must be one of cho2014, sutskever2014, bahdanau2015, "
        "luong2015, gehring2017, vaswani2017. Did you mean bahdanau2015?",
    ),
    (
        "--set model.hidden_size=0",
        "settings: model.hidden_size is 0; it must be a whole number, at least 1.",
    ),
    (
        "--resume --overwrite",
        "train: resume and overwrite are both true; resume continues the run that overwrite "
        "deletes. Remove one of them.",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), ONE, ids=[words for words, _ in ONE])
def test_a_wrong_setting_is_named_with_its_remedy(refused, pairs, words, sentence):
    assert refused("train", pairs, "--quiet", *words.split()) == f"regard: {sentence}\n"


def test_an_unavailable_device_is_refused(refused, pairs, capitals):
    for words in (["train", pairs, "--quiet"], ["translate", capitals], ["show", capitals, "a"]):
        said = refused(*words, "--device", "moon")
        assert said.startswith(
            "regard: settings: device is moon; it must be one of this machine: cpu"
        )


SEVERAL = """regard: settings: model.hidden_size is wide; it must be a whole number, at least 1.
regard: settings: text.source is letters; it must be characters, words, whitespace, tagged, \
phonemes, unigram or bpe.
regard: settings: train.max_steps is "many"; it must be a whole number, at least 1.
regard: settings: Unknown setting train.sede. Did you mean train.seed?
"""


def test_several_wrong_settings_are_reported_at_once(refused, pairs):
    words = ["model.hidden_size=wide", "text.source=letters", "train.sede=3"]
    words = [word for assignment in words for word in ("--set", assignment)]
    said = refused("train", pairs, *words, "--max-steps", "many")
    assert sorted(said.splitlines()) == sorted(SEVERAL.splitlines())


def test_wrong_settings_in_a_file_are_reported_at_once(refused, pairs, tmp_path):
    (tmp_path / "my.toml").write_text(
        '[model]\nhidden_size = "wide"\n[text]\nsource = "letters"\n'
        '[train]\nsede = 3\nmax_steps = "many"\n'
    )
    said = refused("train", pairs, "--config", "my.toml")
    assert sorted(said.splitlines()) == sorted(SEVERAL.splitlines())


def test_an_invalid_settings_file_is_named_with_its_line(refused, pairs, tmp_path):
    (tmp_path / "my.toml").write_text("[train]\nseed = = 2\n")
    said = refused("train", pairs, "--config", "my.toml")
    assert said == "regard: my.toml, line 2: it is not TOML at column 8: invalid value.\n"
    said = refused("train", pairs, "--config", "no.toml")
    problem = "there is no such file. Check the path."
    assert said == f"regard: no.toml: {problem}\n"


def test_later_and_more_specific_options_win(run, pairs, tmp_path):
    (tmp_path / "my.toml").write_text(
        "[train]\nseed = 5\nmax_steps = 7\nreport_every = 9\n"
        "[model]\nhidden_size = 8\nembedding_size = 8\nalign_size = 8\nreadout_size = 8\n"
    )
    words = ["--config", "my.toml", "--set", "train.seed=6", "--set", "train.max_steps=3"]
    assert run("train", pairs, *words, "--max-steps", 2, "--quiet").code == 0
    settings = run("info", "capitals.regard", "--settings").out
    for line in ("seed = 6", "max_steps = 2", "report_every = 9", "hidden_size = 8"):
        assert f"\n{line}\n" in settings


SEARCH = [
    (
        ["--beam-size", "x", "--nbest", "0"],
        "regard: search: beam_size is x; it must be a whole number, at least 1.\n"
        "regard: search: nbest is 0; it must be a whole number, at least 1.\n",
    ),
    (
        ["--stop", "never"],
        "regard: search: stop is never; it must be full or likeliest.\n",
    ),
    (
        ["--top-p", "1.5"],
        "regard: search: top_p is 1.5; it must be a number, above 0 and at most 1.\n",
    ),
    (
        ["--nbest", "3", "--beam-size", "2"],
        "regard: search: nbest is 3; it must be at most beam_size = 2. Set beam_size = 3.\n",
    ),
    (
        ["--ban", "é"],
        "regard: banned is 'é', which is no token of the targets. Use one that is.\n",
    ),
    (
        ["--prefix", "é"],
        "regard: prefix is 'é', which is no token of the targets. Use one that is.\n",
    ),
]


@pytest.mark.parametrize(("words", "said"), SEARCH, ids=[" ".join(words) for words, _ in SEARCH])
def test_a_wrong_option_of_the_search_is_refused_before_a_line_is_read(
    refused, capitals, words, said
):
    assert refused("translate", capitals, *words) == said


@pytest.mark.parametrize(
    ("text", "what"), [("a\nb", "a line break"), ("a\udcff", "bytes that are not UTF-8")]
)
def test_a_text_that_is_not_one_line_is_refused(refused, capitals, text, what):
    problem = f"It contains {what}; it must be one line. Use a file on standard input.\n"
    assert refused("translate", capitals, "--text", text) == f"regard: --text: {problem}"
    assert refused("show", capitals, text) == f"regard: TEXT: {problem}"
    assert refused("show", capitals, "a", "--target", text) == f"regard: --target: {problem}"
