"""The wrong patches of `make mutate` still fit the code they are meant to break."""

from collections import Counter
from pathlib import Path

import pytest

from dev.mutate import AT_LEAST, AT_LEAST_A_ROOM, MUTATIONS, room

SOURCE = Path(__file__).parents[1] / "src" / "regard"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[f"{m.path}: {m.why}" for m in MUTATIONS])
def test_a_patch_fits_one_place(mutation):
    assert (SOURCE / mutation.path).read_text().count(mutation.old) == 1
    assert mutation.old != mutation.new


def test_there_are_enough_in_every_room():
    rooms = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}
    rooms = {name.removesuffix(".py") for name in rooms} - {"__init__", "special_tokens"}
    counts = Counter(map(room, MUTATIONS))
    assert set(counts) == rooms
    assert min(counts.values()) >= AT_LEAST_A_ROOM
    assert sum(counts.values()) >= AT_LEAST
