"""A browser, a server and what a person does with the page: nothing here stands in for either."""

import os
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.server import Limits, create_app
from regard.server.uvicorn_server import bind, build_server
from regard.text.text_processor import TextProcessor
from regard.text.tokenizers import Characters
from regard.text.vocabulary import Vocabulary
from regard.translator import Translator, load
from small_models import saved

COMPAT = Path(__file__).parents[1] / "compat"
INSTALL = "apt-get install --yes chromium fonts-noto-core fonts-noto-cjk"
WAIT = 15_000


def chromium():
    """Return where Debian's browser is, or skip, saying how to install it."""
    pytest.importorskip("playwright", reason="playwright is missing: pip install playwright")
    path = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.skip(f"chromium is missing, so that the page is NOT tested: {INSTALL}")
    return path


def arabic():
    """Return a model that turns Arabic letters into Hebrew ones, with spaces, at random."""
    sides = [
        TextProcessor("NFC", Characters(), Vocabulary.build([letters]))
        for letters in ("ابتثجحخ ", "אבגדהוזח ")
    ]
    return Translator(saved("bahdanau2015", sides=sides))


def translators():
    """Return small models: some that learned to reverse digits, some of random weights."""
    digits = ["bahdanau2015", "vaswani2017", "cho2014"]
    return {
        **{name: load(COMPAT / f"{name}.regard", device="cpu") for name in digits},
        "many-heads": Translator(saved("vaswani2017")),
        "arabic": arabic(),
    }


def serving(models, **limits):
    """Serve models until the block ends; yield the address and what stops it before."""
    return serving_app(create_app(models, Limits(**limits)))


@contextmanager
def serving_app(app):
    """Serve an app until the block ends; yield the address and what stops it before."""
    listener = bind("127.0.0.1", 0)
    listener.listen(128)
    server = build_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()

    def stop():
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()

    try:
        yield "http://{}:{}/".format(*listener.getsockname()), stop
    finally:
        stop()


class Slow:
    """A model whose answers wait until they are let go."""

    def __init__(self, translator):
        self.go = threading.Event()
        self.began = threading.Event()
        self.quick = translator.translate_prepared
        translator.translate_prepared = self.translate_prepared

    def translate_prepared(self, prepared, progress=None):
        self.began.set()
        self.go.wait(20)
        return self.quick(prepared)


class Driver:
    """What a person does, and what they see of it."""

    def __init__(self, page, folder):
        self.page = page
        self.folder = folder
        self.problems = []
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self.hear)

    def hear(self, message):
        """Keep what broke the content policy; a refused request is an error here and none there."""
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def see(self, name):
        """Keep a picture of the whole page as it is now."""
        self.page.screenshot(path=self.folder / f"{name}.png", full_page=True)

    @contextmanager
    def answered(self):
        """Wait until what was done within the block is answered and drawn."""
        before = int(self.output("responses") or 0)
        yield
        self.page.wait_for_function(
            "n => Number(document.querySelector('#output').dataset.responses ?? 0) > n", arg=before
        )

    def output(self, name):
        return self.page.locator("#output").get_attribute(f"data-{name}")

    def write(self, text):
        with self.answered():
            self.page.fill("#text", text)

    def type(self, text):
        """Press one key after the other; on a busy machine a part may be answered first."""
        self.page.keyboard.type(text)
        self.page.wait_for_function(
            """text => text === [...document.querySelectorAll('#tokens li .word')]
                .map(node => node.textContent).join('')""",
            arg=text,
        )

    def choose(self, model):
        self.page.select_option("#model", model)

    def text(self, selector="#translation"):
        return self.page.locator(selector).text_content()

    def weights(self, kind="attention"):
        """Read the weights back from the heatmap, as a list of rows."""
        return self.page.eval_on_selector_all(
            f'.heatmap[data-kind="{kind}"] [data-weight]',
            """cells => {
                const rows = [];
                for (const { dataset } of cells) {
                    (rows[dataset.row] ??= [])[dataset.column] = Number(dataset.weight);
                }
                return rows;
            }""",
        )

    def tokens(self):
        return self.page.eval_on_selector_all(
            "#tokens button .word", "nodes => nodes.map(node => node.textContent)"
        )

    def scores(self):
        return self.page.eval_on_selector_all(
            "#tokens button", "nodes => nodes.map(node => Number(node.dataset.score))"
        )

    def copied(self, kind):
        """Press a button and read the clipboard."""
        self.page.evaluate("document.querySelector('#copy-status').textContent = ''")
        self.page.click(f"#copy-{kind}")
        self.page.wait_for_function(
            "() => document.querySelector('#copy-status').textContent !== ''"
        )
        return self.page.evaluate("navigator.clipboard.readText()")

    def take(self, at, token):
        """Click a target token and take another in its place."""
        self.page.click(f'#tokens button[data-target="{at}"]')
        with self.answered():
            self.page.click(f'#menu button[data-token="{token}"]')

    def pin(self, target, source):
        with self.answered():
            self.page.click(cell(target, source))


def cell(target, source, kind="attention"):
    return f'.heatmap[data-kind="{kind}"] [data-row="{target}"][data-column="{source}"]'
