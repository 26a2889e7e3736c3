"""SBX's side: Stable-Baselines3's PPO in JAX, on Stable-Baselines3's vector environment."""

from meter import Meter, arguments
from peer_sb3 import Ticker, make_ppo
from sbx import PPO


def main() -> None:
    work, seed = arguments()
    meter = Meter(work, "sbx-rl", "stable-baselines3", "jax", "gymnasium", "numpy")
    make_ppo(PPO, work, seed).learn(work.env_steps, callback=Ticker(meter))
    meter.finish()


if __name__ == "__main__":
    main()
