"""The four ids that every vocabulary begins with, known to text and to models alike."""

PAD = 0
"""Fills a line up to its batch; never visible. A model scores it like any word: search bans it."""

UNKNOWN = 1
"""Stands for a symbol that training never saw."""

BOS = 2
"""What a decoder is fed before its first word."""

EOS = 3
"""What a decoder says when it is done."""
