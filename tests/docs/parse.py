"""Blocks that are not executed: their commands, imports and settings are still looked at."""

import ast
import importlib
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ruamel.yaml import YAML

from spotter.cli.groups import Command
from spotter.cli.launching import with_launch
from spotter.cli.main import run
from spotter.config import changed, resolve
from spotter.config.catalogue import check_files
from tests.docs.blocks import ROOT, Block

MADE_UP = ("SomePackage:", "my_package:", "my_env:")
_RESOLVED = ("train", "show", "bench")
_PREFIXES = ("do", "then", "time", "nice", "$")
_SHELL = {"break", "cat", "cd", "cp", "done", "echo", "eval", "export", "for", "ls", "mkdir"}
_SHELL |= {"pipx", "source", "uvx"}


def check(block: Block) -> None:
    """AssertionError or the error of what is wrong."""
    {"bash": _bash, "console": _bash, "python": _python, "yaml": _yaml}.get(block.language, _data)(
        block
    )


def _data(block: Block) -> None:
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    else:
        code = re.search(r"^(\$|spotter|pip|python|import|from) ", block.text, re.M)
        assert not code, f"commands and code are no text: {block.text}"


def _bash(block: Block) -> None:
    text = block.text
    if block.language == "console":
        text = "".join(re.findall(r"^\$ (.*\n)", text, re.M))
    for words in commands(text):
        _CHECKS.get(words[0], _shell)(words)


def commands(text: str) -> Iterator[list[str]]:
    """The single commands of a script, without what stands before them and their redirections."""
    text = re.sub(r"(^|\s)#.*", "", text.replace("\\\n", " "), flags=re.M)
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split, lexer.commenters = True, ""
        words: list[str] = []
        is_file = False
        for token in [*lexer, ";"]:
            if not set(token) <= set("();<>|&"):
                words += [] if is_file else [re.sub(r"\$\w+", "1", token)]
                is_file = False
            elif set(token) & set("<>"):
                is_file = True
            else:
                yield from filter(None, [_command(words)])
                words = []


def _command(words: list[str]) -> list[str]:
    while words and (words[0] in _PREFIXES or re.match(r"\w+=", words[0])):
        words = words[1:]
    return words


def _spotter(words: list[str]) -> None:
    """Through the real parser, with every command's work left out."""
    seen: list[Any] = []
    with patch.object(Command, "invoke", lambda self, context: seen.append(context)):
        assert run(words[1:]) == 0, shlex.join(words)
    for context in seen:
        _settings(context.command.name, context.params)


def _settings(name: str, given: dict[str, Any]) -> None:
    address, overrides = given.get("address"), given.get("overrides") or []
    if given.get("resume"):
        changed(resolve("CartPole-v1:ppo").config, [*([address] if address else []), *overrides])
    elif name in _RESOLVED and address and not address.startswith(MADE_UP):
        if given.get("demo"):  # it fills in what an exploration found
            overrides = ["env.demo={actions: 0*1, score: 1}", *overrides]
        resolve(address, with_launch(list(overrides), given.get("launch")), given.get("algo"))


def _python_command(words: list[str]) -> None:
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    places = [folder / script for folder in (ROOT, Path())] if script else []
    assert not script or any(place.is_file() for place in places), f"there is no {script}"


def _pip(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for word in words:
        match = re.fullmatch(r"(?:spotter-rl|\.)\[(.+)\]", word)
        for extra in match[1].split(",") if match else ():
            assert extra in project["optional-dependencies"], word


def _make(words: list[str]) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(words[1:]) <= set(targets), words


def _shell(words: list[str]) -> None:
    assert words[0] in _SHELL, f"'{words[0]}' is not a command that pages use"


_CHECKS = {"spotter": _spotter, "python": _python_command, "pip": _pip, "make": _make}


def _python(block: Block) -> None:
    """It compiles, what it imports is there, and so are the names it takes from `spotter`."""
    tree = ast.parse(block.text, str(block.page))
    needs = re.findall(r"# needs ([\w-]+)", block.text)
    skipped = {name.replace("-", "_") for name in needs}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _import(alias.name, (), skipped)
        elif isinstance(node, ast.ImportFrom):
            _import(node.module or "", tuple(alias.name for alias in node.names), skipped)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "spotter":
            assert hasattr(importlib.import_module("spotter"), node.attr), node.attr


def _import(module: str, names: tuple[str, ...], skipped: set[str]) -> None:
    if module.partition(".")[0] in skipped:
        return
    found = importlib.import_module(module)
    for name in names:
        assert hasattr(found, name) or importlib.import_module(f"{module}.{name}"), name


def _yaml(block: Block) -> None:
    """A whole recipe, family or protocol as a file; a part of one over a recipe."""
    data = YAML(typ="safe").load(block.text)
    if "variants" in data or "base" in data:
        path = Path(block.mark("file") or "recipes/page.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        assert check_files([path]) == [], os.fspath(path)
        return
    algo = data.get("algo", {}).get("name")
    resolve(block.mark("over") or "CartPole-v1", [data], algo)
