"""What a run says before it begins."""

from spotter.config import validate
from spotter.envs.fingerprint import fingerprint
from spotter.envs.grade import Grade
from spotter.training import summary
from spotter.training.training import Training

FAKE = "tests.config.fake_family"
HARD = f"family: {FAKE}\nbase: {{env: {{skill: 4, sticky: 0.5}}}}\n"


def environment(config) -> dict[str, str]:
    with Training(config) as training:
        return summary.blocks(training, None, None, Grade("exact", "so"))["Environment"]


def test_the_header_names_the_game(make_config, folder):
    folder("recipes/protocols/hard.yaml", HARD)
    config = make_config("CartPole-v1", env={"family": FAKE, "protocol": "hard", "skill": 4})
    block = environment(config)
    assert block["protocol"] == "hard, changed: sticky"
    assert block["fingerprint"] == fingerprint(config.env, config.reward)
    plain = validate({**config.as_data(), "env": {**config.as_data()["env"], "protocol": None}})
    block = environment(plain)
    assert "protocol" not in block
    assert block["fingerprint"] == fingerprint(config.env, config.reward)
