"""The four special ids that every vocabulary begins with."""

PAD = 0
"""Pads a line to the length of its batch; always masked. Search bans it as an output."""

UNKNOWN = 1
"""Replaces a token that is not in the vocabulary."""

BOS = 2
"""Begins a sequence: the first token that a decoder is fed."""

EOS = 3
"""Ends a sequence: the last token that a decoder generates."""
