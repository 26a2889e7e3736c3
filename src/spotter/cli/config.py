"""`spotter config`: look at a config, check and format recipe files, print their schema."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotter.cli import examples
from spotter.cli.groups import Command, ShowByDefault
from spotter.cli.train import Address, Algo, Overrides
from spotter.plugins import mistakes
from spotter.text.echo import echo, echo_json
from spotter.text.numbers import plural
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.config import RunConfig
    from spotter.types import UserError

_EXAMPLES: Final = """\
  spotter config CartPole-v1:ppo                     every setting of a recipe
  spotter config CartPole-v1:ppo algo.lr=1e-4 --origin
  spotter config check recipes/MyEnv-v0.yaml
  spotter config fmt --check                         exit 1 if a file is not in order
  spotter config schema > recipe.schema.json         for your editor
"""

app = typer.Typer(
    cls=ShowByDefault,
    help="Show the config of ADDRESS; or check and format recipe files.",
    epilog=_EXAMPLES,
    subcommand_metavar="ADDRESS [KEY=VALUE]... | COMMAND [ARGS]...",
    rich_markup_mode=None,
    invoke_without_command=True,
)
Files = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Recipe files or folders of them.")
]


@app.callback()
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        echo(context.get_help())


@app.command(cls=Command, epilog=examples.CONFIG_SHOW)
def show(
    address: Address,
    overrides: Overrides = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Say of each setting where it was written.")
    ] = False,
    algo: Algo = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of YAML.")] = False,
) -> None:
    """Print a config with everything filled in.

    The default command: `spotter config ADDRESS` does the same.
    """
    from spotter.config import resolve
    from spotter.config.dump import to_yaml

    if origin and as_json:
        raise UserError("--origin writes comments, which JSON has none of: leave out --json")
    try:
        resolved = resolve(address, overrides or [], algo)
    except UserError as error:
        raise _maybe_a_command(address, error) from None
    data = resolved.config.as_data()
    if as_json:
        echo_json(data)
    else:
        for note in resolved.notes if origin else ():
            echo(f"# {note}")
        echo(to_yaml(data, resolved.origin if origin else None), nl=False)


def _maybe_a_command(address: str, error: "UserError") -> "UserError":
    """`spotter config chek` reads as an address; the user meant `check`."""
    near = [name for name in ("check", "fmt", "schema", "show") if mistakes(address, name) == 1]
    if near and str(error).startswith("unknown recipe"):
        return UserError(f"there is no command 'config {address}'; did you mean '{near[0]}'?")
    return error


@app.command(cls=Command, epilog=examples.CONFIG_CHECK)
def check(files: Files = None) -> None:
    """Check recipe, family and protocol files.

    Every variant of each, and whether training it could begin; with no files, all that are here
    and all that came with Spotter.
    """
    from spotter.config.catalogue import check

    checked = check(files or (), _try_out)
    for line in (*checked.notes, *checked.problems):
        echo(line)
    if bad := checked.bad_files:
        verb = "has" if bad == 1 else "have"
        raise UserError(f"{bad} of {plural(checked.files, 'file')} {verb} problems")
    what = f"{plural(checked.files, 'file')} with {plural(checked.variants, 'variant')}"
    echo(f"{what}: all fine")


def _try_out(config: "RunConfig") -> None:
    from spotter.training.run import try_out

    try_out(config)


@app.command(cls=Command, epilog=examples.CONFIG_FMT)
def fmt(
    files: Files = None,
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if something would change.")
    ] = False,
) -> None:
    """Put recipe files in canonical order.

    Comments stay with the key they precede. With no files, those in recipes/.
    """
    from spotter.config import recipes
    from spotter.config.catalogue import expand

    if not files and not recipes.LOCAL.is_dir():
        raise UserError("there is no recipes folder here; name the files to format")
    changed = [path for path in expand(files or [recipes.LOCAL]) if _format(path, not only_check)]
    for path in changed:
        echo(f"{'would reorder' if only_check else 'reordered'} {path}")
    if changed and only_check:
        raise typer.Exit(1)


def _format(path: Path, write: bool) -> bool:
    """Whether the file was not in canonical form; puts it so if `write`."""
    from spotter.config import recipes
    from spotter.config.format import format_text

    before = recipes.read_text(path)
    after = format_text(before, recipes.kind_of(path), str(path))
    if write and after != before:
        _replace(path.resolve(), after)
    return after != before


def _replace(path: Path, text: str) -> None:
    """Write beside it, then rename: an interrupt leaves the old file or the new, never half."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.chmod(path.stat().st_mode)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


@app.command(cls=Command, epilog=examples.CONFIG_SCHEMA)
def schema() -> None:
    """Print the JSON schema of recipe files, for editors."""
    from spotter.config.schema import recipe_schema

    echo_json(recipe_schema())
