"""Lines that tokenizers find hard, and how many of them to try."""

import os

from hypothesis import settings
from hypothesis import strategies as st

NUMBER = int(os.environ.get("REGARD_CASES", "500"))
CASES = settings(max_examples=NUMBER, deadline=None)
# each of them learns a model
FEWER_CASES = settings(max_examples=max(1, NUMBER // 10), deadline=None)

HARD = [
    *(" ", "  ", "\t", "\r", "\n", "\v", "\x1c", "\x85", "\xa0", "\u2003", "\u2028", "\u3000"),
    *("￭", "▁", "▅", "␛", "␛0", "␛1", "␛2", "▁▁", "0", "1", "_", ".", ",", "'", "(", "-", "..."),
    *("◌", "◌ː", "ː", "ʰ", "˧", "ǎ", "t͡ʃ"),
    *("\u0301", "\u200d", "\u200c", "\u200b", "\ufe0f", "\ufeff", "\u20e3", "\U000e0067"),
    *(
        "👨",
        "👩",
        "🏽",
        "❤\ufe0f",
        "👨\u200d👩\u200d👧",
        "🇫🇷",
        "苹果",
        "我爱吃",
        "。",
        "「",
        "한국",
    ),
    *(
        "السلام",
        "ً",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dष",
        "é",
        "e\u0301",
        "ﬁ",
        "ß",
        "word",
        "x",
        "\x00",
    ),
    *("<s>", "</s>", "<unk>", "<pad>", "�", "\x7f", "\ue000", "\uffff", "\U0010ffff", "⁇", " ⁇ "),
]

lines = st.lists(st.sampled_from(HARD) | st.text(max_size=5), max_size=12).map("".join)
tokens = st.lists(st.sampled_from([hard for hard in HARD if hard.split() == [hard]]))
