"""A few lines in the place of every data set."""

import gzip

PAIRS = "ab\tA B\nba\tB A\nabc\tA B C\nca\tC A\ncab\tC A B\nbb\tB B\n"


def written(path, text, packed=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
