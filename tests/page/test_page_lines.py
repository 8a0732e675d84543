"""Many lines, the cursor among them, and letters that are still being composed."""

import json

from page_driver import serving


def others(page):
    """Wait until every line of the list has something beside it, and return that."""
    page.page.wait_for_function(
        "() => ![...document.querySelectorAll('#lines .to')].some(node => node.textContent === '…')"
    )
    return page.page.locator("#lines .to").all_text_contents()


def listened(page):
    """Return a list that grows with every text that the page asks for."""
    texts = []

    def hear(request):
        if request.method == "POST":
            texts.append(json.loads(request.post_data)["text"])

    page.page.on("request", hear)
    return texts


def test_text_of_an_input_method_is_translated_when_composition_ends(visit):
    page = visit()
    texts = listened(page)
    page.page.clock.install()
    page.page.focus("#text")
    keyboard = page.page.context.new_cdp_session(page.page)
    for part in ("y", "yi", "yi'er"):
        ends = {"selectionStart": len(part), "selectionEnd": len(part)}
        keyboard.send("Input.imeSetComposition", {"text": part, **ends})
        page.page.clock.run_for(1000)
    assert page.page.input_value("#text") == "yi'er"
    assert page.text("#announcer") == ""
    with page.answered():
        keyboard.send("Input.insertText", {"text": "1234"})
        page.page.clock.run_for(1000)
    assert page.text() == "4321"
    assert texts == ["1234"]
    page.see("composed")


def test_a_composition_that_begins_in_a_pause_waits_for_its_end(visit):
    page = visit()
    texts = listened(page)
    page.page.clock.install()
    page.page.focus("#text")
    page.page.keyboard.type("3")
    keyboard = page.page.context.new_cdp_session(page.page)
    one = {"text": "y", "selectionStart": 1, "selectionEnd": 1}
    keyboard.send("Input.imeSetComposition", one)
    page.page.clock.run_for(1000)
    assert texts == []
    with page.answered():
        keyboard.send("Input.insertText", {"text": "1"})
        page.page.clock.run_for(1000)
    assert texts == ["31"]


def test_the_page_offers_and_requests_only_small_beams(visit, models):
    assert models["arabic"].settings.search.beam_size == 1
    with serving({"arabic": models["arabic"]}, beam_size=2) as (address, _):
        page = visit(address)
        page.write("خب")
        assert page.page.locator("#beam-size option").all_text_contents() == ["1", "2"]
        assert page.page.input_value("#beam-size") == "2"
        page.see("small-beam")


def test_a_models_default_beam_is_offered_even_if_it_is_larger(visit, models):
    assert models["bahdanau2015"].settings.search.beam_size == 5
    with serving({"bahdanau2015": models["bahdanau2015"]}, beam_size=2) as (address, _):
        page = visit(address)
        page.write("1234")
        assert page.page.input_value("#beam-size") == "5"
        assert "8" not in page.page.locator("#beam-size option").all_text_contents()


def test_many_lines_are_split_into_several_requests(visit, models):
    with serving({"bahdanau2015": models["bahdanau2015"]}, lines=3) as (address, _):
        page = visit(address)
        texts = listened(page)
        lines = [str(number) for number in range(1000, 1009)]
        page.write("\n".join(lines))
        expected = models["bahdanau2015"].translate(lines, beam_size=5)
        assert others(page) == [one.text for one in expected]
        assert [text for text in texts if isinstance(text, list)] == [
            lines[0:3],
            lines[3:6],
            lines[6:8],
        ]
        assert page.text("#error") == ""
        page.see("portions")


def test_the_line_with_the_cursor_is_displayed(visit):
    page = visit()
    page.write("1234\n9870")
    assert others(page) == ["4321", "0789"]
    assert page.text() == "0789"
    page.page.focus("#text")
    with page.answered():
        page.page.keyboard.press("ArrowUp")
    assert page.text() == "4321"
    assert page.page.get_attribute("#lines button >> nth=0", "aria-current") == "true"
    page.see("cursor-moved")


def test_moving_within_a_line_or_selecting_all_sends_no_request(visit):
    page = visit()
    page.write("1234\n9870")
    others(page)
    texts = listened(page)
    page.page.clock.install()
    page.page.focus("#text")
    page.page.keyboard.press("ArrowLeft")
    page.page.clock.run_for(1000)
    page.page.keyboard.press("Control+a")
    page.page.clock.run_for(1000)
    assert page.text() == "0789"
    assert texts == []
