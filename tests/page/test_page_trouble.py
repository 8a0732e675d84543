"""What goes wrong is told in one sentence, and what comes too late is not shown."""

import asyncio
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from page_driver import COMPAT, Slow, cell, serving, serving_app

from regard.server import create_app
from regard.translator import Translator
from small_models import saved


@pytest.fixture
def slow():
    """Return a model that answers when it is let go, whatever becomes of the test."""
    translator = Translator(saved())
    held = Slow(translator)
    held.translator = translator
    yield held
    held.go.set()


def problem(page, text):
    page.page.wait_for_function(
        "text => document.querySelector('#error').textContent.includes(text)", arg=text
    )
    return page.text("#error")


def test_a_line_that_is_too_long_gets_the_servers_error_message(visit, address):
    page = visit()
    page.write("9870")
    page.page.fill("#text", "1" * 201)
    response = httpx.post(f"{address}v1/translate", json={"text": "1" * 201})
    assert response.status_code in (413, 422)
    assert problem(page, "200") == response.json()["detail"]
    assert page.page.get_attribute("#error", "role") == "alert"
    assert page.text() == "0789"
    assert "the last result, for \u20689870\u2069" in page.text("#stale")
    page.page.click('#tokens button[data-target="0"]')
    assert page.page.is_hidden("#menu")
    page.see("too-long")
    page.page.click("#language")
    assert "9870" in page.text("#stale")
    page.write("1234")
    assert page.text("#error") == ""
    assert page.page.is_hidden("#stale")


def test_a_refused_line_has_its_error_in_place_and_others_are_translated(visit):
    page = visit()
    page.write("1234\n" + "1" * 201 + "\n9870\n" + "2" * 202 + "\n5678")
    page.page.wait_for_function("() => document.querySelectorAll('#lines .refused').length === 2")
    texts = page.page.locator("#lines .to").all_text_contents()
    assert texts[0::2] == ["4321", "0789", "8765"]
    for sentence, count in zip(texts[1::2], (201, 202), strict=True):
        assert sentence.startswith(f"The line has {count} characters; it must have at most 200")
    assert page.page.get_attribute("#lines .refused >> nth=0", "lang") == "en"
    assert page.text("#error") == ""
    page.see("lines-refused")


def test_a_change_survives_the_refusal_of_another_line(visit, models):
    page = visit()
    page.write("1" * 201 + "\n1234")
    page.page.wait_for_selector("#lines .refused")
    page.take(0, "9")
    changed = models["bahdanau2015"].translate("1234", beam_size=5, prefix=["9"]).text
    assert page.text() == changed
    page.page.wait_for_selector("#progress", state="hidden")
    assert page.page.locator(".chip").count() == 1
    assert page.page.locator("#before del").count() > 0
    assert page.text("#error") == ""
    page.see("changed-beside-a-refused-line")


def test_a_stopped_server_is_reported_and_retried(visit, models):
    with serving({"bahdanau2015": models["bahdanau2015"]}) as (address, stop):
        page = visit(address)
        page.write("1234")
        stop()
        page.page.fill("#text", "987")
        sentence = "The server cannot be reached. It may have been stopped."
        assert problem(page, "reached") == sentence
        assert page.page.is_visible("#retry")
        page.see("server-stopped")
        page.page.click("#language")
        assert page.text("#error") == "无法连接服务器，它可能已停止。"  # noqa: RUF001


def test_a_slow_response_shows_a_busy_indicator(visit, slow):
    with serving({"slow": slow.translator}) as (address, _):
        page = visit(address)
        page.page.fill("#text", "abc")
        page.page.wait_for_selector("#progress", state="visible")
        assert page.page.get_attribute("#output", "aria-busy") == "true"
        page.see("working")
        with page.answered():
            slow.go.set()
        page.page.wait_for_selector("#progress", state="hidden")
        assert page.page.get_attribute("#output", "aria-busy") == "false"


def test_an_outdated_response_is_dropped(visit, slow):
    with serving({"slow": slow.translator}) as (address, _):
        page = visit(address)
        page.page.fill("#text", "abc")
        assert slow.began.wait(10)
        with page.answered():
            with page.page.expect_request(lambda one: "jih" in (one.post_data or "")):
                page.page.fill("#text", "jih")
            slow.go.set()
        assert "".join(page.page.locator("#tokens li .word").all_text_contents()) == "jih"
        page.page.wait_for_timeout(300)
        assert page.output("responses") == "1"


