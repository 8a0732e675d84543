"""Ops on a GPU, written in Triton; imported only where there is one."""
