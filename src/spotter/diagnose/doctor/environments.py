"""Is everything here fit to train? One environment of each family, made, stepped and judged.

Every environment is tried by a process of its own: an emulator that crashes or hangs is a finding
then, not the end of the examination, and no family's libraries are loaded into this one.
"""

import platform
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from spotter import __version__, plugins
from spotter.config import EnvConfig, recipes, resolve
from spotter.diagnose.doctor import apart, random_play
from spotter.diagnose.doctor.found import Found
from spotter.system.machine import cores
from spotter.types import Leaf, Spaces, UserError

if TYPE_CHECKING:
    from spotter.envs.checkup import Played

State = Literal["ok", "not installed", "broken"]
TIMEOUT_S: Final = 120.0
_EXAMPLES: Final = {"gymnasium": "CartPole-v1"}
"""Environments to try where a family names none and has no recipe."""


@dataclass(frozen=True)
class Finding:
    """What was found out about one environment."""

    family: str
    env: str = ""
    state: State = "ok"
    step_s: float | None = None
    observation: str = ""
    action: str = ""
    protocol: str = ""
    seeds: bool | None = None
    """Whether a seed decides the whole game."""
    copies_differ: bool | None = None
    """Whether other seeds give other games."""
    problem: str = ""
    """What is wrong; with state `ok`, what will not work in spite of it."""
    fix: str = ""
    """What to do about it, as a command where there is one."""
    rewards: str = ""
    """Lowest and highest reward of one step, in random play."""


# --- looking at everything ------------------------------------------------------------------------


def families() -> Iterator[Finding]:
    """Every family there is, one finding each, as they come."""
    yield from map(family, plugins.names("envs"))


def family(name: str) -> Finding:
    """A family, by the environment it is tried with."""
    return _in_a_process({"family": name}, Finding(name))


def environment(env: EnvConfig) -> Finding:
    """One environment, with all its settings and wrappers."""
    data = env.model_dump(mode="json", by_alias=True)
    return _in_a_process({"env": data}, Finding(env.family or "gymnasium", env.id))


def _in_a_process(task: Mapping[str, Any], about: Finding) -> Finding:
    """Let a process do the task; how it ends is a finding as well."""
    try:
        return Finding(**apart.ask("spotter.diagnose.doctor.environments", task, TIMEOUT_S))
    except apart.Failed as error:
        sentence = str(error)
    if sentence.startswith("it has not answered"):
        return _broken(about, sentence, "Try again on an idle machine; if it stays, report it.")
    return _broken(about, sentence, remedy(sentence) or _reinstall(about.family))


def _broken(about: Finding, problem: str, fix: str) -> Finding:
    return Finding(about.family, about.env, "broken", problem=problem, fix=fix)


# --- in that process ------------------------------------------------------------------------------


def examine(task: Mapping[str, Any]) -> Finding:
    """What a task asks for: `{family: name}`, or `{env: settings}`."""
    if "env" in task:
        data = task["env"]
        about = Finding(data["family"] or "gymnasium", data["id"])
        return _tried(about, lambda: EnvConfig.chosen(data).from_data(data))
    name = str(task["family"])
    return _tried(Finding(name), lambda: example(name))


def example(family: str) -> EnvConfig:
    """The environment a family is tried with: its own `EXAMPLE`, or that of its first recipe."""
    module = plugins.load("envs", family)
    env_id = _example_id(family, module)
    if recipes.family_of(env_id) == family:
        return resolve(env_id).config.env
    return EnvConfig(id=env_id, family=family)


def _example_id(family: str, module: ModuleType) -> str:
    named = vars(module).get("EXAMPLE") or _EXAMPLES.get(family)
    if named:
        return str(named)
    for name, path in sorted(recipes.files().items()):
        source = recipes.open_source(path)
        env_id = str(source.section("base", "env").get("id") or name)
        if (source.data.get("family") or recipes.family_of(env_id)) == family:
            return env_id
    raise UserError(f"envs/families/{family}.py names no EXAMPLE to try, and no recipe uses it")


def _tried(about: Finding, config: Callable[[], EnvConfig]) -> Finding:
    from spotter.envs.checkup import check_picture
    from spotter.envs.checkup import examine as look_at

    env = None
    try:
        env = config()
        seen = look_at(env)
    except Exception as error:  # third-party code may fail in any way
        return _failed(Finding(about.family, env.id if env else about.env), error)
    notes = [(_note(found), " ".join(found.overrides)) for found in _odd(seen.played)]
    if not seen.repeats:
        notes.append(("the same seed gives another game, so runs cannot be repeated", ""))
    if not seen.differs:
        notes.append(("all seeds give the same game; envs differ by the policy only", ""))
    try:
        check_picture(env)
    except Exception as error:
        notes.append((f"cannot render: {_sentence(error)}", remedy(str(error))))
    return Finding(
        about.family,
        env.id,
        step_s=seen.step_s,
        observation=" + ".join(_leaf(leaf) for leaf in seen.spaces.observation.values()),
        action=_action(seen.spaces),
        rewards=random_play.rewards(seen.played),
        protocol=str(getattr(env, "protocol", None) or ""),
        seeds=seen.repeats,
        copies_differ=seen.differs,
        problem="; ".join(problem for problem, _ in notes),
        fix="; ".join(fix for _, fix in notes if fix),
    )


