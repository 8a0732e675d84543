"""A line to translate as the training sources were: columns joined, edges trimmed."""

from typing import final

from regard.config.settings import DataConfig
from regard.special_tokens import UNKNOWN
from regard.text.vocabulary import Vocabulary


@final
class SourceCleaner:
    """Joins the columns of a line that has tabs between them, and trims its edges.

    A line with as many cells as the source has columns holds just those; a longer one is a row of
    the whole table. A tab that the model knows as a token stays.
    """

    def __init__(self, data: DataConfig, vocabulary: Vocabulary) -> None:
        columns = data.file.parsed()
        source = columns.source if columns else (1,)
        # keys of JSON lines have no numbers
        self.numbers = [one for one in source if isinstance(one, int)]
        self.num_columns = len(source)
        self.joiner = data.file.joiner
        self.trim = data.trim
        self.joins = data.trim and vocabulary.encode(["\t"]) == [UNKNOWN]

    def __call__(self, line: str) -> str:
        """Return the line as the tokenizer expects it."""
        if not self.trim:
            return line
        if self.joins and "\t" in line:
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) != self.num_columns and max(self.numbers, default=1) <= len(cells):
                cells = [cells[number - 1] for number in self.numbers] or cells
            line = self.joiner.join(cells)
        return line.strip()