def test_a_request_to_a_full_queue_is_retried_automatically(visit, slow):
    limits = {"queue_lines": 1, "lines": 1, "batch_lines": 1}
    with serving({"slow": slow.translator}, **limits) as (address, _):
        page = visit(address)

        answers = []

        def ask(text):
            options = {"json": {"text": text}, "timeout": 30}
            answers.append(httpx.post(f"{address}v1/translate", **options).status_code)

        # one is answered, one waits, and one more is refused: then the queue is full
        waiting = [threading.Thread(target=ask, args=(text,)) for text in "abc"]
        waiting[0].start()
        assert slow.began.wait(10)
        for thread in waiting[1:]:
            thread.start()
        for _ in range(500):
            if 429 in answers:
                break
            page.page.wait_for_timeout(20)
        page.page.fill("#text", "abc")
        assert "tries again in" in problem(page, "busy")
        page.see("busy")
        with page.answered():
            slow.go.set()
        assert page.text("#error") == ""
        for thread in waiting:
            thread.join(30)


IMPOSSIBLE = """() => {
    const asked = window.fetch;
    window.fetch = (path, options) => {
        const body = options.body && JSON.parse(options.body);
        for (const at of Object.keys(body?.pin ?? {})) if (body.pin[at] === 1) body.pin[at] = 99;
        return asked(path, { ...options, body: body && JSON.stringify(body) });
    };
}"""


def test_an_impossible_change_is_undone_with_a_message(visit):
    page = visit()
    page.choose("many-heads")
    page.write("abcj")
    before = page.text()
    page.page.evaluate(IMPOSSIBLE)
    page.page.click('.heatmap [data-row="0"][data-column="1"]')
    sentence = problem(page, "undone")
    assert sentence.startswith("pin is {0: 99}; it must map")
    assert sentence.endswith(". The edit was undone.")
    assert page.text() == before
    assert page.page.locator(".chip").count() == 0
    page.page.click("#language")
    assert page.text("#error").endswith("。该修改已撤销。")
    assert page.text('#error [lang="en"]').startswith("pin is {0: 99}; it must map")
    page.see("taken-back-in-chinese")


def test_the_output_after_a_refused_change_is_that_of_the_previous_change(visit, models):
    page = visit()
    page.write("1234")
    page.page.evaluate(IMPOSSIBLE)
    # the second comes before the first is answered
    with page.answered():
        page.page.evaluate(
            """places => {
                for (const place of places)
                    document.querySelector(place).dispatchEvent(
                        new MouseEvent("click", { bubbles: true }));
            }""",
            [cell(0, 2), cell(1, 1)],
        )
    assert "undone" in page.text("#error")
    assert page.page.locator(".chip").count() == 1
    assert page.text() == models["bahdanau2015"].translate("1234", beam_size=5, pin={0: 2}).text
    assert page.weights()[0] == [0, 0, 1, 0]
    page.see("taken-back-to-the-change-before")


def test_a_change_without_a_response_is_not_displayed_as_applied(visit, models):
    with serving({"bahdanau2015": models["bahdanau2015"]}) as (address, stop):
        page = visit(address)
        page.write("1234")
        stop()
        page.page.click(cell(0, 1))
        problem(page, "reached")
        page.page.click("#language")
        assert page.text() == "4321"
        assert page.page.locator(".chip").count() == 0


def test_markup_in_a_text_is_escaped(visit):
    page = visit()
    page.write("12\n<b>1</b><img src=x onerror=alert(1)>")
    assert page.page.locator("main b, main img").count() == 0
    assert page.text("#lines .from >> nth=1") == "<b>1</b><img src=x onerror=alert(1)>"
    assert page.page.locator("#tokens li .word >> nth=0").text_content() == "<"
    page.see("markup")


def test_notes_of_the_model_are_displayed(visit):
    page = visit()
    page.write("xyz")
    assert "All tokens of the source are unknown" in page.text("#notes")


def test_a_reloaded_model_is_described_anew(visit, tmp_path):
    path = tmp_path / "digits.regard"
    shutil.copy(COMPAT / "vaswani2017.regard", path)
    app = create_app({"digits": path}, device="cpu")
    with serving_app(app) as (address, _):
        page = visit(address)
        page.write("1234")
        assert "attention: 1 layer, 2 heads" in page.text("#model-facts")
        shutil.copy(COMPAT / "bahdanau2015.regard", path)
        # the browser's event loop runs in this thread
        with ThreadPoolExecutor() as threads:
            threads.submit(asyncio.run, app.state.service.reload()).result()
        page.write("1234\n9870")
        assert "attention: 1 layer, 1 head " in page.text("#model-facts")
        assert page.text() == "0789"
        page.page.wait_for_function(
            "() => document.querySelector('#lines .to').textContent === '4321'"
        )
