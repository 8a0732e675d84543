"""Decoders, which generate the target token by token: all start, step and unroll alike."""
