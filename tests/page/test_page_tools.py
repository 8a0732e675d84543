"""What helps with the text: examples, the address, files, downloads and the counter."""

import csv
import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from page_driver import serving

from regard.translator import Translator
from small_models import saved


@pytest.fixture(scope="module")
def with_examples():
    """Serve a model whose file holds examples, some of them hostile."""
    pairs = [{"source": "abc", "target": "kl"}, {"source": "<b>j</b>", "target": "<i>"}]
    wrong = [{"source": 3, "target": "k"}, {"source": " ", "target": "k"}, "abc", None]
    model = Translator(replace(saved(), summary={"examples": [*wrong, *pairs]}))
    with serving({"taught": model, "other": Translator(saved())}) as (address, _):
        yield address


def test_the_empty_state_offers_examples_and_says_what_the_model_expects(visit, with_examples):
    page = visit(with_examples)
    buttons = page.page.locator("#example-list button")
    assert buttons.all_text_contents() == ["abc", "<b>j</b>"]
    expectation = page.text("#expectation")
    assert "such as \u2068<b>j</b>\u2069 into lines such as \u2068<i>\u2069" in expectation
    assert "letter by letter" in expectation
    page.see("examples")
    with page.answered():
        buttons.first.click()
    assert page.page.input_value("#text") == "abc"
    assert page.page.is_hidden("#empty")
    page.page.keyboard.press("Control+z")
    page.page.wait_for_selector("#empty", state="visible")
    page.choose("other")
    page.page.wait_for_selector("#examples", state="hidden")
    assert "such as" not in page.text("#expectation")


def test_the_address_holds_model_text_beam_and_edits(visit):
    page = visit()
    page.choose("vaswani2017")
    page.write("987\n1234 & #")
    with page.answered():
        page.page.select_option("#beam-size", "3")
    page.take(3, "8")
    page.pin(0, 1)
    link = page.copied("link")
    fields = parse_qs(urlsplit(link).fragment)
    assert urlsplit(link).query == ""
    assert (fields["model"], fields["text"]) == (["vaswani2017"], ["987\n1234 & #"])
    assert [fields["beam"], fields["line"]] == [["3"], ["2"]]
    shown = page.text(), page.weights(), page.page.locator(".chip span").all_text_contents()
    page.page.reload()
    page.page.wait_for_selector(".chip >> nth=1")
    reloaded = page.text(), page.weights(), page.page.locator(".chip span").all_text_contents()
    assert reloaded == shown
    assert page.page.input_value("#beam-size") == "3"
    with page.answered():
        page.page.click("#undo")
    assert page.page.locator(".chip").count() == 0


WRONG_EDITS = [
    "{",
    "null",
    '{"changes":[{"step":-1}],"prefix":[],"pins":{},"end":null}',
    '{"changes":[null],"prefix":[],"pins":{},"end":null}',
    '{"changes":[],"prefix":[{}],"pins":{},"end":null}',
    '{"changes":[],"prefix":[],"pins":{"0":0.5},"end":null}',
]


def test_an_address_that_cannot_be_read_is_reported_and_its_text_translated(visit):
    page = visit()
    for edits in WRONG_EDITS:
        with page.answered():
            page.page.evaluate(
                "edits => { location.hash = new URLSearchParams({ text: '1234', edits }); }", edits
            )
        assert page.text() == "4321"
        assert page.text("#error").startswith("The edits in the link cannot be read")
    with page.answered():
        page.page.evaluate("location.hash = 'model=<b>x</b>&text=9870&beam=999&line=7'")
    sentence = "The link is for the model <b>x</b>, which this server does not have."
    assert page.text("#error") == sentence
    assert page.text() == "0789"
    assert page.page.input_value("#beam-size") == "5"
    # edits that the server refuses are undone
    pins = '{"changes":[],"prefix":[],"pins":{"0":99},"end":null}'
    with page.answered():
        page.page.evaluate(
            "edits => { location.hash = new URLSearchParams({ text: '4321', edits }); }", pins
        )
    assert "The edit was undone." in page.text("#error")
    assert page.text() == "1234"


def test_the_text_can_be_counted_cleared_and_restored(visit):
    page = visit()
    page.write("12😀")
    assert page.text("#counter") == "3 / 200 characters"
    page.page.fill("#text", "1\n" + "2" * 201)
    assert page.text("#counter") == "line 2 of 2 · 201 / 200 characters"
    assert "exceeded" in page.page.get_attribute("#counter", "class")
    page.page.click("#clear")
    page.page.wait_for_selector("#empty", state="visible")
    assert page.page.input_value("#text") == ""
    assert page.page.is_disabled("#clear")
    page.page.keyboard.press("Control+z")
    assert page.page.input_value("#text") == "1\n" + "2" * 201


def test_a_text_file_is_opened_and_another_file_is_refused(visit, tmp_path):
    page = visit()

    def choose(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        page.page.set_input_files("#file", path)

    for name, content in (
        ("dos.txt", "\ufeff1234\r\n987\r\n".encode()),
        ("utf16.tsv", "1234\n987".encode("utf-16")),
    ):
        with page.answered():
            choose(name, content)
        assert page.page.input_value("#text") == "1234\n987"
        page.page.fill("#text", "")
    for name, content, sentence in (
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0", "picture.png is not a text file"),
        ("zeros.txt", b"a\0b", "zeros.txt is not a text file"),
        ("long.txt", b"1\n" * 5001, "long.txt has 5,001 lines; the page takes at most 5,000."),
        ("large.txt", b"1" * 1_000_001, "large.txt is larger than 1 MB."),
    ):
        choose(name, content)
        page.page.wait_for_function(
            "text => document.querySelector('#error').textContent.startsWith(text)", arg=sentence
        )
    assert page.page.input_value("#text") == ""


def downloaded(page, kind):
    with page.page.expect_download() as download:
        page.page.click(f"#download-{kind}")
    return download.value.path().read_text(encoding="utf-8-sig")


def test_results_of_all_lines_can_be_downloaded(visit, models):
    page = visit()
    page.write("1234\n\n" + "1" * 201 + "\n98Ω7")
    page.page.wait_for_selector("#lines .refused")
    page.page.wait_for_selector("#progress", state="hidden")
    rows = list(csv.DictReader(downloaded(page, "tsv").splitlines(), delimiter="\t"))
    assert [row["line"] for row in rows] == ["1", "2", "3", "4"]
    expected = models["bahdanau2015"].translate(["1234", "98Ω7"], beam_size=5)
    for row, one in zip((rows[0], rows[3]), expected, strict=True):
        assert (row["source"], row["output"]) == (one.source, one.text)
        assert float(row["log_probability"]) == pytest.approx(one.score, abs=1e-6)
        lowest = 2.718281828 ** min(one.token_scores)
        assert float(row["lowest_token_probability"]) == pytest.approx(lowest, rel=1e-3)
    assert [row["unknown_tokens"] for row in rows] == ["", "", "", "Ω"]
    assert rows[2]["error"].startswith("The line has 201 characters")
    results = json.loads(downloaded(page, "json"))
    assert (results["model"], results["beam_size"]) == ("bahdanau2015", 5)
    assert [one.get("text") for one in results["results"]] == [
        expected[0].text,
        None,
        None,
        expected[1].text,
    ]
    assert page.text("#copy-status") == "Saved as bahdanau2015.json."
