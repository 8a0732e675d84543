"""Sentences of the command line, in one place for translation.

Help texts are next to their options.
"""

from collections.abc import Sequence
from pathlib import Path

INFLUENCE_INSTEAD = (
    "This model has no attention: it reads the whole source into one vector. The picture shows its "
    "influence by gradient."
)
INPUT_NOT_UTF8 = "The line is not UTF-8. Type it again."
BLANK_TEXT = "It is blank; it must contain text."
NO_PAIRS = (
    "There are no pairs. Pass a file of pairs, - for standard input, or --source and --target."
)
OUTPUT_IS_FOLDER = "It is a folder; it must be a file. Use another --out."
OUTPUT_EXISTS = "It already exists. Use --overwrite or another --out."


# info


def verified(model: Path, digest: str) -> str:
    """Say that a file has not changed since it was written."""
    return f"{model}: undamaged, SHA-256 {digest}"


def no_digest(model: Path) -> str:
    """Say that a file of an earlier version cannot be verified."""
    new = f"{model.stem}-new{model.suffix}"
    return (
        "It has no digest: an earlier version of regard wrote it. To add one, save it again in "
        f"Python: regard.load('{model}').save('{new}')."
    )


# options


def not_a_whole_number(name: str, text: str, minimum: int) -> str:
    """Say what an option must be."""
    return f"{name} is {text}; it must be a whole number, at least {minimum}."


def not_one_line(content: str) -> str:
    """Say why a text is not one line."""
    return f"It contains {content}; it must be one line. Use a file on standard input."


def wrong_ending(path: Path, endings: str) -> str:
    """Say how the name of an output file must end."""
    return f"out is {path}; it must end in {endings}."


def no_output_folder(path: Path) -> str:
    """Say that the folder of an output file is missing."""
    return f"There is no folder {path.parent}. Use --out in another folder."


def module_not_imported(name: str, error: ImportError) -> str:
    """Say why a module of --import cannot be imported."""
    return f"{name} cannot be imported ({error}). Check its name and the working directory."


# translate


def unknown_tokens(tokens: Sequence[str], more: int, unknown_lines: int, lines: int) -> str:
    """List the source tokens that a model does not know."""
    listed = ", ".join(tokens) + (f", and {more:,} more" if more else "")
    if lines == 1:
        return f"The model does not know these tokens of the source: {listed}."
    return (
        f"{unknown_lines:,} of {lines:,} lines have tokens that the model does not know: {listed}."
    )


def token_lines(token: str, lines: Sequence[int], more: int) -> str:
    """Say in which lines a token is."""
    numbers = ", ".join(f"{number:,}" for number in lines) + (f" and {more:,} more" if more else "")
    return f"{token} (line{'s' * (len(lines) > 1)} {numbers})"


def similar_token(token: str, similar: str, setting: str) -> str:
    """Say what the model knows instead of a token, and how to make it read both alike."""
    return (
        f"The model knows {similar}, but not {token}. Write it so, or train with --set {setting}, "
        "which reads both alike."
    )


def no_attention(model: Path) -> str:
    """Say why there are no alignments."""
    return f"format is pharaoh, but {model} has no attention. Use text or jsonl."


def one_row_only(nbest: int) -> str:
    """Say why there are no n-best alignments."""
    return f"format is pharaoh, which has one row per line, but nbest is {nbest}. Use nbest = 1."


def text_and_input() -> str:
    """Say that lines come from one place."""
    return "Both --text and --input are given. Give one of them."


def table_without_input(names: str) -> str:
    """Say that some options are for files."""
    return f"{names} is for files. Pass the file by --input; - is standard input."


def more_notes(count: int, note: str) -> str:
    """Count the lines with the same note."""
    return f"{count:,} more line{'s' * (count != 1)} with a note like this: {note}"


# evaluate


NO_GOOD_PAIRS = "it has no good pair to evaluate on. Run regard check on it."


def skipped_lines(count: int) -> str:
    """Count bad lines."""
    return f"skipped {count:,} bad line{'s' * (count != 1)}"


def flags_with_alignments() -> str:
    """Say which flags --alignments excludes."""
    return "--alignments evaluates one model line by line. Remove --ensemble and --each-line."


def wrong_number_of_models(count: int) -> str:
    """Say how many models can be evaluated."""
    remedy = "Use --ensemble for more." if count else "Use regard evaluate MODEL PAIRS."
    return f"There are {count} models; there must be one or two, and then the pairs. {remedy}"


def one_model_with_alignments(count: int) -> str:
    """Say how many models --alignments takes."""
    return f"There are {count} files with --alignments; there must be one model and nothing else."


def different_normalizations(models: tuple[Path, Path], forms: tuple[str, str]) -> str:
    """Say why two models cannot be compared."""
    return (
        f"The Unicode form of {models[0]} is {forms[0]}, that of {models[1]} is {forms[1]}; they "
        "must be equal. Use models trained with the same data.normalization."
    )


# errors


def errors_of_one_or_two(count: int) -> str:
    """Say how many models an error analysis takes."""
    return (
        f"There are {count} models; there must be one or two, and then the pairs. "
        "Use regard errors MODEL PAIRS."
    )


# show


def no_self_attention(side: str, other: str | None) -> str:
    """Say which side of a model has self-attention, if any."""
    where = "this model has none" if other is None else f"this model has it in the {other} only"
    remedy = "Use --influence." if other is None else f"Use --self-attention {other}."
    return f"self-attention is {side}, but {where}. {remedy}"


GRID_NEEDS_OUT = "--grid draws every layer and head into a file. Add --out heads.svg."
TWO_PICTURES = "--influence has neither heads nor layers. Use it alone, or remove it."
NO_HEADS = "This model has no attention, and therefore no heads. Remove --layer, --head and --grid."


# serve


def port_too_high(port: str) -> str:
    """Say which ports exist."""
    return f"port is {port}; it must be at most 65535."


def server_package_missing(package: str) -> str:
    """Say how to install the server."""
    return f'The server needs {package}, which is not installed. Run pip install "regard[serve]".'


def same_model_name(name: str, first: str, second: str) -> str:
    """Say that two models would have the same name."""
    return f"{first} and {second} have the same name, {name}. Use NAME={second} with another name."


def wrong_model_name(text: str, path: str) -> str:
    """Say that a model needs a name."""
    return f"model is {text}; it must have a name before the =. Use {path} or NAME={path}."
