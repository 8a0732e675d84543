"""PNG and PDF: whole, the same bytes each time, and fonts that have the letters or a sentence."""

import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install 'regard[plots]' to draw PNG and PDF")

from regard.errors import InputError
from regard.viz import fonts
from regard.viz.alignment import Alignment
from regard.viz.matplotlib_image import to_image

ENGLISH = Alignment(("a", "b"), ("x", "■"), np.array([[1.0, 0.0], [0.5, 0.5]]))
CJK = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")


def pixels(content):
    """Read a PNG of four bytes a pixel."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, size = 8, b"", None
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + length]
        size = struct.unpack(">II", body[:8]) if kind == b"IHDR" else size
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(size[1], 1 + 4 * size[0]).copy()
    filters, lines = rows[:, 0], rows[:, 1:].reshape(size[1], size[0], 4)
    before = np.zeros((size[0], 4), np.uint8)
    for y, kind in enumerate(filters):
        lines[y] = _unfiltered(kind, lines[y], before)
        before = lines[y]
    return lines[..., :3]


def _unfiltered(kind, line, above):
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    found = np.zeros_like(line)
    left = corner = np.zeros(4, int)
    for x in range(len(line)):
        up = above[x].astype(int)
        paeth = left + up - corner
        far = [abs(paeth - left), abs(paeth - up), abs(paeth - corner)]
        nearest = np.where(
            (far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], up, corner)
        )
        add = {1: left, 3: (left + up) // 2, 4: nearest}[int(kind)]
        found[x] = (line[x] + add) % 256
        left, corner = found[x].astype(int), up
    return found


def test_the_colors_of_a_png_are_the_weights():
    image = pixels(to_image(ENGLISH, "png"))
    flat = image.reshape(-1, 3)
    counts = [(np.abs(flat - np.array(c)).max(axis=1) <= 1).sum() for c in COLORS]
    # one cell of 64 × 64 dots for 1, one for 0, two for a half, less the letters on them
    assert 3000 < counts[0] <= 4200
    assert 4000 < counts[1] <= 4200
    assert 6000 < counts[2] <= 8400


COLORS = ((253, 231, 37), (68, 1, 84), (33, 145, 140))


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_the_same_weights_are_the_same_bytes(kind):
    assert to_image(ENGLISH, kind, ("a b", "x")) == to_image(ENGLISH, kind, ("a b", "x"))


def test_a_pdf_has_its_labels_as_text():
    content = to_image(ENGLISH, "pdf")
    assert content.startswith(b"%PDF-")
    assert b"DejaVuSans" in content
    assert b"CreationDate" not in content


def test_a_dollar_or_a_backslash_is_not_a_formula():
    # as formulas, the second and the lines would be refused
    hostile = ("$", "$\\frac$", "a_b", "\\frac", "{", "%")
    for source, target in (hostile, "abcdef"), ("abcdef", hostile):
        drawn = Alignment(tuple(source), tuple(target), np.eye(6))
        assert to_image(drawn, "png", ("$x", "$\\frac$")) != b""


def test_arabic_and_combining_letters_are_drawn_without_a_warning():
    tokens = ("أُحِبّ", "e\u0301", "می\u200cشوم", "\u0301")
    assert to_image(Alignment(tokens, tokens, np.eye(4)), "png", ("أُحِبّ", "e\u0301")) != b""


def test_a_character_without_a_glyph_is_written_as_its_code_point():
    tokens = ("\ue000", "\U000f0000")
    assert to_image(Alignment(tokens, ("x",), [[0.5, 0.5]]), "png") != b""


def test_empty_attention_is_a_picture_too():
    assert to_image(Alignment((), ("■",), np.zeros((1, 0))), "png") != b""


def test_a_missing_matplotlib_gets_an_install_hint(monkeypatch):
    # what is None there cannot be imported
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError) as refused:
        to_image(ENGLISH, "png")
    assert str(refused.value) == (
        "A png needs matplotlib, which is not installed. Run pip install 'regard[plots]', or use "
        "a file that ends in .svg or .html."
    )


def having(monkeypatch, **installed):
    """Let these fonts be installed, with these letters; what is new appears when asked again."""
    latin = frozenset(map(chr, range(32, 127)))
    known = {"DejaVu Sans": latin}
    monkeypatch.setattr(fonts, "_installed", lambda: set(known))
    monkeypatch.setattr(fonts, "_characters", lambda name: known.get(name, frozenset()))
    names = {name.replace("_", " "): frozenset(text) for name, text in installed.items()}
    monkeypatch.setattr(fonts, "_find_new_fonts", lambda: known.update(names))


def test_only_fonts_that_add_glyphs_are_used(monkeypatch):
    having(monkeypatch, Some_Font="我", Other="我爱", Noto_Sans_Thai="ส", Unused="é")
    assert fonts.font_families("abc") == ["DejaVu Sans"]
    # the one that has most of what is left first
    assert fonts.font_families("a我爱ส") == ["DejaVu Sans", "Other", "Noto Sans Thai"]


def test_chinese_is_drawn_as_the_text_around_it(monkeypatch):
    han = "我直"
    having(
        monkeypatch,
        Noto_Sans_CJK_SC=han,
        Noto_Sans_CJK_JP=han + "のカ",
        Noto_Sans_CJK_KR=han + "한",
    )
    fonts._find_new_fonts()
    assert fonts.font_families(han) == ["DejaVu Sans", "Noto Sans CJK SC"]
    assert fonts.font_families(han + "の") == ["DejaVu Sans", "Noto Sans CJK JP"]
    assert fonts.font_families(han + "한") == ["DejaVu Sans", "Noto Sans CJK KR"]


@pytest.mark.parametrize(
    ("text", "letters", "package"),
    [
        ("我", "我 (Chinese characters)", "fonts-noto-cjk"),
        ("一丁七万丈三", "一, 丁, 七, 万, 丈 and 1 more (Chinese characters)", "fonts-noto-cjk"),
        ("한", "한 (Hangul)", "fonts-noto-cjk"),
        ("ส", "ส (Thai)", "fonts-noto-core"),
        ("👍", "👍 (symbols)", "fonts-symbola"),
        ("𠀀", "𠀀 (Chinese characters)", "fonts-hanazono"),
        ("我ส", "ส, 我 (Thai and Chinese characters)", "fonts-noto-cjk fonts-noto-core"),
    ],
)
def test_characters_without_a_font_are_named_with_a_remedy(monkeypatch, text, letters, package):
    having(monkeypatch)
    with pytest.raises(InputError) as refused:
        fonts.font_families("abc" + text)
    assert str(refused.value) == (
        f"No installed font has {letters}. Run apt-get install {package}, or use a "
        "file that ends in .svg or .html."
    )


def test_joiners_and_variation_selectors_need_no_glyph(monkeypatch):
    having(monkeypatch)
    assert fonts.font_families("a\u200db\ufe0f\u2068c\u2069\n") == ["DejaVu Sans"]


def test_a_font_of_boxes_is_ignored():
    assert not any("lastresort" in name.lower().replace(" ", "") for name in fonts._installed())
    assert fonts._characters("Last Resort High-Efficiency") == frozenset()


@pytest.mark.skipif(not CJK.exists(), reason="apt-get install fonts-noto-cjk to draw Chinese")
def test_chinese_is_drawn_in_glyphs_without_boxes():
    assert fonts.font_families("我爱吃苹果")[:2] == ["DejaVu Sans", "Noto Sans CJK SC"]
    images = []
    for token in ("我", "爱", "一"):
        images.append(pixels(to_image(Alignment((token,), ("x",), [[1]]), "png")))
    # boxes would be alike; 一 is one stroke and has less ink than the others
    ink = [int((image.max(axis=2) < 100).sum()) for image in images]
    assert len(set(ink)) == 3
    assert ink[2] < min(ink[:2])
