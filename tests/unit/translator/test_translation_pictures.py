"""Translations as pictures, as tables in a notebook, and in a word: save, plot, HTML, repr."""

import re
import sys

import numpy as np
import pytest

from regard.errors import DataError, InputError
from regard.translator import Translator
from regard.translator.translation_list import MAX_SHOWN, TranslationList
from regard.viz.alignment import Alignment
from small_models import saved


@pytest.fixture(scope="module")
def transformer():
    return Translator(saved("vaswani2017"))


@pytest.fixture
def matplotlib():
    found = pytest.importorskip("matplotlib", reason="pip install 'regard[plots]' to draw")
    found.use("agg")
    yield found
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize(("kind", "magic"), [("svg", b"<svg"), ("html", b"<!doctype html>")])
def test_the_file_has_the_weights_of_the_translation(transformer, tmp_path, kind, magic):
    answer = transformer.translate("abc")
    path = tmp_path / f"x.{kind.upper()}"
    answer.save(path)
    assert path.read_bytes().startswith(magic)
    found = [float(x) for x in re.findall(r'data-weight="([^"]+)"', path.read_text())]
    assert found == answer.attention.astype(float).ravel().tolist()
    assert f"abc → {answer.text}" in path.read_text()
    # a second picture replaces the first
    answer.save(str(path))


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF-")])
def test_pictures_for_print_are_saved(matplotlib, transformer, tmp_path, kind, magic):
    answer = transformer.translate("abc", self_attention=True)
    answer.save(tmp_path / f"x.{kind}")
    assert (tmp_path / f"x.{kind}").read_bytes().startswith(magic)
    answer.heads("encoder").save(tmp_path / f"g.{kind}")
    assert (tmp_path / f"g.{kind}").read_bytes().startswith(magic)


def test_a_plot_has_the_weights_and_the_tokens(matplotlib, transformer):
    answer = transformer.translate("abc")
    axes = answer.plot()
    (mesh,) = axes.collections
    np.testing.assert_array_equal(
        mesh.get_array().reshape(answer.attention.shape), answer.attention
    )
    assert [x.get_text() for x in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [x.get_text() for x in axes.get_yticklabels()] == [*answer.tokens, "■"]
    # into given axes, beside others
    _, (left, right) = matplotlib.pyplot.subplots(1, 2)
    assert answer.plot(right) is right
    assert len(right.collections) == 1
    assert not left.collections


def test_a_plot_without_matplotlib_says_how_to_get_it(transformer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"regard\[plots\]"):
        transformer.translate("abc").plot()


def test_what_cannot_be_drawn_or_written_is_refused(transformer, tmp_path):
    blank = transformer.translate(" ")
    without = Translator(saved("cho2014")).translate("ab")
    for answer, reason in ((blank, "blank"), (without, "Translator.influence")):
        with pytest.raises(InputError, match=reason):
            answer.save(tmp_path / "x.svg")
        with pytest.raises(InputError, match=reason):
            answer.plot()
    answer = transformer.translate("ab")
    with pytest.raises(InputError, match=r"must end in \.svg, \.html, \.png or \.pdf"):
        answer.save(tmp_path / "x.gif")
    with pytest.raises(DataError, match="another folder"):
        answer.save(tmp_path / "missing" / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_many_translations_are_a_list_and_a_table(transformer):
    answers = transformer.translate(["ab", "<b>", " "])
    assert isinstance(answers, list)
    assert answers == list(answers)
    html = answers._repr_html_()
    assert html.count("<tr>") == 4
    assert html.count("<details>") == 2
    assert "&lt;b&gt;" in html
    assert "<b><b>" not in html
    # a part is one too; sums and copies are plain lists
    assert isinstance(answers[1:], TranslationList)
    assert answers[0].source == "ab"
    assert isinstance(transformer.rescore([("ab", "kl")]), TranslationList)


def test_a_long_table_is_cut(transformer):
    (answer,) = transformer.translate(["ab"])
    html = TranslationList([answer] * (MAX_SHOWN + 3))._repr_html_()
    assert html.count("<tr>") == MAX_SHOWN + 1
    assert html.endswith("<p>… 3 more</p>")


def test_an_alignment_and_its_heads_show_themselves(transformer):
    answer = transformer.translate("abc", self_attention=True)
    assert answer.alignment._repr_html_().count("data-weight") == answer.attention.size
    assert answer.heads("decoder")._repr_html_().startswith("<svg")
    alignment = Alignment(("a", "b"), ("x",), np.array([[0.0, 1.0]]))
    assert repr(alignment) == "Alignment(1 target tokens × 2 source tokens)"
    assert repr(answer.heads("encoder")) == "AttentionHeads(3 layers × 2 heads, 3 × 3 tokens)"


def test_a_repr_is_one_line(transformer):
    answer = transformer.translate("abc", max_length=2, nbest=2)
    assert repr(answer) == (
        f"Translation('abc' → {answer.text!r}, log-probability {answer.score:.3f}, "
        "attention 3 × 3 of 3 layers × 2 heads, 2 alternatives, 1 note)"
    )
    assert repr(transformer.translate(" ")) == "Translation(' ' → '')"


def test_a_model_says_its_parts_sizes_vocabularies_and_scores():
    model = saved("bahdanau2015")
    model.summary["scores"] = [{"name": "exact", "value": 84.4}, {"name": 1}, "?"]
    count = sum(p.numel() for p in model.model.parameters())
    assert repr(Translator(model)) == (
        "Translator(recurrent encoder of size 7, bahdanau decoder of size 7, "
        f"{count:,} parameters, source characters (14 tokens), target characters (15 tokens), "
        "exact 84.40)"
    )
    both = repr(Translator(model, saved("bahdanau2015", seed=2)))
    assert both.startswith("Translator(ensemble of 2, recurrent encoder of size 7, ")
    assert f"{2 * count:,} parameters" in both
