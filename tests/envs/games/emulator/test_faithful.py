"""P28: whether a saved moment can be gone back to is tried, game by game."""

from types import SimpleNamespace

import pytest

from spotter.envs.families import retro
from spotter.envs.games.emulator import faithful


@pytest.fixture(scope="module")
def game():
    """A game in which everything that can be left to chance is."""
    config = {"frame_skip": [4, 6], "sticky": 0.1, "noops": 30, "pool": True, "turbo": ["B"]}
    settings = {"id": "Retro/Airstriker-Genesis", "family": "retro", **config}
    game = retro.make(retro.Config.from_data(settings))
    yield game
    game.close()


def test_p28_airstriker_goes_back(game):
    """Memory, screen, observation, reward and numbers of the same 50 steps are the same again."""
    assert faithful.fault(game) is None


def test_what_is_paid_after_going_back_counts_from_there(game):
    """Else the points won in between, or lost with them, would be paid by the next step."""
    game.reset(seed=1)
    start = game.save()
    paid = next(filter(None, (game.step(5 if step % 20 < 10 else 4)[1] for step in range(150))))
    rich = game.save()
    game.restore(start)
    assert game.step(0)[1] == 0
    game.restore(rich)
    reward, info = game.step(0)[1], game.step(0)[4]
    assert reward == 0 and info["score"] == paid


def test_the_screen_is_that_of_the_moment(game):
    """A restored emulator shows an old one until its next frame."""
    game.reset(seed=2)
    saved, screen = game.save(), game.console.screen()
    for _ in range(5):
        game.step(2)
    assert (game.console.screen() != screen).any()
    game.restore(saved)
    assert (game.console.screen() == screen).all()


@pytest.mark.parametrize("what", ["memory", "screen", "observation", "reward", "info"])
def test_every_difference_is_noticed(game, monkeypatch, what):
    """A test of the test: one side is changed a little after going back."""
    went_back = False

    def restore(saved):
        nonlocal went_back
        went_back = True
        game.restore(saved)

    def asked(name):
        answer = getattr(game.console, name)()
        return answer[::-1] if name == what and went_back else answer

    def step(action):
        obs, reward, terminated, truncated, info = game.step(action)
        if went_back:
            obs = obs ^ 1 if what == "observation" else obs
            reward += what == "reward"
            info = {**info, "lives": 9} if what == "info" else info
        return obs, reward, terminated, truncated, info

    spoilt = SimpleNamespace(
        console=SimpleNamespace(memory=lambda: asked("memory"), screen=lambda: asked("screen")),
        action_space=game.action_space,
        reset=game.reset,
        save=game.save,
        step=step,
        restore=restore,
    )
    monkeypatch.setattr(faithful, "_LEAD_IN", 2)
    monkeypatch.setattr(faithful, "_COMPARED", 3)
    assert faithful.fault(spoilt) == f"{what} differs in step 1 after going back"
