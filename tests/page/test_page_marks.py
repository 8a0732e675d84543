"""What the page marks: unknown and unsure tokens, the end; and where it puts things."""

import numpy as np


def test_text_and_heatmap_are_side_by_side_above_the_fold(visit):
    page = visit(width=1280, height=800)
    page.choose("vaswani2017")
    page.write("1234567")
    text = page.page.locator("#text").bounding_box()
    for selector in ("#translation", ".heatmap"):
        box = page.page.locator(selector).bounding_box()
        assert box["x"] > text["x"] + text["width"]
        assert box["y"] + box["height"] <= 800
    page.see("side-by-side")


def test_unknown_tokens_are_marked_and_named(visit):
    page = visit()
    page.write("98Ω7")
    assert page.page.locator(".token.unknown .word").all_text_contents() == ["Ω"]
    assert "unknown to the model" in page.text(".token.unknown")
    header = page.page.locator(".heatmap .label.unknown")
    assert header.get_attribute("aria-label") == "source \u2068Ω\u2069, unknown to the model"
    assert "the model does not know \u2068Ω\u2069." in page.text("#legend")
    page.see("unknown")
    page.write("9877")
    assert page.page.locator(".unknown").count() == 0
    assert "unknown" not in page.text("#legend")
    with page.answered():
        page.choose("many-heads")
    page.write("abC")
    assert "It knows \u2068c\u2069, which differs in upper or lower case." in page.text("#legend")


def test_unsure_tokens_differ_from_sure_ones_everywhere(visit, models):
    page = visit()
    page.choose("many-heads")
    page.write("abc\nabcj")
    answer = models["many-heads"].translate("abcj", beam_size=5)
    unsure = [step for step, score in enumerate(answer.token_scores) if np.exp(score) < 0.5]
    assert unsure
    marked = page.page.locator("#tokens .unsure")
    assert [int(x.get_attribute("data-target")) for x in marked.all()] == unsure
    assert marked.first.get_attribute("aria-label").endswith(", unsure")
    assert f"{len(unsure)} output tokens below 50 %" in page.text("#legend")
    assert page.page.locator(".heatmap .label.unsure").count() == len(unsure)
    spelled = "".join(answer.tokens[step] for step in unsure if step < len(answer.tokens))
    assert "".join(page.page.locator(".unsure-text").all_text_contents()) == spelled
    assert page.text() == answer.text
    page.page.wait_for_selector("#lines .line-marks >> nth=1")
    page.see("unsure")


def test_the_end_sign_is_explained(visit):
    page = visit()
    page.write("1234")
    assert page.text("#legend") == "■ end: here the model decides that the output is complete."


def picture(page):
    """Read the small maps back, as colors."""
    return page.page.eval_on_selector_all(
        "#head-grid canvas",
        """nodes => nodes.map(node => [node.width, node.height, [...node.getContext("2d")
            .getImageData(0, 0, node.width, node.height).data].filter((_, n) => n % 4 < 3)])""",
    )


def weights(page, shape):
    selector = "#head-map [data-weight]"
    values = page.page.eval_on_selector_all(selector, "all => all.map(n => +n.dataset.weight)")
    return np.reshape(values, shape)


def test_all_heads_of_all_attentions_are_the_models(visit, models):
    page = visit()
    page.choose("many-heads")
    requests = []
    page.page.on("request", lambda one: one.post_data and requests.append(one.post_data_json))
    page.write("abcj")
    assert not any("self_attention" in one for one in requests)
    with page.answered():
        page.page.click("#heads-details summary")
    page.page.wait_for_selector("#head-grid canvas")
    answer = models["many-heads"].translate("abcj", beam_size=5, self_attention=True)
    parts = [answer.encoder_self_attention, answer.decoder_self_attention, answer.layers]
    for index, part in enumerate(parts):
        page.page.click(f"#head-parts label >> nth={index}")
        pictures = picture(page)
        assert len(pictures) == 6
        page.page.click("#head-grid [data-layer='2'][data-head='1']")
        queries, keys = part.shape[0], part.shape[3]
        near = {"rtol": 0, "atol": 1e-6}
        np.testing.assert_allclose(weights(page, (queries, keys)), part[:, 2, 1], **near)
        assert pictures[5][:2] == [keys, queries]
        colors = page.page.evaluate(
            "async all => all.flatMap((await import('./colors.js')).ramp)",
            part[:, 2, 1].ravel().tolist(),
        )
        assert pictures[5][2] == colors
    page.page.click("#head-views label >> nth=1")
    lines = page.page.eval_on_selector_all(
        "#head-map line", "all => all.map(({ dataset: d }) => [+d.query, +d.key, +d.weight])"
    )
    expected = [[t, s, w] for (t, s), w in np.ndenumerate(parts[2][:, 2, 1]) if w >= 0.01]
    np.testing.assert_allclose(lines, expected, rtol=0, atol=1e-6)
    page.page.locator("#head-map .query >> nth=0").focus()
    assert "looks at" in page.text("#head-readout")
    page.page.keyboard.press("ArrowDown")
    assert page.page.locator("#head-map line.highlighted").first.get_attribute("data-query") == "1"
    page.see("heads-as-lines")
    page.choose("cho2014")
    page.page.wait_for_selector("#heads-details", state="hidden")
