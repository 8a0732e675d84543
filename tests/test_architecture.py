"""`docs/architecture.md` is true: who may import whom, what runs in which order, every module."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dev.module_list import MARKER, module_list

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "regard"

# the leaves, which every package may import: they need neither torch nor NumPy
COMMON = {
    *("atomic_files", "choices", "errors", "extensions", "renamed_parameters", "safetensors_files"),
    *("runtime_environment", "special_tokens", "terminal_text"),
}
MAY_IMPORT = {
    "errors": set(),
    "extensions": set(),
    "atomic_files": set(),
    "choices": set(),
    "renamed_parameters": set(),
    "runtime_environment": set(),
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
    "data": {"config", "text"},
    "metrics": set(),
    "viz": {"metrics"},
    "inference": {"models", "encoders", "decoders", "nn", "kernels"},
    "search": {"config", "inference", "models"},
    "plugins": {"search"},
    "model_file": {"config", "text"},
    "saved_model": {"config", "text", "models", "model_file"},
    "training": {
        *("config", "text", "data", "models", "search", "metrics", "kernels", "model_file", "viz"),
    },
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


def imported_packages(text):
    """Return the packages of regard that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "regard":
                yield name.split(".")[1]


def forbidden_imports(package, name, text):
    """Return what a module of a package imports and may not."""
    allowed = {package, "__version__"} | COMMON | MAY_IMPORT[package]
    if package == "models" and name in MODELS_THAT_KNOW_SETTINGS:
        allowed |= {"config"}
    return sorted(set(imported_packages(text)) - allowed)


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package != "__init__":
            yield package, path


@pytest.mark.parametrize(
    ("package", "path"), list(modules()), ids=lambda part: getattr(part, "name", part)
)
def test_a_package_imports_only_allowed_packages(package, path):
    assert forbidden_imports(package, path.name, path.read_text()) == []


def test_a_forbidden_import_is_noticed():
    assert forbidden_imports("nn", "x.py", "from regard.models import build") == ["models"]
    assert forbidden_imports(
        "decoders", "x.py", "def f():\n    import regard.encoders.summary"
    ) == ["encoders"]
    assert forbidden_imports("models", "seq2seq.py", "from regard import config") == ["config"]
    assert forbidden_imports("models", "build.py", "from regard.config import model") == []


def test_oracles_import_neither_torch_nor_regard():
    for path in (ROOT / "tests" / "oracle").glob("*.py"):
        words = set(re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), flags=re.MULTILINE))
        assert words <= {"numpy", "oracle"}, path.name


def test_the_import_table_of_the_docs_is_up_to_date():
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("## Who may import whom")[2].partition("## Shape letters")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, flags=re.MULTILINE))
    assert rows.keys() == MAY_IMPORT.keys()
    for package, allowed in MAY_IMPORT.items():
        assert set(re.findall(r"`(\w+)`", rows[package])) == allowed, package


def test_every_step_named_in_the_docs_exists():
    text = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"`([\w/]+\.(?:py|js))(?::(\w+))?`", text.partition("## Every module")[0])
    assert len(steps) > 50
    for name, function in steps:
        page = SOURCE / "server" / "page"
        folders = (SOURCE, page, ROOT)
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        assert path is not None, name
        assert not function or re.search(rf"^def {function}\(", path.read_text(), flags=re.M), name


def test_every_module_of_the_glossary_exists():
    text = (ROOT / "docs" / "glossary.md").read_text()
    names = re.findall(r"`([\w/]+(?:\.py|/))`", text)
    assert len(names) > 50
    missing = [name for name in names if not any((x / name).exists() for x in (SOURCE, ROOT))]
    assert missing == []


def test_every_answer_of_the_reader_test_exists():
    text = (ROOT / "dev" / "where_is.md").read_text()
    answers = re.findall(r"\| `([\w/.]+)` \|$", text, flags=re.MULTILINE)
    assert len(answers) == 40
    assert [name for name in answers if not any((x / name).exists() for x in (SOURCE, ROOT))] == []


def test_the_list_of_modules_is_up_to_date():
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert text.partition(MARKER)[2] == module_list()


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
