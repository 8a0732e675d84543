"""`regard.train`: from pairs to what translates, in every way it can be asked."""

import hashlib
import json
import random
import signal
import tempfile
import tomllib
import unicodedata

import numpy as np
import pytest
import torch
from pipeline_cases import QUICK, TINY, digits, quick, tsv

import regard
from regard.config.settings import MetricName
from regard.errors import ConfigError, DataError, InputError
from regard.models import PRESETS
from regard.pipeline import TrainRequest
from regard.pipeline import run as run_order
from regard.pipeline.pairs_source import PairsSource
from regard.pipeline.validation import Validator

METRICS = MetricName.__args__


def refusal(kind, *arguments, **options):
    with pytest.raises(kind) as caught:
        quick(*arguments, **options)
    return str(caught.value)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_trained_without_other_settings(name):
    translator = regard.train(digits(20), preset=name, max_steps=2, quiet=True)
    assert translator.settings.search.beam_size == 5
    found = translator.translate(["1234", "", "98"])
    assert [x.source_tokens for x in found] == [tuple("1234"), (), ("9", "8")]
    assert (found[0].attention is None) == (name in ("cho2014", "sutskever2014"))


def test_a_model_learns_from_pairs_alone():
    pairs = [(c + d, d + c) for c in "abcdefgh" for d in "abcdefgh"]
    translator = regard.train(pairs, max_steps=100, validate_every=50, device="cpu", quiet=True)
    assert translator.summary["dev_sources"] == 3
    right = [x.text == x.source[::-1] for x in translator.translate([a for a, _ in pairs])]
    assert sum(right) >= 60


def test_training_without_an_output_file_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    quick()
    assert list(tmp_path.iterdir()) == []


def test_global_random_states_are_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    quick()
    assert torch.equal(torch.rand(3), expected)


def test_pairs_may_come_from_anywhere(tmp_path):
    pairs = digits()
    (tmp_path / "s").write_text("".join(f"{a}\n" for a, _ in pairs))
    (tmp_path / "t").write_text("".join(f"{b}\n" for _, b in pairs))
    (tmp_path / "p.jsonl").write_text(
        "".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in pairs)
    )
    (tmp_path / "three.tsv").write_text("".join(f"x\t{b}\t{a}\n" for a, b in pairs))
    models = [
        quick(pairs),
        quick(iter(pairs)),
        quick(tsv(tmp_path / "p.tsv", pairs)),
        quick(str(tmp_path / "p.jsonl")),
        quick(tmp_path / "three.tsv", columns="source=3 target=2"),
        regard.train(source=tmp_path / "s", target=tmp_path / "t", **TINY, **QUICK),
    ]
    weights = [model.models[0].readout.weight for model in models]
    assert all(torch.equal(weight, weights[0]) for weight in weights)
    assert len({json.dumps(model.summary) for model in models}) == 1


def test_a_dev_set_can_be_passed(tmp_path):
    dev = tsv(tmp_path / "dev.tsv", [("12", "21"), ("12", "12"), ("345", "543")])
    for given in (dev, [("12", "21"), ("12", "12"), ("345", "543")]):
        summary = quick(dev=given).summary
        assert (summary["dev_sources"], summary["train_pairs"]) == (2, 40)
        assert summary["dev"] is not None
    assert quick().summary["dev"] is None
    assert quick([("1", "2")], dev=dev).summary["train_pairs"] == 1


def test_columns_apply_to_the_dev_set_too(tmp_path):
    for name, seed in (("train", 1), ("dev", 2)):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{b}\tx\t{a}\n" for a, b in digits(20, seed)))
    columns = "source=3 target=1"
    summary = quick(tmp_path / "train.tsv", dev=tmp_path / "dev.tsv", columns=columns).summary
    assert summary == quick(digits(20), dev=digits(20, 2)).summary
    listed = quick(tmp_path / "train.tsv", dev=digits(20, 2), columns=columns).summary
    assert listed == summary


