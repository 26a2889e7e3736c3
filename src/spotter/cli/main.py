"""`spotter`: the commands, and what becomes of errors.

A mistake of the user is one sentence on stderr and exit code 2; no match is 0; a
failing environment or disk is 1; an interrupt is 130, SIGTERM 143, SIGHUP 129; a reader that goes
away is 141. docs/reference/command-line.md lists them. Everything heavy is imported inside the
commands, so that `spotter --help` is instant.
"""

import atexit
import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
import typer.main

from spotter.cli import (
    bench,
    blackbox,
    compare,
    completion,
    config,
    digest,
    doctor,
    evaluate,
    examples,
    explore,
    film,
    inspect,
    keep,
    manual,
    mcp,
    pipe,
    play,
    plot,
    recipes,
    report,
    review,
    runs,
    studio,
    train,
)
from spotter.cli.groups import Command, Commands
from spotter.text.echo import echo
from spotter.text.numbers import printable
from spotter.types import NoMatchError, UserError

DONE: Final = 0
USER_ERROR: Final = 2
ENV_ERROR: Final = 1
INTERRUPTED: Final = 130
_NOT_OURS: Final = (
    ("spotter.envs.backends.slices", "EnvError"),
    ("spotter.rundir.files", "StorageError"),
)

_EXAMPLES: Final = """\
  spotter train CartPole-v1:ppo             train a recipe until it is solved
  spotter train Acrobot-v1 algo.lr=3e-4     change any setting by its dotted name
  spotter runs                              what was trained here, newest first
  spotter eval @last                        play its best policy again
  spotter doctor @last                      what is wrong, what to try first
  spotter studio                            all of it in your browser

`spotter COMMAND -h` has examples for every command; `spotter list` shows what there is.
"""

app = typer.Typer(
    name="spotter",
    cls=Commands,
    help="Train agents on Gymnasium environments, with every run checked, recorded and explained.",
    epilog=_EXAMPLES,
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: Final[dict[str, tuple[tuple[str, Callable[..., None], str], ...]]] = {
    "Train": (
        ("list", recipes.show, examples.LIST),
        ("train", train.run, train.EXAMPLES),
        ("explore", explore.run, explore.EXAMPLES),
        ("stop", keep.stop, examples.STOP),
        ("bench", bench.run, bench.EXAMPLES),
    ),
    "Look": (
        ("runs", runs.show_all, runs.EXAMPLES),
        ("show", runs.show_one, examples.SHOW),
        ("compare", compare.compare, examples.COMPARE),
        ("diff", compare.diff, examples.DIFF),
        ("plot", plot.run, plot.EXAMPLES),
        ("eval", evaluate.run, examples.EVAL),
        ("doctor", doctor.run, doctor.EXAMPLES),
        ("inspect", inspect.run, inspect.EXAMPLES),
        ("play", play.run, play.EXAMPLES),
        ("studio", studio.run, studio.EXAMPLES),
        ("blackbox", blackbox.run, examples.BLACKBOX),
    ),
    "Share": (
        ("report", report.run, examples.REPORT),
        ("film", film.run, film.EXAMPLES),
        ("tag", keep.tag, examples.TAG),
        ("note", keep.note, examples.NOTE),
        ("rm", keep.rm, examples.RM),
        ("export", keep.export, examples.EXPORT),
        ("import", keep.import_, examples.IMPORT),
        ("reindex", keep.reindex, examples.REINDEX),
    ),
    "Agents": (
        ("digest", digest.run, digest.EXAMPLES),
        ("review", review.run, review.EXAMPLES),
        ("mcp", mcp.run, mcp.EXAMPLES),
    ),
    "Help": (
        ("help", manual.run, manual.EXAMPLES),
        ("completion", completion.run, examples.COMPLETION),
    ),
}
app.add_typer(config.app, name="config", rich_help_panel="Train")
for _group, _commands in _COMMANDS.items():
    for _name, _run, _examples in _commands:
        app.command(_name, cls=Command, epilog=_examples, rich_help_panel=_group)(_run)


def _print_version(wanted: bool) -> None:
    if wanted:
        from spotter import __version__

        echo(f"spotter {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        echo(context.get_help())


def main() -> None:
    """The console script."""
    # `package:EnvId` and `algo.name: package.module` may stand in the working folder, as with
    # `python -m`; last, so that no file there hides an installed package.
    sys.path.append(str(Path.cwd()))
    pipe.watch()
    try:
        code = run(sys.argv[1:])
        pipe.flush()
    except SystemExit as leaving:
        if not isinstance(leaving.code, int):
            raise
        code = leaving.code
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit; without taking torch apart module by module, which takes 0.4 s for nothing."""
    others = [thread for thread in threading.enumerate() if not thread.daemon]
    if "torch" not in sys.modules or len(others) > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):  # a full disk
        pipe.flush()
    os._exit(code)


def run(args: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≥ must not end a training
    for text in args:
        if not _is_text(text):
            shown = text.encode(errors="surrogateescape")
            return _fail(f"the argument {shown!r} is not valid UTF-8; type it again", USER_ERROR)
    command = typer.main.get_command(app)
    if completion.is_asked():
        completion.prepare()
    try:
        code = command.main(args=list(args), prog_name="spotter", standalone_mode=False)
    except typer.TyperException as error:
        return _fail(_usage(error, args), USER_ERROR)
    except Exception as error:
        code = _expected(error)
        if code is None:
            raise
        return _fail(_out_of_memory(error) or str(error), code)
    if code == INTERRUPTED:  # what typer makes of a KeyboardInterrupt
        return _fail("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _is_text(argument: str) -> bool:
    """Bytes that the system could not decode cannot be written into a run, either."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fail(sentence: str, code: int) -> int:
    print(f"spotter: {printable(sentence)}", file=sys.stderr)
    return code


def _expected(error: Exception) -> int | None:
    """The exit code of an error that is not ours; None for a bug, which deserves a traceback."""
    if isinstance(error, NoMatchError):
        return DONE
    if isinstance(error, UserError) or _out_of_memory(error):
        return USER_ERROR
    for module, name in _NOT_OURS:  # where it is not loaded, the error cannot come from it
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(error, vars(loaded)[name]):
            return ENV_ERROR
    return None


def _out_of_memory(error: Exception) -> str:
    """One sentence about an allocation that failed; empty for other errors."""
    text = next(iter(str(error).splitlines()), "")
    is_torch = isinstance(error, RuntimeError) and ("allocate memory" in text or "of mem" in text)
    if not isinstance(error, MemoryError) and not is_torch:
        return ""
    return (
        f"not enough memory{': ' * bool(text)}{text}; lower what takes the most, such as "
        "env.count, algo.steps, algo.minibatch, policy.hidden or the size of observations"
    )


def _usage(error: typer.TyperException, args: Sequence[str]) -> str:
    """typer's complaint as one sentence, with the help page that explains."""
    from spotter.cli.options import unknown_option

    context, option = (vars(error).get(name) for name in ("ctx", "option_name"))
    message = " ".join(error.format_message().split()).rstrip(".")
    if option and context and message.startswith("No such option"):
        message = unknown_option(option, context.command.params, args)
    message = message[0].lower() + message[1:]
    return f"{message} (see `{context.command_path} --help`)" if context else message
