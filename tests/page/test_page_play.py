"""What people do with the page: type, look, change, pin, undo, copy."""

import numpy as np
from page_driver import cell, serving

from regard.translator import Translator
from small_models import SOURCE, saved, side


def test_typing_translates_without_a_button_and_notifies_a_screen_reader(visit):
    page = visit()
    assert page.page.get_by_label("Your text", exact=True).get_attribute("id") == "text"
    page.see("empty")
    page.type("1234")
    assert page.text() == "4321"
    assert page.text("#announcer") == "Translation: 4321"
    assert page.tokens() == ["4", "3", "2", "1", "■"]
    assert page.text("#heatmap-panel [role=columnheader] >> nth=0") == "\u20681\u2069"
    page.see("typed")


def test_an_empty_input_clears_the_output(visit):
    page = visit()
    page.write("1234")
    page.page.fill("#text", "  ")
    page.page.wait_for_selector("#details", state="hidden")
    assert page.page.is_visible("#empty")


def test_pointing_at_a_cell_lights_up_its_two_words_and_reads_its_weight(visit):
    page = visit()
    page.write("1234")
    page.page.hover(cell(1, 2))
    assert page.page.eval_on_selector_all(
        "#tokens .highlighted",
        "nodes => nodes.map(node => [node.dataset.target, node.dataset.source])",
    ) == [[None, "2"], ["1", None]]
    weight = page.weights()[1][2]
    assert float(page.page.get_attribute("#readout", "data-weight")) == weight
    assert f"\u20683\u2069 from \u20683\u2069: {weight:.6f}" in page.text("#readout")
    assert page.page.is_hidden("#tooltip")
    page.see("hover")
    page.page.mouse.move(1, 1)
    assert page.page.locator("#tokens .highlighted").count() == 0


def test_a_weight_appears_at_the_cell_if_its_usual_place_is_out_of_sight(visit):
    page = visit(height=300)
    page.write("1234")
    page.page.hover(cell(4, 0))
    assert page.page.is_visible("#tooltip")
    assert page.text("#tooltip") == page.text("#readout")


def test_pointing_at_an_output_token_tints_the_source_by_its_weights(visit):
    page = visit()
    page.write("1234")
    page.page.hover('#tokens button[data-target="0"]')
    tints = page.page.eval_on_selector_all(
        "#tokens .tinted", "nodes => nodes.map(n => Number(n.style.getPropertyValue('--fraction')))"
    )
    assert tints == page.weights()[0]


def test_an_alternative_token_is_forced_and_the_rest_is_decoded_again(visit, models):
    page = visit()
    page.write("1234")
    page.page.click('#tokens button[data-target="1"]')
    page.see("alternatives")
    offered = page.page.eval_on_selector_all(
        "#menu [data-token]", "nodes => nodes.map(n => [n.dataset.token, Number(n.dataset.score)])"
    )
    expected = models["bahdanau2015"].translate("1234", beam_size=5, candidates=8).candidates[1]
    assert offered == [list(pair) for pair in expected]
    other = offered[1][0]
    page.page.keyboard.press("Escape")
    page.take(1, other)
    tokens = page.tokens()
    assert tokens[:2] == ["4", other]
    again = models["bahdanau2015"].translate("1234", beam_size=5, prefix=["4", other])
    assert page.text() == again.text
    assert page.text(".chip span") == f"2: \u20683\u2069 → \u2068{other}\u2069"
    assert page.page.get_attribute('#tokens button[data-target="1"]', "aria-label").endswith(
        ", changed"
    )
    assert page.text("#before del >> nth=0") == "3"
    page.see("word-changed")


def test_a_copied_unknown_before_a_change_stays_a_copy(visit):
    unsure = Translator(saved("bahdanau2015", seed=3, sides=(side(SOURCE), side(SOURCE))))
    with serving({"unsure": unsure}) as (address, _):
        page = visit(address)
        page.write("abcj")
        copied = unsure.translate("abcj", beam_size=5)
        assert page.tokens()[:-1] == list(copied.tokens)
        assert copied.unknown[:2] == (True, True)
        page.page.click('#tokens button[data-target="1"]')
        now = page.page.locator('#menu [data-token][aria-checked="true"]')
        assert now.get_attribute("data-token") == "<unk>"
        assert now.locator(".word").text_content() == copied.tokens[1]
        page.see("menu-of-a-copy")
        page.page.keyboard.press("Escape")
        page.take(1, "a")
        again = unsure.translate("abcj", beam_size=5, prefix=[None, "a"])
        assert page.text() == again.text
        assert page.scores() == list(again.token_scores)


def test_a_pinned_step_attends_to_its_source_token_alone(visit, models):
    page = visit()
    page.write("1234")
    page.pin(0, 1)
    assert page.weights()[0] == [0, 1, 0, 0]
    pinned = models["bahdanau2015"].translate("1234", beam_size=5, pin={0: 1})
    assert page.text() == pinned.text != "4321"
    assert page.scores() == list(pinned.token_scores)
    assert "attends to" in page.text(".chip span")
    page.see("pinned")
    page.pin(0, 1)
    assert page.text() == "4321"
    assert page.page.locator(".chip").count() == 0


def test_changes_can_be_undone_redone_and_removed_one_by_one(visit):
    page = visit()
    page.write("1234")
    page.take(3, "8")
    page.pin(0, 1)
    changed = page.text()
    with page.answered():
        page.page.click("#undo")
    assert page.text() == "4328"
    with page.answered():
        page.page.keyboard.press("Control+z")
    assert page.text() == "4321"
    page.see("undone")
    with page.answered():
        page.page.keyboard.press("Control+Shift+z")
    with page.answered():
        page.page.keyboard.press("Control+y")
    assert page.text() == changed
    assert page.page.is_disabled("#redo")
    with page.answered():
        page.page.click(".chip >> nth=1 >> button")
    assert page.text() == "4328"
    with page.answered():
        page.page.click(".chip button")
    assert page.text() == "4321"


