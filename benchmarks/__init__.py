"""Benchmarks: each program here measures one thing, and prints a table."""
