"""The source tree as data: modules, what they import, where."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The first name below `spotter`, which decides the layer; empty for the package itself."""
        return part_of(self.name)


def part_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@cache
def modules() -> dict[str, Module]:
    found = {}
    for path in sorted((ROOT / "spotter").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        text = path.read_text(encoding="utf-8")
        found[name] = Module(name, path, text, ast.parse(text))
    return found


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Line and target of every import, inside functions and under TYPE_CHECKING as well."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.path}:{node.lineno}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield node.lineno, inner if inner in modules() else str(node.module)


def at_import(module: Module) -> Iterator[tuple[int, str]]:
    """The imports that happen when the module is imported."""
    top = ast.Module(body=list(_executed(module.tree.body)), type_ignores=[])
    yield from imports(Module(module.name, module.path, module.text, top))


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from _executed(node.body)
            yield from _executed(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _executed([*node.body, *node.orelse, *node.finalbody])
            for handler in node.handlers:
                yield from _executed(handler.body)
        elif isinstance(node, ast.With | ast.ClassDef):
            yield from _executed(node.body)
