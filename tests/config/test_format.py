"""Canonical order: nothing lost, nothing changed, and done once is done."""

import random
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.config import recipes
from spotter.config.format import format_text
from spotter.types import UserError

MESSY = """\
# A file about toys.

# what can be trained
variants:
  # the second one
  slow:
    expect: {env_steps: 10, score: 1}
    algo:
      # keep it small
      clip: 0.2   # inline
      lambda: 0.9
      name: ppo


      lr:
        end: 0
        start: 1
        # about the end of lr
      # about the end of algo
    description: |
      two  spaces  \n
        and more

    # before env
    env:
      wrappers:
        - skip: 4
          name: frame_skip
      id: Toy-v0
  fast: {seed: 1, env: {id: x}}

base:
  seed: 3
  env: {count: 3,
    id: y}
family: classic
# the end
"""
NEAT = """\
# A file about toys.

family: classic

base:
  env: {count: 3,
    id: y}
  seed: 3
# what can be trained
variants:
  # the second one
  slow:
    description: |
      two  spaces  \n
        and more
    # before env
    env:
      id: Toy-v0
      wrappers:
        - skip: 4
          name: frame_skip
    algo:
      name: ppo
      lr:
        start: 1
        end: 0
        # about the end of lr
      lambda: 0.9

      # keep it small
      clip: 0.2   # inline
      # about the end of algo

    expect: {env_steps: 10, score: 1}
  fast: {seed: 1, env: {id: x}}
# the end
"""


def test_a_messy_recipe():
    assert format_text(MESSY, "recipe") == NEAT
    assert format_text(NEAT, "recipe") == NEAT


def test_a_family():
    text = "base:\n  algo:\n    gamma: 1\n    lr: 2\nmatches: [b, a]\ndescription: x\n"
    neat = "description: x\nmatches: [b, a]\nbase:\n  algo:\n    lr: 2\n    gamma: 1\n"
    assert format_text(text, "family") == neat


@pytest.mark.parametrize("path", sorted(recipes.PACKAGED.rglob("*.yaml")), ids=lambda p: p.stem)
def test_packaged_files_are_in_order(path):
    kind = recipes.kind_of(path)
    text = path.read_text(encoding="utf-8")
    assert format_text(text, kind, str(path)) == text, f"spotter config fmt {path}"


@pytest.mark.parametrize(
    ("text", "neat"),
    [
        ("variants: {}  \r\nfamily: x", "family: x\nvariants: {}\n"),
        ("\ufeffvariants: {}\n\n\n\n", "variants: {}\n"),
        ("{variants: {}, family: x}\n", "{variants: {}, family: x}\n"),
        ("---\nvariants: {}\nfamily: x\n", "---\nfamily: x\nvariants: {}\n"),
        ("# only a comment\n", "# only a comment\n"),
        ("zeta: 1\nvariants: {}\nalpha: 2\n", "variants: {}\nzeta: 1\nalpha: 2\n"),
        (
            "variants:\n  a:\n    env:\n      kwargs:\n        z: 1\n        a: 2\n",
            "variants:\n  a:\n    env:\n      kwargs:\n        z: 1\n        a: 2\n",
        ),
        (
            "description: |+\n  a  \n\n\nfamily: x\n",
            "family: x\ndescription: |+\n  a  \n\n\n",
        ),
        (
            'variants: {}\ndescription: "a\n\n\n  b  \n  c"\n',
            'description: "a\n\n\n  b  \n  c"\nvariants: {}\n',
        ),
        ("? variants\n: {}\n? family\n: x\n", "? variants\n: {}\n? family\n: x\n"),
    ],
)
def test_corners(text, neat):
    assert format_text(text, "recipe") == neat
    assert format_text(neat, "recipe") == neat


def test_an_alias_may_not_come_before_its_anchor():
    text = "variants:\n  a: &shared {seed: 1}\nbase: *shared\n"
    with pytest.raises(UserError, match=r"^x.yaml: cannot be put in canonical order"):
        format_text(text, "recipe", "x.yaml")


def test_bad_yaml_is_told_with_its_line():
    with pytest.raises(UserError, match=r"^x.yaml:2: not valid YAML"):
        format_text("a: 1\nb: [", "recipe", "x.yaml")


BLOCKS = {
    "family": "family: classic\n",
    "description": "description: some words\n",
    "base": "base:\n  seed: 1\n  # deep\n  env:\n    count: 2\n\n    id: x\n",
    "variants": "variants:\n  b:\n    algo:\n      lr: 1\n      name: a2c\n    seed: 1\n  a: {}\n",
    "unknown": "unknown:\n- 1\n# in a list\n- 2\n",
}
COMMENTS = st.lists(st.sampled_from(["# one", "#two", "", "   ", "  # indented", "    # deep"]))


@settings(max_examples=100, deadline=None)
@given(st.permutations(list(BLOCKS)), st.lists(COMMENTS, min_size=6, max_size=6), st.randoms())
def test_any_order_and_any_comments(order, comments, chance: random.Random):
    text = "".join(
        "".join(f"{line}\n" for line in above) + BLOCKS[key]
        for key, above in zip(order, comments, strict=False)
    )
    lines = text.splitlines()
    for _ in range(3):
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(["", "# x", "      # y"]))
    text = "\n".join(lines)
    neat = format_text(text, "recipe")
    assert format_text(neat, "recipe") == neat
    words = sorted(line.strip() for line in text.splitlines() if line.strip())
    assert sorted(line.strip() for line in neat.splitlines() if line.strip()) == words
    keys = [line.split(":")[0] for line in neat.splitlines() if line[:1].isalpha()]
    assert keys == ["family", "description", "base", "variants", "unknown"]


def test_a_comment_moves_with_the_key_it_precedes():
    text = dedent(
        """\
        variants:
          a:
            # why so many
            seed: 1
            # why this one
            device: cpu
            env: {}
        """
    )
    assert format_text(text, "recipe").splitlines()[2:] == [
        "    env: {}",
        "    # why so many",
        "    seed: 1",
        "    # why this one",
        "    device: cpu",
    ]
