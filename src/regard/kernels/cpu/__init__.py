"""Ops with backward passes of their own, in plain PyTorch: written for a CPU, right anywhere."""
