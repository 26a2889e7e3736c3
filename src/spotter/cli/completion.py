"""`spotter completion`: what a shell needs to complete commands, options, recipes, settings, runs.

All three scripts ask `spotter` itself, with the line so far in COMP_WORDS. Whole words are
replaced, also where a shell would break them at `:` or `=`.
"""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from spotter import plugins
from spotter.plugins import did_you_mean
from spotter.text.echo import echo
from spotter.types import UserError

VARIABLE: Final = "_SPOTTER_COMPLETE"
_BASH: Final = """\
_spotter_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" word place
    local -a words
    read -ra words <<< "$line"
    place=$(( ${#words[@]} - 1 ))
    [[ "$line" == *" " ]] && place=$(( place + 1 ))
    word="${words[place]:-}"
    local IFS=$'\\n'
    COMPREPLY=( $(COMP_WORDS="$line" COMP_CWORD=$place _SPOTTER_COMPLETE=complete_bash "$1") )
    # bash breaks words at : and =, and replaces only what comes after
    COMPREPLY=( "${COMPREPLY[@]#"${word%"${word##*[:=]}"}"}" )
    [[ ${#COMPREPLY[@]} == 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _spotter_completion spotter"""
_ZSH: Final = """\
_spotter() {
    local -a found
    found=("${(@f)$(COMP_WORDS="${(j: :)words[1,CURRENT]}" COMP_CWORD=$((CURRENT - 1)) \\
        _SPOTTER_COMPLETE=complete_bash "${words[1]}")}")
    found=(${found:#})
    if (( ${#found} )); then
        compadd -S '' -- ${(M)found:#*=}
        compadd -- ${found:#*=}
    else
        _files
    fi
}
compdef _spotter spotter"""
_FISH: Final = """\
function __spotter_complete
    set -l line (commandline -cp)
    set -l found (COMP_WORDS="$line" COMP_CWORD=(count (commandline -opc)) \\
        _SPOTTER_COMPLETE=complete_bash spotter)
    if string length --quiet -- $found
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
# of itself, fish offers files after : and = too
complete --command spotter --no-files --arguments '(__spotter_complete)'"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def run(
    shell: Annotated[
        str | None,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish; yours if left out."),
    ] = None,
) -> None:
    """Print a script that makes your shell complete commands, recipes and settings."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SCRIPTS:
        raise UserError(f"there is no completion for '{name}'{did_you_mean(name, SCRIPTS)}")
    echo(SCRIPTS[name])


def is_asked() -> bool:
    """Whether a shell asks for completions."""
    return VARIABLE in os.environ


def prepare() -> None:
    """Let typer answer it."""
    from typer._completion_classes import completion_init

    completion_init()


# --- what an argument may be ----------------------------------------------------------------------


def addresses(incomplete: str) -> list[str]:
    """Recipes and their variants."""
    from spotter.config import recipes

    found: list[str] = []
    for name, path in recipes.files().items():
        try:
            found += [name, *(f"{name}:{v}" for v in recipes.variants(recipes.open_source(path)))]
        except UserError:
            found.append(name)
    return found


def settings(incomplete: str) -> list[str]:
    """`algo.lr=`; after the sign, the choices there are."""
    from spotter.config.reference import TYPES, entries

    name, sign, _ = incomplete.partition("=")
    there = [entry for entry in entries() if entry.is_override]
    if not sign:
        return sorted({f"{entry.name}=" for entry in there})
    choices = {word: None for e in there if e.name == name for word in e.type.split(" or ")}
    return [f"{name}={word}" for word in choices if word not in TYPES and " " not in word]


def algorithms(incomplete: str) -> list[str]:
    return plugins.names("algos")


def launchers(incomplete: str) -> list[str]:
    return plugins.names("launchers")


def runs(incomplete: str) -> list[str]:
    """Ids, tags and selectors."""
    from spotter.rundir.registry import listing

    infos = listing().infos
    envs = sorted({info["env"] for info in infos})
    words = [f"{word}:{env}" for word in ("@last", "@best-of") for env in envs]
    tags = sorted({tag for info in infos for tag in info["tags"]})
    return ["@last", *words, *tags, *(info["id"] for info in infos)]


def runs_and_groups(incomplete: str) -> list[str]:
    from spotter.rundir.registry import listing

    groups = sorted({info["group"] for info in listing().infos if info["group"]})
    return [*groups, *runs(incomplete)]
