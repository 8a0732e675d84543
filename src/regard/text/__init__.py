"""Strings ⇄ ids, without torch: normalization, tokenizers, vocabularies.

A line is normalized, split into tokens, and looked up in a vocabulary; on the way back the tokens
of the ids are joined to a line. None of them reads a file.
"""
