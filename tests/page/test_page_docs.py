"""The API reference: each route can be tried in the browser."""

import json

import pytest


def test_a_route_can_be_tried_with_the_shown_command_and_its_response(visit, address):
    page = visit()
    page.page.goto(f"{address}docs")
    box = page.page.locator('.try-out[data-path="v1/translate"]')
    box.wait_for(state="visible")
    body = box.locator("textarea")
    assert json.loads(body.input_value()) == {"text": ["1234"], "attention": True}
    body.fill('{"text": "it\'s <b>1</b>"}')
    assert "-d '{\"text\": \"it'\\''s <b>1</b>\"}'" in box.locator(".command").text_content()
    for text, status, content in (
        ('{"text": "1234"}', 200, '"text": "4321"'),
        ('{"text": "<b>1</b>"}', 200, '"source": "<b>1</b>"'),
        ('{"txet": "1234"}', 422, "Did you mean text?"),
    ):
        body.fill(text)
        with page.page.expect_response("**/v1/translate"):
            box.get_by_role("button").click()
        page.page.wait_for_function(
            "content => document.querySelector('.try-out .answer').textContent.includes(content)",
            arg=content,
        )
        assert f"Status {status}" in box.locator(".status").text_content()
    assert page.page.locator("main b").count() == 0
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    report = axe.run(page.page, options={"resultTypes": ["violations"]}).response
    assert [
        one["id"] for one in report["violations"] if one["impact"] in ("serious", "critical")
    ] == []
    page.see("docs")
