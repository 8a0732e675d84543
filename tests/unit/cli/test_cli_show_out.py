"""`regard show --out` and `--influence`: the model's own numbers in files, and what is refused."""

import io
import os
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import regard
from regard.cli import options

KINDS = ".svg, .png, .pdf or .html"


def weights(text):
    """Read back the numbers of an SVG or a page, row by row."""
    return [float(number) for number in re.findall(r'data-weight="([^"]+)"', text)]


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_numbers_in_a_file_equal_those_of_forced_decoding(run, capitals, tmp_path, kind):
    answer = run("show", capitals, "cab", "--out", f"x.{kind}")
    assert answer.code == 0
    assert answer.out.splitlines()[0].startswith("cab → CAB   (log-probability -0.")
    assert answer.out.endswith(f"x.{kind}: attention, target tokens 4 × source tokens 3\n")
    forced = regard.load(capitals).rescore([("cab", "CAB")])[0]
    found = weights((tmp_path / f"x.{kind}").read_text())
    # a line at once and step by step round differently
    assert found == pytest.approx(forced.attention.astype(float).ravel().tolist(), abs=1e-6)


def test_an_svg_is_complete_and_has_a_description(run, capitals, tmp_path):
    run("show", capitals, "ab", "--out", "x.SVG")
    picture = ElementTree.fromstring((tmp_path / "x.SVG").read_bytes())
    title, told, *_ = picture
    assert title.text == "ab → AB"
    assert told.text.startswith("Attention: how much each target token (row) looked at ")


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")])
def test_pictures_for_print_are_drawn(run, capitals, tmp_path, kind, magic):
    pytest.importorskip("matplotlib", reason="pip install 'regard[plots]' to draw PNG and PDF")
    assert run("show", capitals, "ab", "--out", f"x.{kind}").code == 0
    assert (tmp_path / f"x.{kind}").read_bytes().startswith(magic)


def test_influence_is_drawn_and_labelled_as_influence(run, capitals, tmp_path):
    answer = run("show", capitals, "cab", "--influence")
    rows = answer.out.splitlines()
    assert rows[2].startswith("Influence by gradient, not attention: ")
    assert rows[4].split() == ["c", "a", "b"]
    run("show", capitals, "cab", "--influence", "--out", "x.svg")
    text = (tmp_path / "x.svg").read_text()
    translator = regard.load(capitals)
    expected = translator.influence(translator.translate("cab"))
    assert weights(text) == expected.astype(float).ravel().tolist()
    assert "Influence by gradient, not attention: " in text
    assert "Attention: how much" not in text


def test_a_model_without_attention_says_so_and_displays_influence(run, blind, tmp_path):
    answer = run("show", blind, "ab")
    rows = answer.out.splitlines()
    sentence = (
        "This model has no attention: it reads the whole source into one vector. The picture "
        "shows its influence by gradient."
    )
    assert rows[0].startswith("ab → ")
    assert rows[2] == sentence
    assert rows[4].split() == ["a", "b"]
    assert run("show", blind, "ab", "--influence").out == answer.out
    answer = run("show", blind, "ab", "--out", "x.html")
    assert answer.out.splitlines()[2] == sentence
    assert re.search(r"x\.html: influence by gradient, target tokens \d+ × source ", answer.out)
    found = np.array(weights((tmp_path / "x.html").read_text())).reshape(-1, 2)
    # what moved a symbol is shared by all of the source
    assert np.allclose(found.sum(axis=1), 1)


def test_an_existing_file_is_overwritten_only_on_request(refused, run, capitals, tmp_path):
    (tmp_path / "x.svg").write_text("mine")
    said = refused("show", capitals, "ab", "--out", "x.svg")
    assert said == ("regard: x.svg: It already exists. Use --overwrite or another --out.\n")
    assert run("show", capitals, "ab", "--out", "x.svg", "--overwrite").code == 0
    assert (tmp_path / "x.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("x.gif", f"show: out is x.gif; it must end in {KINDS}."),
        ("x", f"show: out is x; it must end in {KINDS}."),
        ("no/x.svg", "no/x.svg: There is no folder no. Use --out in another folder."),
        ("f.svg", "f.svg: It is a folder; it must be a file. Use another --out."),
    ],
)
def test_an_invalid_output_file_is_refused_before_the_model_is_read(
    refused, tmp_path, out, sentence
):
    (tmp_path / "f.svg").mkdir()
    assert refused("show", "no.regard", "ab", "--out", out) == f"regard: {sentence}\n"


def test_an_unwritable_file_gets_an_error_message(refused, capitals, monkeypatch):
    def full(unfinished, path):
        # what was written so far is not to stay
        assert os.path.getsize(unfinished)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    said = refused("show", capitals, "ab", "--out", "x.svg")
    assert said == (
        "regard: x.svg: it cannot be written (No space left on device). Use --out in another "
        "folder.\n"
    )


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environment", "bits"),
    [
        ({"COLORTERM": "truecolor"}, 24),
        ({"COLORTERM": "24bit"}, 24),
        ({}, 8),
        ({"COLORTERM": "yes"}, 8),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, 0),
        ({"COLORTERM": "truecolor", "TERM": "dumb"}, 0),
    ],
    ids=["truecolor", "24bit", "silent", "some", "NO_COLOR", "dumb"],
)
def test_colors_are_those_that_the_terminal_supports(monkeypatch, environment, bits):
    for name in ("COLORTERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert options.color_depth() == bits
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert options.color_depth() == 0


def test_right_to_left_lines_are_isolated(run, capitals):
    first = run("show", capitals, "حب").out.splitlines()[0]
    assert first.startswith("\u2068حب\u2069 → ")


def test_help_of_the_command_names_the_kinds(run):
    assert "svg, png, pdf or html" in re.sub(r"\s+", " ", run("show", "--help").out)
