"""`regard embed`: word vectors from lines, and their nearest neighbours."""

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
"""Words whose neighbours are printed, and words on the map."""


def embed(
    lines: Annotated[Path, file_argument("LINES", "Lines of text, plain or gzip; - for stdin.")],
    out: Annotated[Path | None, file_option("out", "Else named after LINES.", "FILE")] = None,
    method: Annotated[
        str,
        choice(
            "method", "Learn a word from its neighbours, or them from it.", *names_of(VectorMethod)
        ),
    ] = "skip-gram",
    tokens: Annotated[
        str,
        choice(
            "tokens",
            "What a vector is learned of, as text.source says it.",
            *TOKENS,
            renamed=RENAMED_TOKENIZERS,
        ),
    ] = "words",
    size: Annotated[str, whole_number("size", "Numbers of a vector.", 1)] = "128",
    window: Annotated[
        str, whole_number("window", "Neighbours that count, to either side.", 1)
    ] = "5",
    min_count: Annotated[
        str, whole_number("min-count", "Leave out what is seen less often.", 1)
    ] = "2",
    epochs: Annotated[str, whole_number("epochs", "Times that the lines are read.", 1)] = "10",
    seed: Annotated[str, whole_number("seed", "Where the randomness begins.", 0)] = "1",
    map_: Annotated[
        Path | None, file_option("map", "Draw the most frequent words in a plane.", "FILE.svg")
    ] = None,
) -> None:
    """Learn word vectors from lines, for `regard train --embeddings`."""
    from regard.text.word_vectors import WordVectorConfig, train_word_vectors

    config = WordVectorConfig(
        method=cast(VectorMethod, method),
        size=int(size),
        window=int(window),
        min_count=int(min_count),
        epochs=int(epochs),
        seed=int(seed),
    )
    # once to count, then to learn
    with progress_bar(config.epochs + 1, unit="readings") as progress:
        vectors = train_word_vectors(_Lines(lines, tokens, progress), config)
    stem = "lines" if str(lines) == "-" else Path(lines.name.removesuffix(".gz")).stem
    out = out or Path(f"{stem}.vectors.txt")
    vectors.save(out)
    rows = [
        (word, ", ".join(f"{other} {cosine:.2f}" for other, cosine in vectors.nearest(word)))
        for word in vectors.words[:NUM_PRINTED]
    ]
    print(options.table(("word", "nearest, by cosine"), *rows))
    print(f"{len(vectors.words):,} words of {vectors.size} numbers in {out}")
    if map_ is not None:
        _draw_map(vectors, map_)
    options.hint("regard", "train", "PAIRS", "--embeddings", out)


class _Lines:
    """The tokens of each line; can be read several times."""

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
    caption = f"the {count} most frequent words in their widest plane, evenly along either axis"
    replace_file(
        path, to_word_map(vectors.words[:count], vectors.project_to_plane(count), caption).encode()
    )
    print(f"{path} shows where {count} of them stand")
