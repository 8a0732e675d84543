"""`regard embed`: trains word vectors on lines and prints nearest neighbors."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from regard.choices import RENAMED_TOKENIZERS, VectorMethod, names_of
from regard.cli import options
from regard.cli.options import choice, file_argument, file_option, whole_number
from regard.cli.progress import progress_bar

if TYPE_CHECKING:
    from regard.text.word_vectors import WordVectors

TOKENS = ("words", "characters", "whitespace", "phonemes")

FORM = "NFC"
"""Unicode form of the lines: the default of data.normalization."""

NUM_PRINTED, NUM_MAPPED = 8, 150
"""Number of words whose neighbors are printed, and of words on the map."""


def embed(
    lines: Annotated[Path, file_argument("LINES", "Lines of text, plain or gzip; - for stdin.")],
    out: Annotated[
        Path | None, file_option("out", "Output file. Default: named after LINES.", "FILE")
    ] = None,
    method: Annotated[
        str,
        choice("method", "Training method.", *names_of(VectorMethod)),
    ] = "skip-gram",
    tokens: Annotated[
        str,
        choice(
            "tokens",
            "Tokenizer of the lines, as in text.source.",
            *TOKENS,
            renamed=RENAMED_TOKENIZERS,
        ),
    ] = "words",
    size: Annotated[str, whole_number("size", "Size of a vector.", 1)] = "128",
    window: Annotated[str, whole_number("window", "Maximum distance of context tokens.", 1)] = "5",
    min_count: Annotated[str, whole_number("min-count", "Minimum count of a token.", 1)] = "2",
    epochs: Annotated[str, whole_number("epochs", "Number of passes over the lines.", 1)] = "10",
    seed: Annotated[str, whole_number("seed", "Random seed.", 0)] = "1",
    map_: Annotated[
        Path | None, file_option("map", "Draw a map of the most frequent words.", "FILE.svg")
    ] = None,
) -> None:
    """Train word vectors on lines, for `regard train --embeddings`."""
    from regard.text.word_vectors import WordVectorConfig, train_word_vectors

    config = WordVectorConfig(
        method=cast(VectorMethod, method),
        size=int(size),
        window=int(window),
        min_count=int(min_count),
        epochs=int(epochs),
        seed=int(seed),
    )
    # one pass counts the tokens
    with progress_bar(config.epochs + 1, unit="passes") as progress:
        vectors = train_word_vectors(_Lines(lines, tokens, progress), config)
    stem = "lines" if str(lines) == "-" else Path(lines.name.removesuffix(".gz")).stem
    out = out or Path(f"{stem}.vectors.txt")
    vectors.save(out)
    rows = [
        (word, ", ".join(f"{other} {cosine:.2f}" for other, cosine in vectors.nearest(word)))
        for word in vectors.words[:NUM_PRINTED]
    ]
    print(options.table(("word", "nearest, by cosine"), *rows))
    print(f"{len(vectors.words):,} word vectors of size {vectors.size} in {out}")
    if map_ is not None:
        _draw_map(vectors, map_)
    options.hint("regard", "train", "PAIRS", "--embeddings", out)


class _Lines:
    """The tokens of each line; can be iterated several times."""

    def __init__(self, path: Path, kind: str, progress: Callable[[int], None] | None) -> None:
        from regard.data.pairs import read_lines
        from regard.text.tokenizers import plain_tokenizer

        self.tokenize, self.path = plain_tokenizer(kind, FORM).tokenize, str(path)
        # a pipe can be read only once
        self.stdin_lines = [line for _, line in read_lines("-")] if str(path) == "-" else None
        self.progress = progress

    def __iter__(self) -> Iterator[list[str]]:
        from regard.data.pairs import read_lines
        from regard.text.normalization import normalize

        lines = (
            (line for _, line in read_lines(self.path))
            if self.stdin_lines is None
            else self.stdin_lines
        )
        for line in lines:
            if tokens := self.tokenize(normalize(line, FORM)):
                yield tokens
        if self.progress is not None:
            self.progress(1)


def _draw_map(vectors: "WordVectors", path: Path) -> None:
    from regard.atomic_files import replace_file
    from regard.viz.word_map import to_word_map

    count = min(NUM_MAPPED, len(vectors.words))
    caption = f"the {count} most frequent words by rank along their first two principal components"
    replace_file(
        path, to_word_map(vectors.words[:count], vectors.project_to_plane(count), caption).encode()
    )
    print(f"{path} is a map of {count} of them")
