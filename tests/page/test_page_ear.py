"""What a screen reader says, and where the focus is when something goes away."""

from page_driver import cell

from regard.terminal_text import visible_token


def label(page, selector):
    return page.page.get_attribute(selector, "aria-label")


def test_a_screen_reader_reads_the_end_of_an_output_as_a_word(visit):
    page = visit()
    page.write("1234")
    end = '#tokens button[data-target="4"]'
    assert label(page, end) == "end, 100 %"
    assert page.text(f"{end} .word") == "■"
    header = label(page, '.heatmap [role="rowheader"][data-target="4"]')
    assert header.startswith("\u2068end\u2069, 100 %")
    assert label(page, cell(4, 0)).startswith("\u2068end\u2069 from \u20681\u2069: ")
    page.page.click(end)
    assert label(page, "#menu") == "Alternatives to end"
    current = page.page.locator('#menu [data-token="</s>"] .word')
    assert current.text_content() == "■ end here"
    assert current.aria_snapshot() == "- text: end here"
    page.see("menu-of-the-end")
    page.page.keyboard.press("Escape")
    page.take(3, "</s>")
    assert label(page, ".chip button") == "Remove 4: \u20681\u2069 → \u2068end\u2069"
    assert "■" not in page.page.locator(".chip").aria_snapshot()
    page.page.click("#language")
    assert label(page, '#tokens button[data-target="3"]').startswith("结束，")  # noqa: RUF001


def focused(page):
    return page.page.evaluate("document.activeElement.id || document.activeElement.tagName")


def test_undo_and_redo_pass_on_the_focus_when_they_are_exhausted(visit):
    page = visit()
    page.write("1234")
    page.take(3, "8")
    for button, heir in (("undo", "redo"), ("redo", "undo")):
        page.page.focus(f"#{button}")
        with page.answered():
            page.page.keyboard.press("Enter")
        assert page.page.is_disabled(f"#{button}")
        assert focused(page) == heir
    page.see("focus-handed-on")


def test_the_search_tree_is_also_a_list_for_screen_readers(visit, models):
    page = visit()
    page.write("1234")
    page.page.click("#search-details summary")
    page.page.wait_for_selector(".tree")
    tree = models["bahdanau2015"].translate("1234", beam_size=5, nbest=5, tree=True).tree
    heard = page.page.locator("#tree li > span").all_text_contents()
    branches = [branch for line in heard for branch in line.split("; ")]
    assert len(branches) == len(tree)
    names = sorted(branch.split(",")[0] for branch in branches)
    ends = "</s>"
    assert names == sorted("end" if one.token == ends else visible_token(one.token) for one in tree)
    best = [line for line in heard if line.endswith(", chosen")]
    way = [branch.split(",")[0] for line in best for branch in line.split("; ")]
    assert way == ["4", "3", "2", "1", "end"]
    box = page.page.locator("#tree > ul").bounding_box()
    assert (box["width"], box["height"]) == (1, 1)
    page.see("tree-and-its-list")


def test_a_deep_tree_nests_only_where_it_forks(visit):
    depth, items = visit().page.evaluate(
        """async () => {
            const { listBeamTree } = await import("./beam_tree.js");
            const way = Array.from({ length: 400 }, (_, at) => (
                { token: "a", parent: at ? at - 1 : null, score: 0, total: 0, in_nbest: true }));
            const fork = { token: "b", parent: 200, score: -3, total: -23, in_nbest: false };
            const list = listBeamTree({ tree: [...way, fork], tokens: [], score: 0, text: "" });
            return [list.querySelectorAll("ul").length, list.querySelectorAll("li").length];
        }"""
    )
    assert (depth, items) == (1, 3)


def test_a_copy_announcement_is_cleared_for_another_text(visit):
    page = visit()
    page.write("1234")
    page.copied("text")
    page.write("9870")
    assert page.text("#copy-status") == ""
    page.copied("text")
    page.page.click("#language")
    assert page.text("#copy-status") == ""


def test_a_server_error_is_english_in_the_chinese_page_too(visit):
    page = visit(locale="zh-CN")
    page.page.fill("#text", "1" * 201)
    page.page.wait_for_selector("#error:not(:empty)")
    assert page.text("#error").startswith("服务器拒绝了请求：The line has 201")  # noqa: RUF001
    assert page.text('#error [lang="en"]').startswith("The line has 201 characters")
