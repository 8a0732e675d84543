"""Names say what a thing is, never what happened to it; no class name stands in two packages."""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "regard"
PAGE = SOURCE / "server" / "page"

# participles and adverbs that say what happened to a thing
BANNED = {
    *("found", "shown", "told", "made", "taken", "kept", "given", "asked", "said", "seen"),
    *("moved", "met", "chosen", "looked", "drawn", "ahead", "alike", "rough", "tired"),
}
# a replacement that says no more than the participle did
EMPTY = {"res", "item"}


def bound_names(text):
    """Yield every name that Python code binds: variables, arguments, functions, classes."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name


def bound_names_of_script(text):
    """Yield every name that JavaScript binds: variables, parameters, functions, classes, keys."""
    code = re.sub(r"//.*|/\*.*?\*/|`[^`]*`|\"[^\"\n]*\"|'[^'\n]*'", "", text)
    yield from re.findall(r"\b(?:function|class)\s+([A-Za-z_$][\w$]*)", code)
    for pattern in re.findall(r"\b(?:const|let|var)\s+([^=;]+?)\s*(?:=|;| of | in )", code):
        yield from re.findall(r"[A-Za-z_$][\w$]*", pattern)
    for parameters in re.findall(r"\(([^()]*)\)\s*(?:=>|\{)", code):
        yield from re.findall(r"[A-Za-z_$][\w$]*", parameters)
    yield from re.findall(r"([A-Za-z_$][\w$]*)\s*=>", code)
    yield from re.findall(r"([A-Za-z_$][\w$]*)\s*:", code)


def banned(names):
    """Count the names that say what happened; an underscore or capitals change nothing."""
    return Counter(name for name in names if name.strip("_").lower() in BANNED | EMPTY)


def test_no_name_is_a_banned_participle():
    counts = {}
    for path in sorted(SOURCE.rglob("*.py")):
        counts |= {
            (path.relative_to(SOURCE), n): c
            for n, c in banned(bound_names(path.read_text())).items()
        }
    for path in sorted(PAGE.glob("*.js")):
        counts |= {
            (path.name, n): c for n, c in banned(bound_names_of_script(path.read_text())).items()
        }
    print(f"{sum(counts.values())} names in src say what happened to a thing")
    assert counts == {}


def test_a_banned_name_is_noticed():
    text = "def told(met, *, seen=1):\n    found, self._kept = 1, 2\n"
    text += "    for chosen in []:\n        pass\n"
    assert banned(bound_names(text)) == Counter(["told", "met", "seen", "found", "_kept", "chosen"])
    assert banned(bound_names("class Looked:\n    shown: int\n")) == Counter(["Looked", "shown"])
    script = "const {found, x} = f((asked) => 1); function told(a, met) {} // kept = 1\n"
    assert banned(bound_names_of_script(script)) == Counter(["found", "asked", "told", "met"])


def test_no_class_name_occurs_in_two_packages():
    packages = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                packages[node.name].add(path.relative_to(SOURCE).parts[0])
    shared = {name: sorted(where) for name, where in packages.items() if len(where) > 1}
    print(f"{len(shared)} class names stand in two packages")
    assert shared == {}
