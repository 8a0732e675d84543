"""A self-contained page: no requests, light or dark as the reader prefers.

`document` makes a page of any body; `to_page` one of an alignment.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from regard.terminal_text import arrow_heading, escape_invisible
from regard.viz.alignment import ATTENTION, Alignment
from regard.viz.html_heatmap import to_html
from regard.viz.svg_heatmap import describe

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content security policy: only inline styles."""

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #555; --paper: #fff; --line: #d5d5d8;
  --card: #f6f6f8; --accent: #2b4fa2; --mark: #ffe08a; --bar: #7d94c8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --soft: #b0b0b6; --paper: #17171a;
  --line: #3c3c42; --card: #212126; --accent: #9db8ff; --mark: #5c4a00; --bar: #4f67a3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p { max-width: 48rem; margin: .5rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.wide { overflow-x: auto; }
""".strip()


def document(title: str, body: str, style: str = "", script: str = "") -> str:
    """Return a page with a title, which is text, and a body, which is HTML.

    The policy allows this script alone, by its digest.
    """
    policy, ending = POLICY, ""
    if script:
        digest = b64encode(sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        ending = f"<script>{script}</script>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(escape_invisible(title))}</title>\n<style>\n{STYLE}\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{ending}</body>\n</html>\n"
    )


def to_page(alignment: Alignment, lines: Sequence[str] = (), caption: str = ATTENTION) -> str:
    """Draw the weights on a page, below their two lines."""
    parts = [f'<h1 dir="auto">{escape(arrow_heading(line))}</h1>' for line in lines[:1]]
    parts += [
        f'<p dir="auto">→ <strong>{escape(arrow_heading(line))}</strong></p>' for line in lines[1:]
    ]
    description = describe(alignment, "").strip()
    parts += [
        to_html(alignment),
        f'<p class="soft">{escape(caption)}</p>',
        f"<details><summary>In words</summary><p>{escape(description)}</p></details>",
    ]
    return document(" → ".join(lines) or caption, "\n".join(parts))
