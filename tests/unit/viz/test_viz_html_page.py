"""Pages that stand alone: whole, escaped, with the weights to the last digit, and no network."""

import re
from html.parser import HTMLParser

import numpy as np

from regard.viz.alignment import ATTENTION, INFLUENCE, Alignment
from regard.viz.html_page import document, to_page

VOID = {"meta", "br"}
WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(3), size=2).astype(np.float32)
PAIR = ("أحب <b>", "i & you")


class Page(HTMLParser):
    """Every tag with its attributes, every text, and that each tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page(**options):
    alignment = Alignment(("a", "b", "<i>"), ("x", "■"), WEIGHTS)
    return to_page(alignment, PAIR, **options)


def test_the_numbers_on_a_page_are_the_weights_to_the_last_digit():
    tags = Page(page()).tags
    found = [float(a["data-weight"]) for tag, a in tags if "data-weight" in a]
    assert found == WEIGHTS.astype(float).ravel().tolist()


def test_a_page_has_both_lines_and_a_description():
    text = page(caption=INFLUENCE)
    texts = Page(text).texts
    assert "\u2068أحب <b>\u2069" in texts
    assert "i & you" in texts
    assert INFLUENCE in texts
    assert ATTENTION not in texts
    assert "أحب <b> → i & you" in texts


def test_a_page_loads_and_runs_nothing_and_forbids_it():
    text = page()
    assert not re.search(r"<script|<link|<img|src=|href=|url\(|@import|https?:|\bon\w+=", text)
    tags = Page(text).tags
    policy = [a["content"] for t, a in tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_a_page_supports_phones_and_dark_mode_and_names_its_language():
    text = page()
    tags = Page(text).tags
    assert ("html", {"lang": "en"}) in tags
    viewports = [a["content"] for t, a in tags if a.get("name") == "viewport"]
    assert viewports == ["width=device-width, initial-scale=1"]
    assert "color-scheme: light dark" in text
    assert "@media (prefers-color-scheme: dark)" in text


def test_a_title_is_escaped():
    text = document("</title><script>\x00", "<p>body</p>")
    assert "<title>&lt;/title&gt;&lt;script&gt;␀</title>" in text
    assert "<main>\n<p>body</p>\n</main>" in text
