"""`python -m dev.pictures MODEL… --run RUN`: the pictures of the documentation, from real models.

Each MODEL is written as `name=file=line to translate`. A real browser renders the page of a real
server, the report, and the output of the terminal.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "pictures"
REGARD = str(Path(sys.executable).with_name("regard"))


def main() -> None:
    """Draw every picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="NAME=FILE=LINE")
    parser.add_argument("--run", type=Path, required=True, help="the folder of a training run")
    options = parser.parse_args()
    models = [model.split("=", 2) for model in options.models]
    OUT.mkdir(parents=True, exist_ok=True)
    with browser() as chromium, serve([file for _, file, _ in models]) as address:
        for name, file, line in models:
            draw_terminal(chromium, name, file, line)
            draw_page(chromium, address, name, Path(file).stem, line)
        draw_report(chromium, options.run)


def draw_terminal(chromium: Any, name: str, file: str, line: str) -> None:
    """Draw the output of `regard show` on a true-color terminal, cell by cell."""
    # script(1) gives the command a terminal of its own
    command = f"{REGARD} show {file} '{line}' --width 100 2>/dev/null"
    environment = {**os.environ, "COLORTERM": "truecolor", "TERM": "xterm-256color"}
    output = subprocess.run(
        ["script", "--quiet", "--command", command, "/dev/null"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    prompt = f"$ regard show {Path(file).name} '{line}'\n\n"
    tab = chromium.new_page(viewport={"width": 900, "height": 400})
    tab.set_content(f"{STYLE}<pre>{cells(prompt + output.replace(chr(13), ''))}</pre>")
    tab.locator("pre").screenshot(path=OUT / f"terminal-{name}.png")
    tab.close()


STYLE = """<style>
body { margin: 0; background: #1c1c22 }
pre { margin: 0; padding: 16px; width: max-content; color: #ddd; background: #1c1c22;
      font: 15px/20px "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace }
span { display: inline-block; height: 20px; vertical-align: top; text-align: center;
       overflow: visible }
</style>"""


def cells(output: str) -> str:
    """Return terminal output as HTML, each character as many cells wide as on a terminal."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    console, parts = Console(width=200), []
    for segment in Text.from_ansi(output.strip("\n")).render(console):
        style = segment.style
        colors = ""
        if style and style.bgcolor and style.bgcolor.triplet:
            foreground = style.color.triplet.hex if style.color and style.color.triplet else "#fff"
            colors = f";background:{style.bgcolor.triplet.hex};color:{foreground}"
        for letter in segment.text:
            width = f"width:{cell_len(letter)}ch{colors}"
            parts.append(
                "\n" if letter == "\n" else f'<span style="{width}">{escape(letter)}</span>'
            )
    return "".join(parts)


@contextmanager
def serve(files: list[str]) -> Iterator[str]:
    """Serve models, and yield the address."""
    command = [REGARD, "serve", *files, "--port", "0", "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        try:
            yield line.split(" at ")[1].split(" (")[0]
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def draw_page(chromium: Any, address: str, name: str, model: str, line: str) -> None:
    """Draw the page with one translated line: Chinese in dark mode, others in light mode."""
    chinese = not line.isascii() and any("\u4e00" <= letter <= "\u9fff" for letter in line)
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900},
        locale="zh-CN" if chinese else "en-US",
        color_scheme="dark" if chinese else "light",
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_function("() => document.querySelector('#model').options.length > 0")
    tab.select_option("#model", model)
    tab.fill("textarea", line)
    tab.wait_for_selector("[data-weight]")
    tab.wait_for_timeout(1500)
    tab.screenshot(path=OUT / f"page-{name}.png", full_page=True)
    context.close()


def draw_report(chromium: Any, run: Path) -> None:
    """Draw the report of a run."""
    subprocess.run([REGARD, "report", str(run), "--out", "report.html", "--overwrite"], check=True)
    context = chromium.new_context(viewport={"width": 1100, "height": 1500})
    tab = context.new_page()
    tab.goto(Path("report.html").absolute().as_uri())
    tab.screenshot(path=OUT / "report.png")
    context.close()
    Path("report.html").unlink()


if __name__ == "__main__":
    main()
