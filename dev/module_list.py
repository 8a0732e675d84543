"""`python -m dev.module_list`: the list of modules in `docs/architecture.md`, from docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "regard"
PAGE = ROOT / "docs" / "architecture.md"
MARKER = "<!-- modules -->\n"


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[^l]\.) |(?<=[^a]l\.) ", paragraph)[0]


def module_rows(folder: Path) -> Iterator[str]:
    """Yield a row for each module of a package; an empty `__init__` has none."""
    for path in sorted(folder.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if docstring:
            # a bar would end the cell
            sentence = first_sentence(docstring).replace("|", "\\|")
            yield f"| `{path.relative_to(SOURCE)}` | {sentence} |"


def module_list() -> str:
    """Return the section: the modules at the top, then a table for each package."""
    top = [path for path in sorted(SOURCE.glob("*.py")) if path.name != "__init__.py"]
    lines = ["", "### at the top", "", "| module | what it is for |", "|---|---|"]
    for path in top:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines.append(f"| `{path.name}` | {first_sentence(docstring)} |")
    for folder in sorted(path for path in SOURCE.iterdir() if (path / "__init__.py").exists()):
        lines += ["", f"### {folder.name}", "", "| module | what it is for |", "|---|---|"]
        lines += module_rows(folder)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the section behind its marker."""
    head, marker, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    PAGE.write_text(head + marker + module_list(), encoding="utf-8")


if __name__ == "__main__":
    main()
