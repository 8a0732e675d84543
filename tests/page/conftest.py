"""One browser and one server for all tests of the page; a page of its own for each."""

import os
from pathlib import Path

import pytest
from page_driver import Driver, chromium, serving, translators


@pytest.fixture(scope="session")
def browser():
    """Start Debian's Chromium; in a container it has no sandbox of its own."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium_process = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium_process
        chromium_process.close()


@pytest.fixture(scope="session")
def models():
    """Load the models that are served to all tests."""
    return translators()


@pytest.fixture(scope="session")
def address(models):
    """Serve them."""
    with serving(models, characters=200, lines=20) as (url, _):
        yield url


@pytest.fixture
def visit(browser, address, tmp_path):
    """Return what opens the page, here or elsewhere; errors and foreign requests fail the test."""
    folder = Path(os.environ.get("REGARD_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    contexts, drivers, foreign = [], [], []

    def begin(at=None, width=1280, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            permissions=["clipboard-read", "clipboard-write"],
            **{"locale": "en-US", "reduced_motion": "reduce", **options},
        )
        contexts.append(context)
        page = context.new_page()
        home = at or address
        page.on("request", lambda one: one.url.startswith(home) or foreign.append(one.url))
        driver = Driver(page, folder)
        drivers.append(driver)
        page.goto(home)
        page.wait_for_function("() => document.querySelector('#model').options.length > 0")
        return driver

    yield begin
    for context in contexts:
        context.close()
    assert not [problem for driver in drivers for problem in driver.problems]
    assert not foreign
