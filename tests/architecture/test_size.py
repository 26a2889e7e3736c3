"""Files and functions a person can hold in mind, and a word about what each file is for."""

import ast
import re

import pytest

from tests.architecture.source import Module, modules

LONGEST_FILE = 400
LONGEST_FUNCTION = 60


@pytest.mark.parametrize("module", modules().values(), ids=lambda module: module.name)
class TestModule:
    def test_the_file_is_short(self, module: Module):
        assert len(module.text.splitlines()) <= LONGEST_FILE

    def test_functions_are_short(self, module: Module):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                assert length <= LONGEST_FUNCTION, f"{module.path}:{node.lineno}: {node.name}"

    def test_it_says_what_it_is_for(self, module: Module):
        assert ast.get_docstring(module.tree), f"{module.path} has no docstring"

    def test_nothing_is_left_to_do(self, module: Module):
        for number, line in enumerate(module.text.splitlines(), 1):
            assert not re.search(r"\b(TODO|FIXME|XXX)\b", line), f"{module.path}:{number}"
