"""Unicode normalization: one spelling for texts that look the same."""

import unicodedata
from reprlib import repr as shortened
from typing import Literal, cast

from regard.choices import Normalization, names_of
from regard.errors import ConfigError
from regard.text import messages

FORMS = names_of(Normalization)


def normalize(line: str, form: str) -> str:
    """Return the line in a normalization form; `none` leaves it as it is.

    NFC composes letters with their accents, without any visible change. NFD decomposes them, and
    Korean syllables into their letters. NFKC composes and also replaces compatibility characters
    (ﬁ by fi, ① by 1, a no-break space by a space).
    """
    if form not in FORMS:
        raise ConfigError("text", [messages.wrong_choice("normalization", shortened(form), FORMS)])
    if form == "none":
        return line
    return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC"], form), line)
