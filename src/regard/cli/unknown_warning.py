"""One warning for all source tokens that a model does not know: which, where, and what to do."""

import sys
import unicodedata
from typing import TYPE_CHECKING, final

from regard.cli import messages

if TYPE_CHECKING:
    from regard.text.unknown_tokens import UnknownToken
    from regard.translator import Translation

MAX_TOKENS = 10
MAX_LINES = 3


@final
class UnknownWarning:
    """Collects the unknown source tokens of translations, and prints one warning."""

    def __init__(self) -> None:
        self.lines = 0
        self.unknown_lines = 0
        # the first lines of each token, and how many lines have it
        self.places: dict[str, list[int]] = {}
        self.counts: dict[str, int] = {}
        self.examples: dict[str, UnknownToken] = {}

    def add(self, number: int, answer: "Translation") -> None:
        """Count the unknown tokens of a line."""
        self.lines += 1
        self.unknown_lines += bool(answer.unknown_source)
        for token in {one.token: one for one in answer.unknown_source}.values():
            places = self.places.setdefault(token.token, [])
            self.counts[token.token] = self.counts.get(token.token, 0) + 1
            if len(places) < MAX_LINES:
                places.append(number)
            if token.difference is not None:
                self.examples.setdefault(_remedy(token), token)

    def print(self) -> None:
        """Print the warning on stderr, if any token is unknown."""
        from regard.terminal_text import visible_token

        if not self.counts:
            return
        ranked = sorted(self.counts, key=lambda token: -self.counts[token])
        tokens = [self._describe(token) for token in ranked[:MAX_TOKENS]]
        more = len(ranked) - len(tokens)
        sentences = [messages.unknown_tokens(tokens, more, self.unknown_lines, self.lines)]
        for setting, token in self.examples.items():
            similar = visible_token(token.similar or "")
            sentences.append(messages.similar_token(visible_token(token.token), similar, setting))
        print(*sentences, sep="\n", file=sys.stderr)

    def _describe(self, token: str) -> str:
        from regard.terminal_text import visible_token

        if self.lines == 1:
            return visible_token(token)
        more = self.counts[token] - len(self.places[token])
        return messages.token_lines(visible_token(token), self.places[token], more)


def _remedy(token: "UnknownToken") -> str:
    """Return the setting that makes a model read a token as the similar one."""
    if token.difference == "case":
        return "data.source_case=lower"
    texts = token.token, token.similar or ""
    for form in ("NFC", "NFKC"):
        if len({unicodedata.normalize(form, text) for text in texts}) == 1:
            return f"data.normalization={form}"
    return "data.normalization=NFKC --set data.source_case=lower"
