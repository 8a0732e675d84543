"""A run whose symbols begin with word vectors, and the command that makes them."""

import numpy as np
import pytest
import torch
from pipeline_cases import QUICK, digits, tsv

import regard
from regard.cli import main
from regard.errors import ConfigError
from regard.text.word_vectors import WordVectors


@pytest.fixture
def vectors(tmp_path):
    """Vectors of three digits, and of what no pair has."""
    path = tmp_path / "v.txt"
    numbers = np.arange(16, dtype=np.float32).reshape(4, 4) + 1
    WordVectors(("1", "2", "3", "x"), numbers).save(path)
    return path


def trained(vectors, **settings):
    return regard.train(digits(), embeddings=vectors, **{**QUICK, **settings})


def test_pretrained_embeddings_are_rescaled_together(vectors, capsys):
    still = {"learning_rate": 1e-9, "warmup_steps": 0, "quiet": False, "hidden_size": 5}
    translator = trained(vectors, **still)
    assert (
        "3 of 14 source tokens and 3 of 14 target tokens are initialized" in capsys.readouterr().err
    )
    known = WordVectors.load(vectors)
    scale = 1 / np.linalg.norm(known.numbers, axis=1).mean()
    side, weight = translator.source, translator.models[0].source_embedding.weight
    assert weight.shape[1] == 4
    for symbol in "123":
        (at,) = side.vocabulary.encode([symbol])
        expected = torch.from_numpy(known.numbers[known.row_of_word[symbol]] * scale)
        assert torch.allclose(weight[at], expected, atol=1e-5)


def test_vectors_of_another_width_are_refused_and_another_file_is_another_run(vectors, tmp_path):
    with pytest.raises(ConfigError) as caught:
        trained(vectors, embedding_size=6)
    assert "source.size is 6; it must be 4, the size of the vectors. Set source.size = 4." in str(
        caught.value
    )
    out, pairs = tmp_path / "m.regard", tsv(tmp_path / "p.tsv", digits())
    options = {**QUICK, "out": out, "hidden_size": 5}
    regard.train(pairs, embeddings=vectors, **options)
    other = tmp_path / "other.txt"
    other.write_text(vectors.read_text().replace("16", "17"))
    with pytest.raises(ConfigError, match="the run began with other vectors"):
        regard.train(pairs, embeddings=other, resume=True, **options)


def test_embed_learns_prints_and_draws_vectors_and_suggests_the_next_command(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("the cat eats the fish\nthe dog eats the meat\n" * 30, encoding="utf-8")
    options = ["--size", "8", "--epochs", "3", "--map", "map.svg"]
    assert main(["embed", str(text), *options]) == 0
    printed = capsys.readouterr()
    assert "nearest, by cosine" in printed.out
    assert "6 word vectors of size 8 in text.vectors.txt" in printed.out
    assert "--embeddings text.vectors.txt" in printed.err
    assert WordVectors.load(tmp_path / "text.vectors.txt").words[0] == "the"
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert drawn.count("<circle") == 6
    assert ">the</text>" in drawn
    assert main(["embed", str(tmp_path / "none.txt")]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("words", {"ǎː", "t͡ʃ"}),
        ("whitespace", {"ǎː", "t͡ʃ"}),
        ("phonemes", {"a", "◌\u030c", "◌ː", "t͡ʃ"}),
        ("characters", {"ǎ", "ː", " ", "t", "\u0361", "ʃ"}),
    ],
)
def test_vectors_are_learned_for_the_selected_tokens(tmp_path, kind, expected):
    text, out = tmp_path / "text.txt", tmp_path / "v.txt"
    text.write_text("ǎː t͡ʃ\n" * 30, encoding="utf-8")
    assert main(["embed", str(text), "--out", str(out), "--size=2", f"--tokens={kind}"]) == 0
    assert set(WordVectors.load(out).words) == expected