def test_bad_lines_may_be_skipped_and_are_named(tmp_path, capsys):
    path = tmp_path / "p.tsv"
    lines = [f"{a}\t{b}" for a, b in digits(20)]
    path.write_text("\n".join([*lines[:3], "no tab", *lines[3:], *["\tonly"] * 7]) + "\n")
    dev = tmp_path / "dev.tsv"
    dev.write_text("12\t21\nbad\n")
    assert refusal(DataError, path).startswith(f"{path}, line 4: the line has no tab")
    summary = quick(path, dev=dev, skip_bad_lines=True, quiet=False).summary
    told = capsys.readouterr().err
    assert f"skipped: {path}, line 4: the line has no tab" in told
    assert told.count("skipped: ") == 5
    assert "skipped 9 bad lines" in told
    assert summary == quick(digits(20), dev=[("12", "21")]).summary


def test_automatic_settings_and_the_estimated_time_are_printed_first(tmp_path, capsys):
    out = tmp_path / "m.regard"
    quick(out=out, quiet=False)
    told = capsys.readouterr().err
    places = [
        told.index(part)
        for part in (
            "automatic settings:",
            "  text.source = characters: 0% of the lines contain spaces",
            f"model file {out}, everything else in {tmp_path}/m.run/, all settings in",
            "38 training pairs, 2 sources for validation; 14 source and 14 target tokens",
            " parameters; about ",
            "step 1/2",
            f"saved {out}; ",
        )
    ]
    assert places == sorted(places)
    assert "2 updates of " in told
    assert "1 validations of " in told
    assert "left out" not in told


def test_a_passed_dev_set_is_never_called_held_out(capsys):
    dev = [("12", "21")]
    quick(digits(20), dev=dev, quiet=False)
    told = capsys.readouterr().err
    assert "20 training pairs, 1 source for validation; " in told
    assert "held out" not in told
    quick(digits(20), dev=digits(20), quiet=False)
    told = capsys.readouterr().err
    assert "20 training pairs, 20 sources for validation (the same pairs); " in told


def test_quiet_training_prints_nothing(tmp_path, capsys):
    quick(out=tmp_path / "m.regard", quiet=True)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


def test_pairs_that_are_too_long_are_left_out_and_reported(capsys):
    pairs = [*digits(), ("1" * 9, "1"), ("2", "2" * 9)]
    summary = quick(
        pairs, max_source_length=8, max_target_length=8, dev=digits(3), quiet=False
    ).summary
    assert (summary["left_out"], summary["train_pairs"]) == (2, 40)
    assert (
        "left out 2 pairs: longer than data.max_source_length = 8 or data.max_target_length = 8\n"
    ) in capsys.readouterr().err


def test_the_settings_of_a_run_repeat_it_to_the_bit(tmp_path):
    for name in ("bahdanau2015", "vaswani2017"):
        out, again = tmp_path / f"{name}.regard", tmp_path / f"again-{name}.regard"
        sizes = {"model_size": 12, "feed_forward_size": 8} if name == "vaswani2017" else TINY
        quick(preset=name, out=out, dropout=0.2, **sizes)
        written = tomllib.loads((tmp_path / f"{name}.run" / "settings.toml").read_text())
        regard.train(digits(), out=again, quiet=True, **written)
        assert digest(out) == digest(again)
        rewritten = tmp_path / f"again-{name}.run" / "settings.toml"
        assert tomllib.loads(rewritten.read_text()) == written


def test_the_same_pairs_in_any_folder_give_the_same_model(tmp_path):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        path = tsv(tmp_path / folder / f"{folder}.tsv", digits())
        quick(path, out=tmp_path / folder / "m.regard", dropout=0.2)
    assert digest(tmp_path / "one" / "m.regard") == digest(tmp_path / "other" / "m.regard")


