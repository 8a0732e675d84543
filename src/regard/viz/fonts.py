"""Selects installed fonts for the characters of a picture, or says which to install.

matplotlib draws an empty box for a missing glyph: such a text is refused beforehand.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache

from regard.errors import InputError
from regard.viz import messages

DEFAULT = "DejaVu Sans"
"""The font that comes with matplotlib."""

PLACEHOLDER_FONTS = ("lastresort", ".lastresort", "adobeblank", "unicodebmpfallback")
"""Fonts that draw a box for every character; matplotlib comes with one."""

PREFERRED = ("Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "Noto Sans Arabic")
REGIONAL = {"HIRAGANA": "Noto Sans CJK JP", "KATAKANA": "Noto Sans CJK JP"}
REGIONAL["HANGUL"] = "Noto Sans CJK KR"
"""Script in a text → font for its Chinese characters."""

EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH")
FIRST_RARE, FIRST_SYMBOL = 0x20000, 0x1F000


def font_families(text: Iterable[str]) -> list[str]:
    """Return fonts that together have every character, in order of preference."""
    needed = {character for character in text if _needs_glyph(character)}
    fonts = _select_fonts(needed)
    if _missing(needed, fonts):
        # fonts may have been installed since matplotlib made its list
        _find_new_fonts()
        fonts = _select_fonts(needed)
    if missing := _missing(needed, fonts):
        raise InputError(_missing_font_message(sorted(missing)))
    return fonts


def code_point_labels(text: str) -> dict[int, str]:
    """Return labels for characters that no font can be expected to have, such as U+E000."""
    codes = {
        ord(character) for character in text if unicodedata.category(character) in _WITHOUT_GLYPHS
    }
    return {code: f"⟨{code:04X}⟩" for code in codes}


_WITHOUT_GLYPHS = {"Cn", "Co"}


def _needs_glyph(character: str) -> bool:
    """Whether it needs a glyph of its own: joiners and variation selectors only change others."""
    selector = "VARIATION SELECTOR" in unicodedata.name(character, "")
    return unicodedata.category(character) != "Cf" and not selector and character != "\n"


def _select_fonts(needed: set[str]) -> list[str]:
    """Add fonts while they cover missing characters."""
    fonts = [DEFAULT]
    scripts = {_script(character) for character in needed}
    regional = [REGIONAL[name] for name in sorted(scripts & REGIONAL.keys())]
    for name in (*regional, *PREFERRED):
        if _missing(needed, fonts) & _characters(name):
            fonts.append(name)
    others = sorted(_installed(), key=lambda name: (not name.startswith("Noto Sans"), name))
    while missing := _missing(needed, fonts):
        best = max(others, key=lambda name: len(missing & _characters(name)), default=None)
        if best is None or not missing & _characters(best):
            break
        fonts.append(best)
    return fonts


def _missing(needed: set[str], fonts: Iterable[str]) -> set[str]:
    return needed.difference(*map(_characters, fonts))


def _installed() -> set[str]:
    from matplotlib.font_manager import fontManager

    upright = (e for e in fontManager.ttflist if (e.style, e.weight) == ("normal", 400))
    names = {entry.name for entry in upright}
    return {
        name for name in names if not name.lower().replace(" ", "").startswith(PLACEHOLDER_FONTS)
    }


@cache
def _characters(family: str) -> frozenset[str]:
    """Return the characters that a font can draw; none if it is not installed."""
    from matplotlib.font_manager import FontProperties, fontManager, get_font

    if family not in _installed():
        return frozenset()
    try:
        path = fontManager.findfont(FontProperties(family=[family]), fallback_to_default=False)
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (ValueError, RuntimeError, OSError):
        return frozenset()


def _find_new_fonts() -> None:
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {entry.fname for entry in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        try:
            fontManager.addfont(path)
        except (RuntimeError, OSError, ValueError):
            # an unreadable font is skipped
            continue
    _characters.cache_clear()


def _missing_font_message(missing: list[str]) -> str:
    examples = ", ".join(missing[:5]) + (
        f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
    )
    scripts = " and ".join(dict.fromkeys(map(_script_label, missing)))
    packages = " ".join(sorted({_package(character) for character in missing}))
    return messages.missing_font(examples, scripts, packages)


def _script_label(character: str) -> str:
    script = _script(character)
    if script == "CJK":
        return "Chinese characters"
    return (
        "symbols" if not unicodedata.category(character).startswith(("L", "M")) else script.title()
    )


def _script(character: str) -> str:
    return unicodedata.name(character, "UNNAMED").split()[0].split("-")[0]


def _package(character: str) -> str:
    """Return the Debian package of a font with this character."""
    code = ord(character)
    if _script(character) in EAST_ASIAN:
        return "fonts-hanazono" if code >= FIRST_RARE else "fonts-noto-cjk"
    if code >= FIRST_SYMBOL or not unicodedata.category(character).startswith(("L", "M", "N")):
        return "fonts-symbola"
    return "fonts-noto-core"
