"""The wrong patches of `make mutate` still fit the code that they break."""

from collections import Counter
from pathlib import Path

import pytest

from dev.mutate import MIN_MUTATIONS, MIN_PER_PACKAGE, MUTATIONS

SOURCE = Path(__file__).parents[1] / "src" / "regard"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[m.key for m in MUTATIONS])
def test_a_patch_fits_one_place(mutation):
    assert (SOURCE / mutation.path).read_text().count(mutation.old) == 1
    assert mutation.old != mutation.new


def test_every_package_has_enough_mutations():
    packages = {path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}
    packages = {name.removesuffix(".py") for name in packages} - {"__init__", "special_tokens"}
    counts = Counter(m.package for m in MUTATIONS)
    assert set(counts) == packages
    assert min(counts.values()) >= MIN_PER_PACKAGE
    assert sum(counts.values()) >= MIN_MUTATIONS
