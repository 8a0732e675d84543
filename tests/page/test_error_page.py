"""The page of `regard errors`, in a browser: its filters, and that it runs nothing else."""

import pytest

from regard.metrics.error_analysis import AnalyzedLine, AnalyzedOutput, ErrorAnalysis
from regard.metrics.line_groups import LENGTH, TAG
from regard.viz.error_page import to_error_page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def analysis():
    lines = []
    for number in range(250):
        source, expected = f"w{number}", "abc"
        outputs = ("abc" if number % 5 else "abd", "xabc" if number % 2 else "abc")
        if number == 7:
            source = HOSTILE
        groups = {
            TAG: ("N",) if number < 100 else ("V",),
            LENGTH: ("1–3",) if number % 3 else ("4–5",),
        }
        analyzed = tuple(AnalyzedOutput.of(x, [expected], "character", -1.0) for x in outputs)
        lines.append(AnalyzedLine(number + 1, source, (expected,), groups, analyzed))
    return ErrorAnalysis(("one.regard", "two.regard"), "character", lines)


@pytest.fixture
def page(browser, tmp_path):
    path = tmp_path / "errors.html"
    path.write_text(to_error_page(analysis().to_json(), "test.tsv"), encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    said, requests = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert said == []
    assert requests == [path.as_uri()]


def count(page):
    return page.inner_text("#count")


def test_lines_are_filtered_sorted_and_marked(page):
    assert count(page) == "250 of 250 sources"
    assert page.locator("#list > li").count() == 100
    page.click("#more")
    assert page.locator("#list > li").count() == 200
    page.select_option("select[name=verdict]", "only A")
    # every other line but those that A has wrong too
    assert count(page) == "100 of 250 sources"
    page.select_option("select[name=tag]", "N")
    assert count(page) == "40 of 250 sources"
    page.fill("input[name=text]", "w11")
    assert count(page) == "1 of 250 sources"
    assert page.locator("#list mark").all_inner_texts() == ["x"]
    page.click("text=Clear")
    assert count(page) == "250 of 250 sources"
    # an edit in the table filters the lines that have it
    page.click('button[data-factor="edit A"]')
    assert count(page) == "50 of 250 sources"
    assert page.locator("#list mark").nth(0).inner_text() in ("c", "d")
    page.select_option("select[name=order]", "most edits first")
    assert "2 edits" not in page.locator("#list > li").nth(0).inner_text()
    # no sideways scrolling on a phone
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_texts_are_whole(page):
    row = page.locator("#list > li").nth(10)
    assert row.locator(".rows bdi").all_inner_texts() == ["abc", "abd", "abc"]
    page.fill("input[name=text]", "xabc")
    assert count(page) == "125 of 250 sources"


def test_words_keep_their_spaces(browser, tmp_path):
    output = AnalyzedOutput.of("the old dog sat", ["the cat sat down"], "word", -1.0)
    line = AnalyzedLine(1, "s", ("the cat sat down",), {}, (output,))
    path = tmp_path / "words.html"
    content = to_error_page(ErrorAnalysis(("m",), "word", [line]).to_json(), "test.tsv")
    path.write_text(content, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.locator(".rows bdi").all_inner_texts() == ["the cat sat down", "the old dog sat"]
    page.close()


def test_hostile_text_stays_text(page):
    page.fill("input[name=text]", "onerror")
    assert count(page) == "1 of 250 sources"
    assert page.locator("#list bdi").nth(0).inner_text() == HOSTILE
    assert page.locator("img").count() == 0
