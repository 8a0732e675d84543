"""The page for everybody: by keyboard, by ear, in the dark, on a phone, in two languages."""

import pytest
from page_driver import cell


def focused(page):
    """Return what has the focus, in a word."""
    return page.page.evaluate(
        """() => {
            const node = document.activeElement;
            const place = node.dataset.row ?? node.dataset.target;
            const kind = node.getAttribute("role") ?? node.closest("ol, ul")?.id
                ?? (node.matches("summary") ? "summary" : "");
            return node.id || node.getAttribute("name") || kind + (place ? ":" + place : "");
        }"""
    )


def tab_to(page, where):
    for _ in range(40):
        if focused(page) == where:
            return
        page.page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key never came to {where}")


def stops(page):
    """Press Tab from the text field on and list where it leads, until the end of the page."""
    page.page.focus("#text")
    places = []
    for _ in range(60):
        page.page.keyboard.press("Tab")
        if page.page.evaluate("document.activeElement === document.body"):
            break
        visible = page.page.evaluate(
            """() => {
                const node = document.activeElement;
                const seen = [node, node.nextElementSibling].filter(Boolean);
                const ring = seen.some(one => getComputedStyle(one).outlineStyle !== "none");
                const cursor = node.closest("svg")?.querySelector(".cursor");
                return ring || Number(cursor?.getAttribute("width")) > 0;
            }"""
        )
        assert visible, focused(page)
        places.append(focused(page))
    return places


def test_the_tab_key_follows_reading_order_with_visible_focus(visit):
    page = visit()
    assert focused(page) == "text"
    page.write("1234")
    page.page.locator('#tokens button[data-target="3"]').press("Enter")
    with page.answered():
        page.page.locator('#menu [data-token="8"]').press("Enter")
    places = stops(page)
    assert places[:2] == ["clear", "open-file"]
    assert places[2:8] == ["chips", "undo", ":3", "view", "gridcell:0", "nbest"]
    buttons = ["copy-text", "copy-svg", "copy-json", "copy-link", "download-tsv", "download-json"]
    assert places[-8:] == [*buttons, "summary", "summary"]


def test_tokens_and_pins_can_be_changed_and_undone_by_keyboard_alone(visit):
    page = visit()
    keys = page.page.keyboard
    page.type("1234")
    tab_to(page, ":0")
    keys.press("ArrowRight")
    keys.press("End")
    keys.press("ArrowLeft")
    assert focused(page) == ":3"
    keys.press("Enter")
    assert focused(page) == "menuitemradio"
    page.see("keyboard-menu")
    keys.press("ArrowDown")
    with page.answered():
        keys.press("Enter")
    changed = page.text()
    assert changed[:3] == "432"
    assert changed != "4321"
    assert focused(page) == ":3"
    tab_to(page, "gridcell:0")
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    assert focused(page) == "gridcell:1"
    assert float(page.page.get_attribute("#readout", "data-weight")) == page.weights()[1][1]
    with page.answered():
        keys.press("Enter")
    assert page.weights()[1] == [0, 1, 0, 0]
    assert focused(page) == "gridcell:1"
    page.see("keyboard-pinned")
    with page.answered():
        keys.press("Control+z")
    assert page.text() == changed
    with page.answered():
        keys.press("Control+z")
    assert page.text() == "4321"


def test_the_arrow_keys_reach_every_cell_and_label_of_the_map(visit):
    page = visit()
    page.write("123")
    page.page.locator(cell(0, 0)).focus()
    keys = page.page.keyboard
    keys.press("ArrowLeft")
    assert focused(page) == "rowheader:0"
    keys.press("ArrowRight")
    keys.press("ArrowUp")
    assert focused(page) == "columnheader"
    keys.press("Control+End")
    rows = len(page.tokens())
    assert focused(page) == f"gridcell:{rows - 1}"
    keys.press("ArrowDown")
    keys.press("ArrowRight")
    assert page.page.evaluate("document.activeElement.dataset.column") == "2"
    keys.press("Home")
    assert focused(page) == f"rowheader:{rows - 1}"
    keys.press("Enter")
    assert focused(page) == "menuitemradio"
    keys.press("Escape")
    assert focused(page) == f"rowheader:{rows - 1}"


def test_the_focus_returns_from_a_menu_after_the_map_is_redrawn(visit):
    page = visit()
    page.write("123")
    page.page.locator('.heatmap [role="rowheader"] >> nth=1').focus()
    page.page.keyboard.press("Enter")
    page.page.evaluate("() => { window.old = document.querySelector('.heatmap'); }")
    page.page.set_viewport_size({"width": 700, "height": 900})
    page.page.wait_for_function("() => !window.old.isConnected")
    page.page.keyboard.press("Escape")
    assert focused(page) == ":1"


def test_attention_can_be_pinned_and_released_from_the_menu(visit):
    page = visit()
    page.write("1234")
    page.page.locator('#tokens button[data-target="0"]').press("Enter")
    with page.answered():
        page.page.locator('#menu [data-pin="2"]').press("Enter")
    assert page.weights()[0] == [0, 0, 1, 0]
    page.page.locator('#tokens button[data-target="0"]').press("Enter")
    assert page.page.get_attribute('#menu [data-pin="2"]', "aria-checked") == "true"
    with page.answered():
        page.page.locator('#menu [data-pin="free"]').press("Enter")
    assert page.text() == "4321"


