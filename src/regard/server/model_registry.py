"""The served models by name; those from files can be loaded again while requests are running."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import final

from regard.atomic_files import fingerprint
from regard.errors import ModelFileError, unreadable
from regard.server import messages
from regard.translator import Translator, load

ModelSource = Translator | str | PathLike[str]
"""A translator, or the path of a model file."""

VERSION_LENGTH = 12
ATTEMPTS = 3
"""Number of times that a file is read while another process replaces it."""


@final
@dataclass(frozen=True)
class ServedModel:
    """A translator, and the file and digest that it was loaded from, if any."""

    translator: Translator
    path: Path | None = None
    sha256: str | None = None

    @property
    def version(self) -> str | None:
        """The start of the file's digest."""
        return None if self.sha256 is None else self.sha256[:VERSION_LENGTH]


@final
class ModelRegistry:
    """Models by name, the default first; `models` is replaced as a whole, never changed."""

    def __init__(self, sources: Mapping[str, ModelSource], device: str = "auto") -> None:
        self.device = device
        self._lock = threading.Lock()
        self.models: Mapping[str, ServedModel] = self._load(
            {
                name: ServedModel(one) if isinstance(one, Translator) else Path(one)
                for name, one in sources.items()
            },
            {},
        )

    def reload(self) -> list[str]:
        """Load the files that have changed; return the names of their models.

        The new models are loaded beside the old ones, which go on serving. If one cannot be loaded,
        its error is raised and all old models stay.
        """
        with self._lock:
            old = self.models
            current = {(x.path, x.sha256): x for x in old.values()}
            new = self._load({name: one.path or one for name, one in old.items()}, current)
            self.models = new
        return [name for name in new if new[name] is not old[name]]

    def _load(
        self,
        sources: Mapping[str, ServedModel | Path],
        loaded: dict[tuple[Path | None, str | None], ServedModel],
    ) -> dict[str, ServedModel]:
        """Load each file once, unless its content is loaded already."""
        models = {}
        for name, source in sources.items():
            if isinstance(source, ServedModel):
                models[name] = source
                continue
            key = (source, _digest(source))
            models[name] = loaded.get(key) or load_model_file(source, self.device)
            loaded[source, models[name].sha256] = models[name]
        return models


def load_model_file(path: Path, device: str) -> ServedModel:
    """Load a model; its digest is that of the bytes that were loaded."""
    for _ in range(ATTEMPTS):
        digest = _digest(path)
        translator = load(path, device=device)
        if digest == _digest(path):
            return ServedModel(translator, path, digest)
    raise ModelFileError(str(path), messages.FILE_KEEPS_CHANGING)


def _digest(path: Path) -> str:
    try:
        return fingerprint(path)
    except OSError as error:
        raise ModelFileError(str(path), unreadable(error, str(path))) from None
