"""From pairs of lines to batches: readers, the checker, corpora on disk, buckets by length.

Importing this package imports neither torch nor NumPy; only `batches` needs torch.
"""
