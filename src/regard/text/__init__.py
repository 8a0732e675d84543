"""Strings ⇄ ids, without torch: normalization, tokenizers, vocabularies.

A line is normalized, split into tokens, and mapped to ids by a vocabulary. In the other direction,
ids become tokens and tokens are joined to a line.
"""
