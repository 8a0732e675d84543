"""Who may import whom: the table of `docs/rooms.md`, kept."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "regard"

# the leaves, which every package may import: they need neither torch nor NumPy
COMMON = {
    *("atomic_files", "choices", "errors", "extensions", "renamed_parameters", "safetensors_files"),
    *("special_tokens", "terminal_text"),
}
MAY_IMPORT = {
    "errors": set(),
    "extensions": set(),
    "atomic_files": set(),
    "choices": set(),
    "renamed_parameters": set(),
    "safetensors_files": set(),
    "special_tokens": set(),
    "terminal_text": set(),
    "config": set(),
    "kernels": set(),
    "nn": {"kernels"},
    "encoders": {"nn", "kernels"},
    "decoders": {"nn", "kernels"},
    "models": {"encoders", "decoders", "nn"},
    "text": set(),
    "data": {"text"},
    "metrics": set(),
    "viz": set(),
    "inference": {"models", "encoders", "decoders", "nn", "kernels"},
    "search": {"config", "inference", "models"},
    "plugins": {"search"},
    "model_file": {"config", "text"},
    "saved_model": {"config", "text", "models", "model_file"},
    "training": {"config", "text", "data", "models", "search", "metrics", "kernels", "model_file"},
    "translator": {
        *("config", "saved_model", "models", "inference", "text", "data", "search", "viz"),
    },
    "pipeline": {
        *("config", "text", "data", "models", "inference", "search", "metrics", "kernels"),
        *("saved_model", "training", "translator", "viz"),
    },
    "demos": {"config", "models"},
    "server": {"config", "translator", "viz"},
    "cli": {
        *("config", "text", "data", "models", "inference", "search", "metrics", "kernels", "nn"),
        *("encoders", "decoders", "model_file", "saved_model", "training", "translator", "viz"),
        *("pipeline", "demos", "server"),
    },
}
# in models, what knows the settings
MODELS_THAT_KNOW_SETTINGS = {"build.py", "combinations.py", "presets.py"}


def imported_rooms(text):
    """Return the rooms of regard that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "regard":
                yield name.split(".")[1]


def strangers(room, name, text):
    """Return what a file of a room imports and may not."""
    allowed = {room, "__version__"} | COMMON | MAY_IMPORT[room]
    if room == "models" and name in MODELS_THAT_KNOW_SETTINGS:
        allowed |= {"config"}
    return sorted(set(imported_rooms(text)) - allowed)


def rooms():
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room != "__init__":
            yield room, path


@pytest.mark.parametrize(
    ("room", "path"), list(rooms()), ids=lambda part: getattr(part, "name", part)
)
def test_a_room_imports_only_what_it_may(room, path):
    assert strangers(room, path.name, path.read_text()) == []


def test_a_stranger_would_be_found():
    assert strangers("nn", "x.py", "from regard.models import build") == ["models"]
    assert strangers("decoders", "x.py", "def f():\n    import regard.encoders.summary") == [
        "encoders"
    ]
    assert strangers("models", "seq2seq.py", "from regard import config") == ["config"]
    assert strangers("models", "build.py", "from regard.config import model") == []


def test_oracles_import_neither_torch_nor_regard():
    for path in (ROOT / "tests" / "oracle").glob("*.py"):
        words = set(re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), flags=re.MULTILINE))
        assert words <= {"numpy", "oracle"}, path.name


def test_the_table_in_the_docs_is_this_one():
    text = (ROOT / "docs" / "rooms.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, flags=re.MULTILINE))
    assert rows.keys() == MAY_IMPORT.keys()
    for room, allowed in MAY_IMPORT.items():
        assert set(re.findall(r"`(\w+)`", rows[room])) == allowed, room


def test_settings_and_help_need_neither_torch_nor_numpy():
    script = (
        "import sys, regard, regard.config.model, regard.errors\n"
        "from typer.testing import CliRunner\n"
        "from regard.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
