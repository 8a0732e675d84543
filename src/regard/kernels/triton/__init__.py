"""Ops for a GPU, written in Triton; imported only when one of them first runs."""
