"""Metrics of outputs, by name and with a signature: no torch, and no reading of files."""
