"""Decoders, which generate the target token by token: all can start, step and unroll."""