def test_on_a_phone_the_page_never_scrolls_sideways(visit):
    page = visit(width=360, height=740, has_touch=True)
    page.write("12345678901234567890")
    page.page.click("#search-details summary")
    page.page.click("#views label >> nth=2")
    page.page.wait_for_selector('.heatmap[data-kind="influence"]')
    sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    wide, visible = page.page.evaluate(sizes)
    assert wide <= visible <= 360
    scroller = page.page.locator("#heatmaps .scroller >> nth=0")
    assert scroller.evaluate("node => node.scrollWidth > node.clientWidth")
    assert scroller.get_attribute("class") == "scroller more-after"
    assert "Swipe sideways" in page.text("#heatmaps .scroll-hint >> nth=0")
    scroller.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
    page.page.wait_for_selector("#heatmaps .more-before:not(.more-after)")
    assert "Tap" in page.text("#hint")
    assert "Click" not in page.page.inner_text("main")
    assert page.page.locator("header").bounding_box()["height"] < 120
    page.see("narrow")
    page.page.tap('#tokens button[data-target="2"]')
    box = page.page.locator("#menu").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_a_first_tap_points_and_a_second_tap_pins(visit):
    page = visit(width=360, height=740, has_touch=True)
    page.write("1234")
    page.page.tap(cell(1, 2))
    assert float(page.page.get_attribute("#readout", "data-weight")) == page.weights()[1][2]
    assert page.page.locator(".chip").count() == 0
    with page.answered():
        page.page.tap(cell(1, 2))
    assert page.weights()[1] == [0, 0, 1, 0]


def test_the_first_tap_only_points_at_the_first_cell_too(visit):
    page = visit(width=360, height=740, has_touch=True)
    page.write("1234")
    requests = []
    page.page.on("request", lambda one: one.post_data and requests.append(one.post_data_json))
    page.page.tap(cell(0, 0))
    assert float(page.page.get_attribute("#readout", "data-weight")) == page.weights()[0][0]
    page.see("first-tap")
    with page.answered():
        page.page.tap(cell(0, 0))
    assert page.weights()[0] == [1, 0, 0, 0]
    assert [one.get("pin") for one in requests if one.get("attention")] == [{"0": 0}]


def background(page):
    return page.page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_colors_follow_the_system_until_the_switch_is_used(visit):
    page = visit(color_scheme="dark")
    page.write("1234")
    dark = background(page)
    assert page.page.get_attribute("#theme", "aria-pressed") == "true"
    page.see("dark")
    page.page.click("#theme")
    light = background(page)
    assert light != dark
    page.page.reload()
    page.page.wait_for_function("() => document.querySelector('#model').options.length > 0")
    assert background(page) == light
    assert background(visit()) == light


def test_the_interface_follows_the_browser_language_and_can_be_switched(visit):
    page = visit(locale="zh-CN")
    page.write("1234")
    assert page.page.get_attribute("html", "lang") == "zh-Hans"
    assert page.text("#heatmap-title") == "模型看向哪里"
    assert page.text("#announcer") == "译文：4321"  # noqa: RUF001
    page.see("chinese")
    page.page.click("#language")
    assert page.page.get_attribute("html", "lang") == "en"
    assert page.text("#heatmap-title") == "Where it looked"
    assert page.page.locator("#views label").all_text_contents() == [
        "Attention",
        "Influence",
        "Both",
    ]
    assert "from" in page.page.get_attribute(cell(0, 0), "aria-label")


def test_both_languages_have_every_message(visit):
    page = visit()
    missing = page.page.evaluate(
        """async () => {
            const { ENGLISH } = await import("./messages_en.js");
            const { CHINESE } = await import("./messages_zh.js");
            const names = (texts) => Object.entries(texts).flatMap(([name, text]) =>
                [name, ...(typeof text === "object" ? Object.keys(text) : [])]);
            const [english, chinese] = [names(ENGLISH), names(CHINESE)];
            return [english.length, english.filter(name => !chinese.includes(name)),
                chinese.filter(name => !english.includes(name))];
        }"""
    )
    assert missing[0] > 60
    assert missing[1:] == [[], []]


def test_arabic_keeps_its_direction_and_spaces_are_visible(visit):
    page = visit()
    page.choose("arabic")
    page.write("خب ت")
    assert page.page.locator("#tokens li .word").all_text_contents() == ["خ", "ب", "␣", "ت"]
    direction = "node => getComputedStyle(node).direction"
    assert page.page.eval_on_selector("#text", direction) == "rtl"
    assert page.page.eval_on_selector("#tokens ul", direction) == "rtl"
    first, second = (
        page.page.locator(f"#tokens li >> nth={at}").bounding_box()["x"] for at in (0, 1)
    )
    assert first > second
    page.see("arabic")


def grave(page, axe, **options):
    """Return what axe-core calls serious or critical, with the first places of each."""
    report = axe.run(page.page, options={"resultTypes": ["violations"], **options}).response
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in report["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_axe_finds_nothing_serious_in_the_main_states(visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit()
    assert grave(page, axe) == []
    page.write("1234\n987")
    page.take(0, "3")
    page.pin(1, 1)
    with page.answered():
        page.page.click("#views label >> nth=2")
    page.page.click("#search-details summary")
    page.page.click("#heads-details summary")
    assert grave(page, axe) == []
    page.page.click('#tokens button[data-target="0"]')
    assert grave(page, axe) == []
    page.page.keyboard.press("Escape")
    with page.answered():
        page.choose("many-heads")
    assert grave(page, axe) == []
    page.page.fill("#text", "1" * 201)
    page.page.wait_for_selector("#error:not(:empty)")
    assert grave(page, axe) == []


def test_axe_finds_enough_contrast_in_the_dark(visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(color_scheme="dark")
    page.write("1234\n98Ω7")
    page.take(0, "3")
    page.page.click('#tokens button[data-target="0"]')
    assert (
        page.page.locator(".token.unknown").count()
        == page.page.locator(".unsure-text").count()
        == 1
    )
    assert grave(page, axe, runOnly=["color-contrast"]) == []
