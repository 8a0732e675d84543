"""The numbers of the page, of its SVG and of its JSON are the model's: forced, they come again."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from page_driver import serving

NEAR = {"rtol": 0, "atol": 1e-6}
SCORES = {"rtol": 1e-6, "atol": 1e-6}


def forced(models, name, source, tokens):
    return models[name].rescore([(source, tokens)])[0]


@pytest.mark.parametrize(
    ("name", "source"),
    [("bahdanau2015", "1234"), ("vaswani2017", "31415"), ("many-heads", "abcj"), ("arabic", "خبت")],
)
def test_weights_and_scores_of_the_page_equal_those_of_forced_decoding(visit, models, name, source):
    page = visit()
    page.choose(name)
    page.write(source)
    answer = json.loads(page.copied("json"))
    again = forced(models, name, source, answer["translation"]["tokens"])
    np.testing.assert_allclose(page.weights(), again.attention, **NEAR)
    np.testing.assert_allclose(page.scores(), again.token_scores, **SCORES)
    np.testing.assert_allclose(answer["translation"]["attention"], again.attention, **NEAR)
    np.testing.assert_allclose(answer["translation"]["token_scores"], again.token_scores, **SCORES)
    assert answer["model"] == answer["request"]["model"] == name
    np.testing.assert_allclose(weights_of(page.copied("svg")), again.attention, **NEAR)


def weights_of(svg):
    """Read a copied picture back, as anybody could."""
    cells = [cell for cell in ElementTree.fromstring(svg).iter() if "data-weight" in cell.attrib]
    columns = 1 + max(int(cell.attrib["data-column"]) for cell in cells)
    weights = np.array([float(cell.attrib["data-weight"]) for cell in cells])
    return weights.reshape(-1, columns)


def test_numbers_after_a_change_are_those_of_the_changed_output(visit, models):
    page = visit()
    page.write("1234")
    page.take(1, "7")
    tokens = page.tokens()[:-1]
    again = forced(models, "bahdanau2015", "1234", tokens)
    assert tokens[1] == "7"
    np.testing.assert_allclose(page.weights(), again.attention, **NEAR)
    np.testing.assert_allclose(page.scores(), again.token_scores, **SCORES)


def test_every_layer_head_and_average_equals_the_models(visit, models):
    page = visit()
    page.choose("many-heads")
    page.write("abcj")
    tokens = json.loads(page.copied("json"))["translation"]["tokens"]
    layers = forced(models, "many-heads", "abcj", tokens).layers
    assert layers.shape[1:3] == (3, 2)
    with page.answered():
        page.page.select_option("#head", "1")
    for layer in (None, 0, 1, 2):
        page.page.select_option("#layer", "mean" if layer is None else str(layer + 1))
        for head in (None, 0, 1):
            page.page.select_option("#head", "mean" if head is None else str(head + 1))
            picked = layers if layer is None else layers[:, [layer]]
            picked = picked if head is None else picked[:, :, [head]]
            np.testing.assert_allclose(page.weights(), picked.mean(axis=(1, 2)), **NEAR)
    page.see("layers-and-heads")


def test_layers_and_heads_are_requested_when_one_is_selected(visit):
    page = visit()
    requests = []
    page.page.on("request", lambda one: one.post_data and requests.append(one.post_data_json))
    page.choose("many-heads")
    page.write("abcj")
    assert page.page.is_visible("#layer-head")
    assert not any("layers" in one for one in requests)
    average = page.weights()
    requests.clear()
    with page.answered():
        page.page.select_option("#layer", "2")
    assert [one["layers"] for one in requests] == [True]
    assert page.weights() != average
    page.page.select_option("#head", "1")
    page.page.select_option("#head", "mean")
    page.page.select_option("#layer", "mean")
    assert page.weights() == average
    assert len(requests) == 1
    page.write("abcjj")
    assert "layers" not in requests[-1]
    page.choose("bahdanau2015")
    page.write("1234")
    assert page.page.is_hidden("#layer-head")


def test_a_missing_layer_has_no_attention_map(visit, models):
    with serving({"many-heads": models["many-heads"]}) as (address, stop):
        page = visit(address)
        page.write("abcj")
        stop()
        page.page.select_option("#layer", "2")
        page.page.wait_for_selector("#retry", state="visible")
        page.page.set_viewport_size({"width": 700, "height": 900})
        page.page.wait_for_selector(".heatmap", state="detached")
        page.page.select_option("#layer", "mean")
        page.page.wait_for_selector(".heatmap")
        page.see("no-such-layer")


def test_influence_by_gradient_is_displayed_beside_attention(visit, models):
    page = visit()
    page.write("1234")
    with page.answered():
        page.page.click("#views label >> nth=2")
    page.page.wait_for_selector('.heatmap[data-kind="influence"]')
    answer = models["bahdanau2015"].translate("1234", beam_size=5)
    influence = models["bahdanau2015"].influence(answer)
    np.testing.assert_allclose(page.weights("influence"), influence, **NEAR)
    np.testing.assert_allclose(page.weights("attention"), answer.attention, **NEAR)
    both = weights_of(page.copied("svg"))
    np.testing.assert_allclose(both, [*answer.attention, *influence], **NEAR)
    assert "by gradient" in page.text('figure[data-kind="influence"] figcaption')
    page.see("attention-and-influence")


def test_a_model_without_attention_says_so_and_displays_influence(visit, models):
    page = visit()
    page.choose("cho2014")
    page.write("1234")
    answer = models["cho2014"].translate("1234", beam_size=5)
    influence = models["cho2014"].influence(answer)
    np.testing.assert_allclose(page.weights("influence"), influence, **NEAR)
    assert page.page.locator('.heatmap[data-kind="attention"]').count() == 0
    assert page.page.is_hidden("#views")
    assert page.text("#heatmap-title") == "What influenced it"
    assert page.text("figcaption").startswith("cho2014 has no attention: ")
    page.see("no-attention")
    page.page.click('#tokens button[data-target="0"]')
    assert page.page.locator("#menu [data-pin]").count() == 0


def test_the_confidence_of_a_token_is_e_to_its_score(visit):
    page = visit()
    page.choose("many-heads")
    page.write("abcj")
    probabilities = page.page.eval_on_selector_all(
        "#tokens button", "nodes => nodes.map(node => Number(node.dataset.probability))"
    )
    np.testing.assert_allclose(probabilities, np.exp(page.scores()), rtol=1e-12)
    share = 100 * probabilities[0]
    written = page.text("#tokens button >> nth=0 >> .number")
    assert written == (f"{share:.0f} %" if share >= 9.95 else f"{share:.1f} %")
