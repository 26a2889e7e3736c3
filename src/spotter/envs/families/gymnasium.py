"""Any registered Gymnasium environment we know nothing special about."""

from spotter.config import EnvConfig
from spotter.envs.base import Env, make_registered, registered_info
from spotter.envs.defaults import suited_to as suited_to
from spotter.types import EnvInfo


def make(env: EnvConfig, render: bool = False) -> Env:
    return make_registered(env, render)


def describe(env: EnvConfig) -> EnvInfo:
    return registered_info(env)