def _odd(played: "Played") -> Iterator[Found]:
    judges = (random_play.resets_itself, random_play.uneven, random_play.odd_rewards)
    yield from filter(None, (judge(played) for judge in judges))


def _note(found: Found) -> str:
    sentence = found.sentence.removesuffix(".")
    return f"{sentence[:1].lower()}{sentence[1:]} ({found.evidence[0]})"


def _failed(about: Finding, error: Exception) -> Finding:
    reasons = list(_causes(error))
    sentence = _sentence(error)
    if any(_is_missing(reason) for reason in reasons):
        fix = remedy(sentence) or plugins.install(about.family)
        return Finding(about.family, about.env, "not installed", problem=sentence, fix=fix)
    library = next((reason for reason in reasons if isinstance(reason, ImportError)), None)
    if library is not None:  # it is there, and cannot be used
        sentence = f"it is installed but cannot be loaded: {library}"
        return _broken(about, sentence, remedy(sentence) or _reinstall(about.family))
    fix = remedy(sentence)
    if not fix and not isinstance(error, UserError):  # whose sentence says what to do
        fix = f"report it with the output of: spotter doctor {about.env or about.family} --json"
    return _broken(about, sentence, fix)


def _is_missing(reason: BaseException) -> bool:
    from gymnasium.error import DependencyNotInstalled

    return isinstance(reason, ModuleNotFoundError | DependencyNotInstalled)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    is_told = isinstance(error, UserError | AssertionError)
    return text if is_told else f"{type(error).__name__}: {text}"


def _leaf(leaf: Leaf) -> str:
    if leaf.kind == "image":
        return f"image {'×'.join(map(str, leaf.shape))} {leaf.dtype}"
    if leaf.nvec:
        return f"{leaf.kind} {'·'.join(map(str, leaf.nvec))}"
    return f"{leaf.kind} {leaf.shape[0]}"


def _action(spaces: Spaces) -> str:
    spec = spaces.action
    return f"{spec.kind} {'·'.join(map(str, spec.nvec or spec.shape))}"


# --- what to do about it --------------------------------------------------------------------------

_LIBRARIES: Final = {
    "libGL": "libgl1",
    "libEGL": "libegl1",
    "libglib": "libglib2.0-0",
    "libopenal": "libopenal1",
    "libSDL2": "libsdl2-2.0-0",
    "libX11": "libx11-6",
}
_NO_DISPLAY: Final = re.compile(
    r"no available video device|video system not initialized|(open|connect to|find) .*display"
    r"|\$?DISPLAY\b|XDG_RUNTIME_DIR|X11 .*(fail|error)|GLXBadContext|GLFW",
    re.IGNORECASE,
)


def remedy(text: str) -> str:
    """The exact thing to do about an error message, where it is a known one."""
    command = re.search(r"(?:pip install|python -m) [^`;]+", text)
    if command:
        return command[0].strip(" .")
    library = re.search(r"(lib\w+)[\w.+-]*\.so[.\d]*: cannot open shared object", text)
    if library:
        package = _LIBRARIES.get(library[1].rstrip("0123456789"), _LIBRARIES.get(library[1]))
        missing = library[0].split(":")[0]
        return f"apt-get install {package}" if package else f"install what holds {missing}"
    if _NO_DISPLAY.search(text):
        return "xvfb-run -a spotter …, or SDL_VIDEODRIVER=dummy where there is no screen"
    return ""


def _reinstall(family: str) -> str:
    return plugins.install(family, "--force-reinstall ")


# --- the machine ----------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    """What everything runs on, a few words each."""
    import gymnasium
    import torch

    from spotter.engines.kernels import COMPILED

    device = "cpu"
    if torch.cuda.is_available():
        device = f"cuda ({torch.cuda.get_device_name()})"
    elif torch.backends.mps.is_available():
        device = "mps"
    return {
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "spotter": __version__,
        "torch": torch.__version__,
        "gymnasium": gymnasium.__version__,
        "device": device,
        "cores": str(cores()),
        "video": _video(),
        "kernels": "compiled" if COMPILED else "not compiled: install a C compiler, then again",
    }


def _video() -> str:
    try:
        import av
    except ImportError as error:
        return f"none: {error}"
    codec = "" if "libx264" in av.codecs_available else " without H.264: no videos"
    return f"av {av.__version__} (ffmpeg {av.ffmpeg_version_info}){codec}"


if __name__ == "__main__":
    apart.answer(lambda task: asdict(examine(task)))
