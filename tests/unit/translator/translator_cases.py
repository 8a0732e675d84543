"""What tests of the translator share."""

import pytest

LINES = ["abc", "jihgfedcba", "ff", "b", "gjgjg"]


def refusal(kind, do, *arguments, **options):
    """Return the sentence with which something is refused."""
    with pytest.raises(kind) as caught:
        do(*arguments, **options)
    return str(caught.value)