def test_another_seed_gives_another_model():
    weights = []
    for place, seed in enumerate((1, 1, 2)):
        # whatever somebody else has drawn before
        torch.manual_seed(place)
        weights.append(quick(seed=seed).models[0].readout.weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("metric", METRICS)
def test_a_run_can_be_validated_by_every_metric(metric):
    translator = quick(metric=metric)
    # whatever validates it, a model is scored by the metrics of its task
    assert [one["name"] for one in translator.summary["scores"]] == ["accuracy", "cer"]


def test_the_dev_loss_is_the_mean_over_tokens_of_dev_pairs(monkeypatch):
    judges, scores = [], []
    loss = Validator._loss

    def spy(self, model):
        judges.append(self)
        scores.append((loss(self, model), {n: p.clone() for n, p in model.named_parameters()}))
        return scores[-1][0]

    monkeypatch.setattr(Validator, "_loss", spy)
    pairs = [*digits(), ("12345", "54321"), ("7", "7")]
    translator = quick(pairs, metric="loss", label_smoothing=0.1, dev_fraction=0.2)
    score, weights = scores[-1]
    member = translator.members[0]
    with torch.no_grad():
        for name, parameter in member.model.named_parameters():
            parameter.copy_(weights[name])
    held = [(s, t) for s, targets in judges[0].preprocessed_data.dev for t in targets]
    rescored = translator.rescore(held)
    total = -sum(sum(x.token_scores) for x in rescored)
    assert score == pytest.approx(total / sum(len(x.token_scores) for x in rescored), rel=1e-5)
    assert not judges[0].higher_is_better


def test_a_diverged_model_is_refused(monkeypatch):
    def broken(self, lines, **settings):
        return ["x"] * len(lines)

    def blown_up(job, *_):
        with torch.no_grad():
            for weight in job.model.parameters():
                weight.fill_(1e30)
        return (lambda: 1.0), 1

    monkeypatch.setattr(Validator, "_translate", broken)
    monkeypatch.setattr("regard.training.loop.update", blown_up)
    assert refusal(InputError, metric="loss", max_steps=2) == (
        "the loss on validation pairs is nan; it must be a finite number. "
        "Set a smaller train.learning_rate."
    )


def test_one_vocabulary_ties_three_matrices():
    settings = {
        "model_size": 12,
        "feed_forward_size": 8,
        "num_layers": 1,
        "shared_vocabulary": True,
    }
    translator = quick(preset="vaswani2017", **settings)
    model = translator.models[0]
    assert translator.settings.model.tied_embeddings == "all"
    assert model.source_embedding.weight is model.target_embedding.weight is model.readout.weight
    assert translator.members[0].source == translator.members[0].target


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_lines_can_be_split_into_subwords(tmp_path, kind):
    rng = random.Random(1)
    words = ["regarding", "regarded", "guarding", "guarded"]
    pairs = [(" ".join(rng.sample(words, 3)), " ".join(rng.sample(words, 2))) for _ in range(40)]
    text = {
        "source": kind,
        "target": kind,
        "source_vocabulary_size": 26,
        "target_vocabulary_size": 26,
    }
    quick(pairs, text=text, out=tmp_path / "m.regard")
    translator = regard.load(tmp_path / "m.regard")
    found = translator.translate("regarded guarding regarded", min_length=3)
    assert "".join(found.source_tokens) == "▁regarded▁guarding▁regarded"
    assert found.attention.shape == (len(found.tokens) + 1, len(found.source_tokens))
    # of several ways to cut a text, the one that was written is scored
    again = translator.rescore([(found.source, found.known_tokens)])[0]
    np.testing.assert_allclose(again.token_scores, found.token_scores, atol=1e-5)


def test_a_model_reads_a_decomposed_letter_as_it_learned_it(tmp_path):
    pairs = [(f"é{a}", f"ü{b}") for a, b in digits()]
    quick(pairs, out=tmp_path / "m.regard")
    translator = regard.load(tmp_path / "m.regard")
    composed, decomposed = translator.translate(
        ["é12", unicodedata.normalize("NFD", "é12")], min_length=2
    )
    assert composed.token_scores == decomposed.token_scores
    assert composed.source_tokens == decomposed.source_tokens == ("é", "1", "2")
    decomposed_pairs = [tuple(unicodedata.normalize("NFD", x) for x in pair) for pair in pairs]
    same = quick(decomposed_pairs)
    assert same.summary == translator.summary


def test_a_model_file_has_its_settings_but_no_path_or_time(tmp_path):
    out = tmp_path / "m.regard"
    summary = quick(tsv(tmp_path / "secret.tsv", digits()), out=out).summary
    assert summary.keys() == {
        *("best_step", "dev", "dev_sources", "examples", "left_out", "pairs", "scores"),
        *("seed", "steps", "train_pairs"),
    }
    expected = "".join(f"{a}\t{b}\n" for a, b in digits())
    assert summary["pairs"] == hashlib.sha256(expected.encode()).hexdigest()
    assert all(one["signature"] for one in summary["scores"])
    assert {(one["source"], one["target"]) for one in summary["examples"]} <= set(digits())
    content = out.read_bytes()
    assert b"secret" not in content
    assert str(tmp_path).encode() not in content


@pytest.mark.parametrize(
    ("pairs", "counted"),
    [
        ([], "0 pairs with 0 different sources"),
        ([("a", "b")], "1 pair with 1 different source"),
        ([("a", "b"), ("a", "c")], "2 pairs with 1 different source"),
    ],
)
def test_one_source_is_too_few(pairs, counted):
    assert refusal(DataError, pairs) == (
        f"pairs: it contains {counted}; one source must be held out for validation. "
        "Add pairs, or pass --dev with a file of others."
    )


def test_an_empty_dev_set_is_refused():
    assert refusal(DataError, dev=[]) == (
        "dev: it contains no pairs; at least one is needed for validation. Leave it out to hold "
        "out some training pairs."
    )


def test_settings_may_stand_in_sections_or_alone():
    one = quick(train={"learning_rate": 0.5, "seed": 3}, model={**TINY, "dropout": 0.1})
    other = quick(learning_rate=0.5, seed=3, dropout=0.1)
    assert one.settings == other.settings
    assert one.settings.train.learning_rate == 0.5
    assert refusal(ConfigError, train=3) == ("settings: train is 3; it must be a dict of settings.")
    assert refusal(ConfigError, depht=3).startswith("settings: Unknown setting model.depht.")
    assert "Did you mean train.max_steps?" in refusal(ConfigError, train={"max_step": 3})


def test_a_misspelled_setting_gets_a_suggestion_with_its_section():
    told = refusal(ConfigError, max_step=3, hiden_size=5, serch={"seed": 1}, seed=-1)
    assert sorted(told.splitlines()) == [
        "settings: Unknown section serch. Did you mean search?",
        "settings: Unknown setting model.hiden_size. Did you mean model.hidden_size?",
        "settings: Unknown setting train.max_step. Did you mean train.max_steps?",
        "settings: train.seed is -1; it must be a whole number, at least 0.",
    ]
    assert refusal(ConfigError, overwite=True, quite=True).splitlines() == [
        "train: overwite is not an argument. Did you mean overwrite?",
        "train: quite is not an argument. Did you mean quiet?",
    ]


def test_a_setting_name_in_several_sections_has_a_default_section():
    found = quick(seed=3, max_length=7, search={"seed": 5}).settings
    assert (found.train.seed, found.search.seed, found.search.max_length) == (3, 5, 7)


def test_invalid_sections_are_refused_before_pairs_are_read():
    with pytest.raises(ConfigError, match="settings: data is 3; it must be a section"):
        run_order(TrainRequest(pairs=PairsSource(digits()), settings={"data": 3}, quiet=True))
    sentence = refusal(ConfigError, normalization="NFX")
    assert "settings: data.normalization is NFX; it must be" in sentence


def test_an_interrupted_library_run_says_so_and_raises(tmp_path, monkeypatch):
    asked = []

    def ask(self, model):
        if not asked:
            signal.raise_signal(signal.SIGINT)
        asked.append(1)
        return judge(self, model)

    judge = Validator.__call__
    monkeypatch.setattr(Validator, "__call__", ask)
    out = tmp_path / "m.regard"
    with pytest.raises(KeyboardInterrupt):
        quick(out=out, max_steps=5, validate_every=1)
    assert regard.load(out).summary["unfinished"]
    translator = quick(out=out, max_steps=5, validate_every=1, resume=True)
    assert translator.summary["steps"] == 5
    assert out.exists()
