"""What is printed reads back as the same config."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from spotter.config import recipes, resolve, validate
from spotter.config.dump import to_yaml

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4))
def test_any_data_reads_back(data):
    assert recipes.plain(recipes.parse(to_yaml(data), "dump")) == data


def test_a_resolved_config_reads_back():
    resolved = resolve("CartPole-v1:ppo", ["env.wrappers=[{name: frame_stack}]", "reward.clip=5"])
    text = to_yaml(resolved.config.as_data(), resolved.origin)
    assert validate(recipes.plain(recipes.parse(text, "dump"))) == resolved.config


def test_each_setting_carries_its_origin_in_one_column():
    resolved = resolve("CartPole-v1:ppo", ["seed=3", "env.wrappers=[{name: frame_stack}]"])
    lines = to_yaml(resolved.config.as_data(), resolved.origin).splitlines()
    assert re.fullmatch(r"seed: 3 +# from command line", next(x for x in lines if "seed" in x))
    assert re.fullmatch(r"  name: ppo +# from variant ppo", next(x for x in lines if "ppo" in x))
    assert "env:" in lines
    columns = {line.index("  # from") for line in lines if "  # from" in line}
    assert len(columns) == 1
    settings = [line for line in lines if not re.fullmatch(r"\w+:| +- .*", line)]
    assert all("  # from " in line for line in settings)
