"""`spotter config`: show, check, fmt, schema."""

import json
import stat
from pathlib import Path

import pytest

from spotter.config import recipes, resolve, validate
from spotter.config.schema import recipe_schema

ADDRESS = "CartPole-v1:ppo"
MESSY = "variants:\n  a:\n    seed: 1\n    env: {id: CartPole-v1}\n\n\nfamily: classic   \n"
NEAT = "family: classic\n\nvariants:\n  a:\n    env: {id: CartPole-v1}\n    seed: 1\n"


@pytest.mark.parametrize("words", [("config",), ("config", "show")])
def test_show_is_the_resolved_config_as_yaml(spotter, words):
    ran = spotter(*words, ADDRESS, "algo.lr=1e-4", "reward.clip=null")
    assert ran.code == 0
    data = recipes.plain(recipes.parse(ran.out, "out"))
    assert validate(data) == resolve(ADDRESS, ["algo.lr=1e-4"]).config


def test_options_may_stand_first(spotter):
    ran = spotter("config", "--json", "--algo", "a2c", "CartPole-v1", "seed=3")
    assert json.loads(ran.out) == resolve("CartPole-v1:a2c", ["seed=3"]).config.as_data()


def test_origin(spotter):
    lines = spotter("config", ADDRESS, "seed=3", "--origin").out.splitlines()
    origins = {line.split("# from ")[1] for line in lines if "# from " in line}
    assert {"default", "family classic", "recipe CartPole-v1", "variant ppo"} <= origins
    assert next(line for line in lines if line.startswith("seed:")).endswith("# from command line")
    assert all("# from" in line or line.endswith(":") for line in lines)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["CartPole-v1:pp"], "CartPole-v1 has no variant 'pp'; did you mean 'CartPole-v1:ppo'?"),
        ([ADDRESS, "algo.clp=1"], "command line: algo.clp is not a setting; did you mean algo.c"),
        ([ADDRESS, "--json", "--origin"], "--origin writes comments, which JSON has none of"),
        ([ADDRESS, "--algo", "a2c"], "CartPole-v1:ppo uses ppo, not a2c; leave out the variant"),
    ],
)
def test_mistakes(spotter, args, sentence):
    ran = spotter("config", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"spotter: {sentence}")


def test_check(spotter, folder):
    folder("recipes/Good-v0.yaml", NEAT)
    ran = spotter("config", "check", "recipes")
    assert (ran.code, ran.out) == (0, "1 file with 1 variant: all fine\n")
    folder("recipes/Bad-v0.yaml", NEAT.replace("seed", "sed"))
    ran = spotter("config", "check", "recipes")
    assert ran.code == 2
    assert ran.out == "recipes/Bad-v0.yaml:6: sed is not a setting; did you mean seed?\n"
    assert ran.err == "spotter: 1 of 2 files has problems\n"


def test_check_says_what_training_would_refuse(spotter, folder):
    text = """\
base: {env: {id: CartPole-v1, count: 2}}
variants:
  one: {env: {kwargs: {gravity: 1}}}
  two: {env: {wrappers: [{name: grayscale}]}}
  ppo: {}
"""
    path = folder("recipes/CartPole-v1.yaml", text)
    ran = spotter("config", "check", str(path))
    assert ran.code == 2
    note, one, two = ran.out.splitlines()
    assert note == f"{path}:5: variant ppo hides the one that comes with Spotter"
    assert one.startswith(f"{path}:3: variant one: CartPole-v1 cannot be made with env.kwargs")
    assert two.startswith(f"{path}:4: variant two: grayscale needs uint8 images")
    assert ran.err == "spotter: 1 of 1 file has problems\n"


def test_fmt_writes_and_then_rests(spotter, folder):
    path = folder("recipes/Messy-v0.yaml", MESSY)
    path.chmod(0o640)
    ran = spotter("config", "fmt")
    assert (ran.code, ran.out) == (0, "reordered recipes/Messy-v0.yaml\n")
    assert path.read_text() == NEAT
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [path.name for path in Path("recipes").iterdir()] == ["Messy-v0.yaml"], (
        "no temporary file stays behind"
    )
    ran = spotter("config", "fmt")
    assert (ran.code, ran.out) == (0, "")


def test_fmt_check_changes_nothing(spotter, folder):
    path = folder("elsewhere/Messy-v0.yaml", MESSY)
    ran = spotter("config", "fmt", "--check", str(path))
    assert (ran.code, ran.out) == (1, "would reorder elsewhere/Messy-v0.yaml\n")
    assert path.read_text() == MESSY
    folder("elsewhere/Messy-v0.yaml", NEAT)
    assert spotter("config", "fmt", "--check", "elsewhere").code == 0


def test_fmt_follows_links_and_keeps_them(spotter, folder):
    path = folder("elsewhere/Messy-v0.yaml", MESSY)
    Path("link.yaml").symlink_to(path)
    assert spotter("config", "fmt", "link.yaml").code == 0
    assert Path("link.yaml").is_symlink()
    assert path.read_text() == NEAT


def test_fmt_leaves_the_file_alone_when_writing_fails(spotter, folder, monkeypatch):
    path = folder("recipes/Messy-v0.yaml", MESSY)

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    ran = spotter("config", "fmt")
    assert ran.code == 2
    assert ran.err.endswith("Messy-v0.yaml: cannot be written: No space left on device\n")
    assert path.read_text() == MESSY
    assert [path.name for path in Path("recipes").iterdir()] == ["Messy-v0.yaml"]


def test_fmt_without_a_recipes_folder(spotter, folder):
    ran = spotter("config", "fmt")
    assert ran.code == 2
    assert ran.err == "spotter: there is no recipes folder here; name the files to format\n"


def test_schema(spotter):
    assert json.loads(spotter("config", "schema").out) == recipe_schema()
