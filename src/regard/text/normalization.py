"""One spelling for what looks the same: the Unicode normalization forms."""

import unicodedata
from typing import Literal, cast

from regard.choices import Normalization, names_of
from regard.errors import ConfigError
from regard.text import messages

FORMS = names_of(Normalization)


def normalize(line: str, form: str) -> str:
    """Return the line in a normalization form; `none` leaves it as it is.

    NFC composes letters with their accents and changes nothing that can be seen. NFD takes them
    apart, a Korean syllable into its letters too. NFKC composes, and takes away what is mere form
    (ﬁ is fi, ① is 1, a no-break space is a space).
    """
    if form not in FORMS:
        raise ConfigError("text", [messages.wrong_choice("normalization", repr(form), FORMS)])
    if form == "none":
        return line
    return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC"], form), line)
