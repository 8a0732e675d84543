"""Output files of commands: checked early, and replaced atomically."""

from pathlib import Path

from regard.atomic_files import replace_file
from regard.choices import either
from regard.cli import messages
from regard.errors import ConfigError, DataError, unwritable

ELSEWHERE = "--out in another folder"


def refuse_output(command: str, path: Path, endings: tuple[str, ...], overwrite: bool) -> str:
    """Return the ending of a file; refuse other endings and existing files."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in endings:
        names = either(f".{name}" for name in endings)
        raise ConfigError(command, [messages.wrong_ending(path, names)])
    if path.is_dir():
        raise DataError(str(path), None, messages.OUTPUT_IS_FOLDER)
    if path.exists() and not overwrite:
        raise DataError(str(path), None, messages.OUTPUT_EXISTS)
    if not path.absolute().parent.is_dir():
        raise DataError(str(path), None, messages.no_output_folder(path))
    return ending


def write_output(path: Path, content: bytes) -> None:
    """Replace a file atomically, or say why it cannot be written."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise DataError(str(path), None, unwritable(error, f"Use {ELSEWHERE}.")) from None
