"""A few lines for every data set, and how to write them."""

import gzip

PAIRS = "ab\tA B\nba\tB A\nabc\tA B C\nca\tC A\ncab\tC A B\nbb\tB B\n"


def write(path, text, packed=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
