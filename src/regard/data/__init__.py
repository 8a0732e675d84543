"""From pairs of lines to batches: readers, the checker, corpora on disk, buckets by length.

Importing the room imports neither torch nor NumPy; `batches` alone needs torch.
"""
