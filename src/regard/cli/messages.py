"""Sentences of the command line, in one place for translation.

Help texts are next to their options.
"""

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


def no_attention(model: Path) -> str:
    """Say why there are no alignments."""
    return f"format is pharaoh, but {model} has no attention. Use text or jsonl."


def one_row_only(nbest: int) -> str:
    """Say why there are no n-best alignments."""
    return f"format is pharaoh, which has one row per line, but nbest is {nbest}. Use nbest = 1."


# evaluate


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


# serve


def port_too_high(port: str) -> str:
    """Say which ports exist."""
    return f"port is {port}; it must be at most 65535."


def server_package_missing(package: str) -> str:
    """Say how to install the server."""
    return f'The server needs {package}, which is not installed. Run pip install "regard[serve]".'


def same_model_name(first: Path, second: Path) -> str:
    """Say that two models would have the same name."""
    return f"{first} and {second} have the same name, {second.stem}. Rename one of the files."
