"""Error messages about texts, tokens, vocabularies and word vectors."""

from collections.abc import Iterable, Sequence

from regard.choices import either, wrong_value

NO_TEXT = "all lines are blank; subwords are learned from at least one with text. Add lines."
WRITTEN_BY_EMBED = "Use a file that regard embed wrote."
NOT_UTF8 = f"it is not text in UTF-8. {WRITTEN_BY_EMBED}"
NO_COUNTS = f"it must hold the number of words and the size of a vector. {WRITTEN_BY_EMBED}"
NOT_NUMBERS = "a number of its vector is not a finite number. Use the undamaged file."
NO_GENSIM = "it needs the package gensim. Run pip install 'regard[embed]'."
EMPTY_SUBWORD_MODEL = "subword model is empty; it must be a sentencepiece model."
FOREIGN_SUBWORD_MODEL = "it is damaged, or regard did not train it"
NOT_A_SIDE = "a side must hold normalization, tokenizer and vocabulary, and nothing else."


def wrong_matrix_shape(shape: list[int], num_tokens: int) -> str:
    """Say that an embedding matrix is of another vocabulary."""
    requirement = f"[{num_tokens}, E], one row for each of the {num_tokens} tokens"
    return wrong_value("the shape of the matrix", shape, requirement)


def wrong_weights_shape(shape: list[int], num_tokens: int, num_source: int) -> str:
    """Say that attention weights are of another line."""
    requirement = (
        f"[{num_tokens}, {num_source}], one row for each token and one column for each source token"
    )
    return wrong_value("the shape of the weights", shape, requirement)


def unloadable_subword_model(error: Exception) -> str:
    """Say why bytes are not a subword model."""
    return f"subword model cannot be loaded ({error}); it must be a sentencepiece model."


def wrong_tag_separators(separators: str) -> str:
    """Say that tags cannot be split at these characters."""
    return wrong_value("tag separators", separators, "signs that are not letters, digits or spaces")


def lone_surrogate(position: int, character: str) -> str:
    """Say that a line has a character that UTF-8 cannot encode."""
    return (
        f"character {position} of the line is U+{ord(character):04X}; UTF-8 cannot encode it. "
        "Replace it by U+FFFD."
    )


def wrong_tokenizer_keys(kind: str, keys: str, expected: list[str]) -> str:
    """Say that a tokenizer in a model file has other keys than its kind."""
    return f"tokenizer {kind} has the keys {keys}; it must have {expected}."


def max_size_too_small(max_size: int, num_specials: int) -> str:
    """Say that a vocabulary must be larger than the special tokens."""
    requirement = f"at least {num_specials + 1}: {num_specials} special tokens and one of the text"
    return wrong_value("max_size", max_size, requirement)


def min_count_too_large(min_count: int, most: int) -> str:
    """Say that no token is frequent enough for a vocabulary."""
    return (
        f"min_count is {min_count}, but the most frequent token of a side occurs {most} times. "
        f"Set min_count = {most} or less."
    )


def min_count_without_tokens(min_count: int) -> str:
    """Say that no token is frequent enough for a vector."""
    return f"min_count is {min_count}, but no token occurs that often. Set min_count = 1."


def wrong_type(name: str, type_name: str, requirement: str) -> str:
    """Say that a part of a vocabulary is of the wrong type."""
    return f"{name} is of type {type_name}; it must be {requirement}."


def not_encodable(name: str, quoted: str) -> str:
    """Say that UTF-8 cannot encode a token of a vocabulary."""
    return wrong_value(name, quoted, "text that UTF-8 can encode")


def repeated_token(name: str, quoted: str, first: int) -> str:
    """Say that a token is in a vocabulary twice."""
    return wrong_value(name, quoted, f"a new token, but vocabulary[{first}] is the same")


def no_special_tokens(special_tokens: Iterable[str]) -> str:
    """Say how every vocabulary begins."""
    return f"vocabulary must begin with the special tokens {' '.join(special_tokens)}."


def wrong_vector_size(num_numbers: int, size: int) -> str:
    """Say that a line of word vectors has too few or too many numbers."""
    return f"its vector has {num_numbers} numbers; it must have {size}. Use the undamaged file."


def wrong_choice(name: str, text: str, names: Sequence[str]) -> str:
    """Say which names a choice has."""
    return wrong_value(name, text, either(names))