def test_the_first_of_two_changes_can_be_removed_without_the_second(visit):
    page = visit()
    page.write("1234")
    page.take(0, "9")
    page.take(2, "9")
    tokens = page.tokens()
    assert [tokens[0], tokens[2]] == ["9", "9"]
    with page.answered():
        page.page.click(".chip >> nth=0 >> button")
    assert page.tokens()[:3] == ["4", tokens[1], "9"]
    assert page.page.locator(".chip").count() == 1


def test_ctrl_z_in_the_text_field_undoes_typing_only(visit):
    page = visit()
    page.write("1234")
    page.take(0, "9")
    page.page.focus("#text")
    page.page.keyboard.press("Control+z")
    assert page.page.is_enabled("#undo")


def test_an_output_can_be_ended_earlier_or_continued(visit):
    page = visit()
    page.write("1234")
    page.take(3, "</s>")
    assert page.tokens() == ["4", "3", "2", "■"]
    assert page.text(".chip span") == "4: \u20681\u2069 → \u2068■\u2069"
    with page.answered():
        page.page.click("#undo")
    page.take(4, "7")
    assert page.tokens()[:5] == ["4", "3", "2", "1", "7"]


def test_an_n_best_output_can_be_selected_and_deselected(visit, models):
    page = visit()
    page.write("1234")
    best = models["bahdanau2015"].translate("1234", beam_size=5, nbest=5).alternatives
    assert page.page.locator("#nbest .to").all_text_contents() == [one.text for one in best]
    assert page.page.locator("#nbest .rank").all_text_contents() == ["1", "2", "3", "4", "5"]
    listed = [
        float(x.replace("−", "-")) for x in page.page.locator("#nbest .number").all_text_contents()
    ]
    np.testing.assert_allclose(listed, [one.rank_score for one in best], atol=0.005)
    assert listed == sorted(listed, reverse=True)
    assert "÷ length, best first" in page.text("#ranking")
    with page.answered():
        page.page.click("#nbest li >> nth=2 >> button")
    assert page.text() == best[2].text
    assert page.page.locator("#nbest li").count() == 5
    assert abs(sum(page.scores()) - best[2].score) < 1e-6
    page.see("another-of-the-best")
    with page.answered():
        page.page.click("#nbest li >> nth=0 >> button")
    assert page.text() == "4321"


def test_the_search_tree_has_every_branch_and_emphasizes_the_selected_path(visit, models):
    page = visit()
    page.write("1234")
    page.page.click("#search-details summary")
    page.page.wait_for_selector(".tree")
    tree = models["bahdanau2015"].translate("1234", beam_size=5, nbest=5, tree=True).tree
    assert page.page.locator(".tree text").count() == len(tree)
    way = page.page.eval_on_selector_all(
        ".tree text.best", "nodes => nodes.map(node => node.childNodes[0].textContent)"
    )
    assert [label.strip("\u2068\u2069") for label in way] == ["4", "3", "2", "1", "■"]
    page.see("tree")


def test_each_line_is_translated_and_the_selected_one_is_displayed(visit):
    page = visit()
    page.write("1234\n\n9870\n31")
    page.page.wait_for_function("() => document.querySelectorAll('#lines li').length === 3")
    page.page.wait_for_function(
        "() => ![...document.querySelectorAll('#lines .to')].some(node => node.textContent === '…')"
    )
    assert page.page.locator("#lines .to").all_text_contents()[:2] == ["4321", "0789"]
    # the caret is in the last line
    assert page.page.get_attribute("#lines button >> nth=2", "aria-current") == "true"
    assert page.page.locator("#tokens li .word").all_text_contents() == ["3", "1"]
    with page.answered():
        page.page.click("#lines button >> nth=1")
    assert page.text() == "0789"
    assert page.page.get_attribute("#lines button >> nth=1", "aria-current") == "true"
    page.see("several-lines")
    lines = page.copied("text").split("\n")
    assert lines[:3] == ["4321", "", "0789"]


def test_changes_are_restored_after_switching_models_and_back(visit):
    page = visit()
    page.write("1234")
    page.take(3, "8")
    with page.answered():
        page.choose("vaswani2017")
    assert "vaswani2017" in page.text("#model-facts")
    assert page.text() == "4321"
    assert page.page.locator(".chip").count() == 0
    page.see("another-model")
    with page.answered():
        page.choose("bahdanau2015")
    assert page.text() == "4328"


def test_copying_to_the_clipboard_is_announced(visit):
    page = visit()
    page.write("1234")
    assert page.copied("text") == "4321"
    assert page.text("#copy-status") == "The text was copied."
    assert page.copied("svg").startswith("<svg ")
    assert page.text("#copy-status") == "The picture was copied as SVG."
    page.see("copied")


def test_copying_works_without_the_clipboard_api(visit):
    page = visit()
    page.write("1234")
    page.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.page.click("#copy-text")
    page.page.wait_for_function("() => document.querySelector('#copy-status').textContent !== ''")
    assert page.text("#copy-status") == "The text was copied."
    assert page.page.evaluate("navigator.clipboard.readText()") == "4321"
    page.page.evaluate("() => { document.execCommand = () => false; }")
    page.page.click("#copy-svg")
    page.page.wait_for_function(
        "() => document.querySelector('#copy-status').textContent.includes('not')"
    )
    assert page.text("#copy-status") == "The browser did not allow copying."
