"""`regard show` of single layers and heads, of self-attention, and of all heads in a grid."""

import re
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.saved_model import save_model
from small_models import saved

LINE = "abcde"


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    path = tmp_path_factory.mktemp("heads") / "t.regard"
    save_model(path, saved("vaswani2017"))
    return path


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    path = tmp_path_factory.mktemp("heads") / "r.regard"
    save_model(path, saved("luong2015"))
    return path


def weights(name):
    return [float(x) for x in re.findall(r'data-weight="([^"]+)"', Path(name).read_text())]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_one_head_of_self_attention_is_drawn(run, transformer, side):
    options = ("--self-attention", side, "--layer", "2", "--head", "1", "--out", "x.svg")
    answer = run("show", transformer, LINE, *options)
    assert answer.code == 0
    said = regard.load(transformer).translate(LINE, self_attention=True)
    expected = getattr(said, f"{side}_self_attention")[:, 1, 0]
    assert weights("x.svg") == expected.astype(float).ravel().tolist()
    text = Path("x.svg").read_text()
    assert f"Self-attention of the {side}: " in text
    assert "(layer 2, head 1)" in text
    assert f"x.svg: self-attention of the {side}, " in answer.out


def test_a_head_of_the_attention_and_the_mean_of_a_layer(run, transformer):
    layers = regard.load(transformer).translate(LINE).layers.astype(float)
    assert run("show", transformer, LINE, "--head", "2", "--out", "h.svg").code == 0
    assert weights("h.svg") == pytest.approx(layers[:, :, 1].mean(axis=1).ravel(), abs=1e-6)
    assert "(head 2, mean of 3 layers)" in Path("h.svg").read_text()
    assert run("show", transformer, LINE, "--layer", "3", "--out", "l.svg").code == 0
    assert weights("l.svg") == pytest.approx(layers[:, 2].mean(axis=1).ravel(), abs=1e-6)


def test_the_terminal_says_which_heads_it_draws(run, transformer):
    answer = run("show", transformer, LINE, "--self-attention", "decoder")
    assert "(mean of 3 layers × 2 heads)" in answer.out
    rows = answer.out.splitlines()
    tokens = regard.load(transformer).translate(LINE).tokens
    # what is fed begins with the start and lacks the end
    assert rows[4].split() == ["▷", *tokens]
    assert [row[0] for row in rows[5 : 5 + len(tokens) + 1]] == [*tokens, "■"]


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_a_grid_has_every_layer_and_head(run, transformer, kind):
    options = ("--self-attention", "encoder", "--grid", "--out", f"g.{kind}")
    answer = run("show", transformer, LINE, *options)
    assert answer.out.endswith(f"g.{kind}: 3 layers × 2 heads\n")
    text = Path(f"g.{kind}").read_text()
    numbers = re.findall(r'data-layer="(\d)" data-head="(\d)"', text)
    assert numbers == [(str(n + 1), str(m + 1)) for n, m in np.ndindex(3, 2)]
    said = regard.load(transformer).translate(LINE, self_attention=True)
    visible = said.encoder_self_attention[:, 2, 1] >= 0.02
    last = text.partition('data-layer="3" data-head="2"')[2].partition("</g>")[0]
    assert last.count("<title>") == visible.sum()


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")])
def test_a_grid_for_print_is_drawn(run, transformer, kind, magic):
    pytest.importorskip("matplotlib", reason="pip install 'regard[plots]' to draw PNG and PDF")
    assert run("show", transformer, "ab", "--grid", "--out", f"g.{kind}").code == 0
    assert Path(f"g.{kind}").read_bytes().startswith(magic)


def test_what_a_model_lacks_is_refused_with_what_it_has(refused, run, recurrent, blind):
    said = refused("show", recurrent, "ab", "--self-attention", "encoder")
    assert "self-attention is encoder, but this model has none. Use --influence." in said
    assert "no heads" in refused("show", blind, "ab", "--head", "1")
    assert run("show", recurrent, "ab", "--influence").code == 0


def test_impossible_selections_are_refused(refused, transformer):
    said = refused("show", transformer, "ab", "--layer", "4")
    assert "layer is 4; it must be a whole number from 1 to 3." in said
    assert "Add --out heads.svg." in refused("show", transformer, "ab", "--grid")
    assert "--influence" in refused("show", transformer, "ab", "--influence", "--layer", "1")
    assert "head is 0" in refused("show", transformer, "ab", "--head", "0")
