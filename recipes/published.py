"""Figures that others have published for the same data, as (dev, test)."""

_SOUNDS = {
    "eng_us": ("45.13", "41.94"),
    "arm_e": ("4.50", "7.00"),
    "bul": ("8.30", "18.30"),
    "dut": ("10.80", "14.70"),
    "fre": ("7.40", "8.50"),
    "geo": ("0.00", "0.00"),
    "hbs_latn": ("34.70", "32.10"),
    "hun": ("1.50", "1.80"),
    "jpn_hira": ("6.20", "5.20"),
    "kor": ("18.40", "16.30"),
    "vie_hanoi": ("1.30", "2.50"),
    "ady": ("22.00", "22.00"),
    "gre": ("5.00", "21.00"),
    "ice": ("11.00", "12.00"),
    "ita": ("22.00", "19.00"),
    "khm": ("34.00", "34.00"),
    "lav": ("41.00", "55.00"),
    "mlt_latn": ("20.00", "19.00"),
    "rum": ("10.00", "10.00"),
    "slv": ("43.00", "49.00"),
    "wel_sw": ("16.00", "10.00"),
}
"""SIGMORPHON 2021: word error rates of the organisers' ensemble of neural transducers."""

_FROM_TRANSFORMER = {f"{name}-vaswani2017": both for name, both in _SOUNDS.items()}

_FORMS = {
    "ang": ("", "61.10"),
    "ara": ("", "78.55"),
    "asm": ("", "76.78"),
    "evn": ("", "57.72"),
    "got": ("", "72.17"),
    "heb": ("", "48.45"),
    "hun": ("", "77.20"),
    "hye": ("", "69.80"),
    "kat": ("", "87.25"),
    "kaz": ("", "55.67"),
    "khk": ("", "49.14"),
    "kor": ("", "56.16"),
    "krl": ("", "27.10"),
    "lud": ("", "52.99"),
    "non": ("", "84.98"),
    "pol": ("", "69.45"),
    "poma": ("", "63.88"),
    "slk": ("", "70.10"),
    "tur": ("", "39.65"),
    "vep": ("", "48.82"),
}
"""SIGMORPHON 2022, large: the organisers' character Transformer, right forms in percent."""

PUBLISHED: dict[str, dict[str, tuple[str, str]]] = {
    "g2p-english": {"english": ("", "24.4, 20.6"), "english, ensemble of 5": ("", "20.24")},
    "g2p-languages": _SOUNDS,
    "g2p-after": _SOUNDS | _FROM_TRANSFORMER,
    "g2p-taught": _SOUNDS | _FROM_TRANSFORMER,
    "g2p-taught-alone": _SOUNDS,
    "inflection": _FORMS,
    "multi30k-vaswani2017": {"en-de": ("", "41.02"), "de-en": ("", "36.5 to 37.4")},
    "multi30k-bahdanau2015": {"de-en": ("", "28.11")},
    "histnorm": {"german-ridges": ("82.41 (memory)", "")},
}

WORD_ERRORS = (
    "g2p-english",
    "g2p-languages",
    "g2p-together",
    "g2p-after",
    "g2p-taught",
    "g2p-taught-alone",
    "papers-sounds",
    "automatic-sounds",
)
"""Tasks whose score is the share of words that are wrong."""
