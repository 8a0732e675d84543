"""A small model of random weights, asked by many tests."""

import pytest

from regard.translator import Translator
from small_models import saved


@pytest.fixture
def translator():
    return Translator(saved("luong2015"))
