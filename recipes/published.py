"""Scores that others published for the same data sets, as (dev, test)."""

_G2P = {
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
"""SIGMORPHON 2021: word error rates of the organizers' ensemble of neural transducers."""

_G2P_TRANSFORMER = {f"{name}-vaswani2017": scores for name, scores in _G2P.items()}

_INFLECTION = {
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
"""SIGMORPHON 2022, large: accuracy of the organizers' character Transformer, in percent."""

PUBLISHED: dict[str, dict[str, tuple[str, str]]] = {
    "g2p-english": {"english": ("", "24.4, 20.6"), "english, ensemble of 5": ("", "20.24")},
    "g2p-monolingual": _G2P,
    "g2p-fine-tuned": _G2P | _G2P_TRANSFORMER,
    "g2p-distilled": _G2P | _G2P_TRANSFORMER,
    "g2p-distilled-monolingual": _G2P,
    "inflection": _INFLECTION,
    "multi30k-vaswani2017": {"en-de": ("", "41.02"), "de-en": ("", "36.5 to 37.4")},
    "multi30k-bahdanau2015": {"de-en": ("", "28.11")},
    "histnorm": {"german-ridges": ("82.41 (memory)", "")},
}

WER_TASKS = (
    "g2p-english",
    "g2p-monolingual",
    "g2p-multilingual",
    "g2p-fine-tuned",
    "g2p-distilled",
    "g2p-distilled-monolingual",
    "papers-sounds",
    "auto-configured-g2p",
)
"""Tasks that are scored by word error rate: 100 minus the percentage of exact matches."""
