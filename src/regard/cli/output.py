"""Files that commands write on request: refused before it costs time, and never half there."""

from pathlib import Path

from regard.atomic_files import replace_file
from regard.choices import either
from regard.errors import ConfigError, DataError, unwritable

ELSEWHERE = "--out in another folder"


def refuse_output(command: str, path: Path, endings: tuple[str, ...], overwrite: bool) -> str:
    """Return what the file is by its ending; refuse another, and one that would be lost."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in endings:
        names = either(f".{name}" for name in endings)
        would = f"{path.with_suffix(f'.{endings[0]}') if path.name else 'a file'} would do"
        raise ConfigError(command, [f"out = {path}, but it must end in {names}; {would}"])
    if path.is_dir():
        raise DataError(str(path), None, "it is a folder, but it must be a file; another would do")
    if path.exists() and not overwrite:
        problem = "it is there already, but it must not be lost; --overwrite or another --out"
        raise DataError(str(path), None, f"{problem} would do")
    if not path.absolute().parent.is_dir():
        problem = f"there is no folder {path.parent}; {ELSEWHERE} would do"
        raise DataError(str(path), None, problem)
    return ending


def write_output(path: Path, content: bytes) -> None:
    """Write a file in one move, or say why it cannot be written."""
    try:
        replace_file(path, content)
    except OSError as error:
        raise DataError(str(path), None, unwritable(error, f"Use {ELSEWHERE}.")) from None
