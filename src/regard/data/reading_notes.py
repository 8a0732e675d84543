"""What reading a file found and changed, to be reported: its layout, and counts."""

from dataclasses import dataclass, field
from typing import Any, final

from regard.data import messages
from regard.data.layout import Layout


@final
@dataclass
class ReadingNotes:
    """The layout of a file, and how many lines were skipped or changed."""

    name: str = ""
    layout: Layout | None = None
    blank_lines: int = 0
    comments: int = 0
    trimmed: int = 0
    line_breaks: int = 0
    hints: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """Return what a user should know, a sentence each; nothing for a plain file."""
        sentences = [self.layout.description()] if self.layout and not self.layout.is_plain else []
        sentences += self.hints
        for count, sentence in (
            (self.blank_lines, messages.blank_lines),
            (self.comments, messages.comment_lines),
            (self.trimmed, messages.trimmed_lines),
            (self.line_breaks, messages.line_breaks),
        ):
            sentences += [sentence(count)] if count else []
        return [f"{self.name}: {sentence}" for sentence in sentences]

    def to_json(self) -> dict[str, Any]:
        """Return the layout and the counts."""
        layout = None if self.layout is None else self.layout.description()
        return {
            "layout": layout,
            "blank_lines": self.blank_lines,
            "comments": self.comments,
            "trimmed": self.trimmed,
            "line_breaks": self.line_breaks,
        }
