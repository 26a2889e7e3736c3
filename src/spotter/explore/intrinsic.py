"""Intrinsic rewards of a run: from a rollout to an advantage beside the environment's.

Each has a critic of its own, because what is new fades while scores do not, and a discount of its
own. By default it does not end with the episode: dying is no way out of having seen a place
(Burda et al., 2018).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import numpy as np
import torch
from torch import Tensor, nn

from spotter import plugins, seeding
from spotter.collect.rewards import ReturnScaler
from spotter.config import IntrinsicConfig, RunConfig
from spotter.engines import functional as F
from spotter.engines.optim import Adam, flatten
from spotter.explore.steps import Inputs, Novelty, Steps, network
from spotter.rollouts.rollout import Rollout
from spotter.types import Progress, Spaces

_CHUNK: Final = 1024
"""Steps looked at together; the result does not depend on it."""
_MAX_GRAD_NORM: Final = 0.5


class Explorer:
    """All intrinsic rewards of a run."""

    def __init__(self, config: RunConfig, spaces: Spaces, device: torch.device) -> None:
        self._configs = config.reward.intrinsic
        self.parts = [
            Intrinsic(part, config, spaces).placed(device) for part in config.reward.intrinsic
        ]

    def retune(self, config: RunConfig) -> None:
        """Use other weights of the same rewards from now on."""
        self._configs = config.reward.intrinsic

    def learn(self, rollout: Rollout[Tensor], progress: Progress) -> dict[str, float]:
        """Give a rollout its `bonus`, and learn from it what is no longer new."""
        report: dict[str, float] = {}
        bonus = torch.zeros_like(rollout.reward)
        earned = _mean_size(rollout.reward)
        for config, part in zip(self._configs, self.parts, strict=True):
            weight = config.weight.at(progress)
            advantage, found = part.learn(rollout)
            bonus += weight * advantage
            own = abs(weight) * found.pop("size")
            found["share"] = own / (own + earned) if own + earned else 0.0
            report |= {f"intrinsic/{config.name}/{key}": value for key, value in found.items()}
            report[f"hp/reward.{config.name}"] = weight
        rollout.bonus = bonus
        return report

    def state(self) -> dict[str, object]:
        return {
            config.name: part.state()
            for config, part in zip(self._configs, self.parts, strict=True)
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for config, part in zip(self._configs, self.parts, strict=True):
            if config.name in state:
                part.restore(state[config.name])


class Intrinsic(nn.Module):
    """One reward, its critic, and the optimizer of both."""

    def __init__(self, config: IntrinsicConfig, run: RunConfig, spaces: Spaces) -> None:
        super().__init__()
        self._config = config
        leaves = spaces.observation
        self.inputs = Inputs(leaves)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seeding.integer(run.seed, f"intrinsic {config.name}"))
            made = plugins.load("intrinsic", config.name).make(config, spaces, run.policy)
            self.measure: nn.Module = made
            self.critic = network(leaves, run.policy, config.critic, 1)
        self._novelty = cast(Novelty, made)
        self._shuffle = torch.Generator()
        self._shuffle.manual_seed(seeding.integer(run.seed, f"intrinsic order {config.name}"))
        self._scaler = ReturnScaler(run.env.count)

    def placed(self, device: torch.device) -> "Intrinsic":
        """On its device, with an optimizer."""
        self.to(device)
        self._learnt = [x for x in self.parameters() if x.requires_grad]
        self._flat, _ = flatten(self._learnt)
        self._rule = Adam(self._flat)
        return self

    def learn(self, rollout: Rollout[Tensor]) -> tuple[Tensor, dict[str, float]]:
        """The advantage [T, N] by what is new in a rollout; afterwards less of it is."""
        samples = _Samples(rollout, self.inputs)
        samples.update_inputs()
        reward, value, next_value = self._looked_at(samples, rollout)
        # an episode is a boundary only if rewards end with it
        ends = rollout.episode_end if self._config.episodic else rollout.episode_end & False
        if self._config.episodic:
            next_value = torch.where(rollout.episode_end, value, next_value)
            next_value = next_value.masked_fill(rollout.terminated, 0.0)
        gamma, lam = self._config.gamma, self._config.lambda_
        advantage = F.gae(reward, value, next_value, ends, gamma, lam)
        losses = self._descend(samples, (advantage + value).flatten())
        size = _mean_size(reward)
        found = {"reward": float(reward.mean()), "value": float(value.mean()), "size": size}
        return advantage, found | losses

    @torch.no_grad()
    def novelty_of(self, rollout: Rollout[Tensor]) -> Tensor:
        """How new its steps are, [T, N], before scaling; nothing is learnt."""
        samples = _Samples(rollout, self.inputs)
        chunks = torch.split(torch.arange(len(samples)), _CHUNK)
        found = [self._novelty.novelty(samples.steps(chunk)) for chunk in chunks]
        return torch.cat(found).view(rollout.reward.shape)

    @torch.no_grad()
    def _looked_at(
        self, samples: "_Samples", rollout: Rollout[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scaled rewards, values of the observations and of the next ones; all [T, N]."""
        shape = rollout.reward.shape
        novelty, values = [], []
        for chunk in torch.split(torch.arange(len(samples)), _CHUNK):
            steps = samples.steps(chunk)
            novelty.append(self._novelty.novelty(steps))
            values.append(self.critic(steps.now).squeeze(-1))
        value = torch.cat(values).view(shape)
        last = self.critic(samples.last()).view(1, -1)
        reward = torch.cat(novelty).view(shape) * rollout.valid
        return self._scaled(reward, rollout), value, torch.cat([value[1:], last])

    def _scaled(self, reward: Tensor, rollout: Rollout[Tensor]) -> Tensor:
        """By the running standard deviation of its discounted sums, as it fades with time."""
        raw = reward.cpu().double().numpy()
        ends = rollout.host["episode_end"] if self._config.episodic else np.zeros(raw.shape, bool)
        rows = [
            self._scaler.scale(row, end, self._config.gamma, None)
            for row, end in zip(raw, ends, strict=True)
        ]
        return torch.as_tensor(np.array(rows), dtype=reward.dtype, device=reward.device)

    def _descend(self, samples: "_Samples", target: Tensor) -> dict[str, float]:
        rows: list[float] = []
        for indices in self._orders(len(samples)):
            steps, valid = samples.steps(indices), samples.valid(indices)
            novelty_loss = (self._novelty.loss(steps) * valid).mean()
            error = self.critic(steps.now).squeeze(-1) - target[indices]
            value_loss = 0.5 * (error.square() * valid).mean()
            self._step(novelty_loss + value_loss)
            rows.append(novelty_loss.item())
        return {"loss": float(np.mean(rows))}

    def _orders(self, count: int) -> Iterator[Tensor]:
        for _ in range(self._config.epochs):
            order = torch.randperm(count, generator=self._shuffle)
            yield from torch.split(order, -(-count // self._config.minibatches))

    def _step(self, loss: Tensor) -> None:
        gradients = torch.autograd.grad(loss, self._learnt, allow_unused=True)
        pairs = zip(gradients, self._learnt, strict=True)
        gradient = torch.cat(
            [(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs]
        )
        with torch.no_grad():
            norm = torch.linalg.vector_norm(gradient)
            gradient *= (_MAX_GRAD_NORM / (norm + 1e-6)).clamp(max=1.0)
            self._flat.sub_(self._rule.change(self._flat, gradient), alpha=self._config.lr)

    def state(self) -> dict[str, object]:
        return {
            "weights": {name: x.cpu().numpy().copy() for name, x in self.state_dict().items()},
            "rule": {
                name: x.cpu().numpy().copy() if isinstance(x, Tensor) else x
                for name, x in vars(self._rule).items()
            },
            "shuffle": self._shuffle.get_state().numpy(),
            "scaler": dict(vars(self._scaler)),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        weights = {name: torch.as_tensor(x) for name, x in state["weights"].items()}
        self.load_state_dict(weights)
        for name, x in state["rule"].items():
            kept = vars(self._rule)[name]
            if isinstance(kept, Tensor):
                kept.copy_(torch.as_tensor(x))
            else:
                setattr(self._rule, name, x)
        self._shuffle.set_state(torch.as_tensor(state["shuffle"]))
        vars(self._scaler).update(state["scaler"])


class _Samples:
    """The steps of a rollout by number: of env n at vector step t, t · count + n."""

    def __init__(self, rollout: Rollout[Tensor], inputs: Inputs) -> None:
        self._batch = rollout.flatten(rollout.value, rollout.value, whole=True)
        assert self._batch.outlook is not None, "the collector keeps what is seen last"
        self._outlook = self._batch.outlook
        self._inputs = inputs
        self._valid = rollout.valid.flatten()

    def __len__(self) -> int:
        return len(self._batch)

    def update_inputs(self) -> None:
        """Statistics see what is looked at next, so that the first rollout is normalised, too."""
        for chunk in torch.split(torch.arange(len(self)), _CHUNK):
            self._inputs.update({path: leaf[chunk] for path, leaf in self._batch.obs.items()})

    def steps(self, indices: Tensor) -> Steps:
        then = self._outlook.select(indices)
        return Steps(
            now=self._inputs({path: leaf[indices] for path, leaf in self._batch.obs.items()}),
            action=self._batch.action[indices],
            after=self._inputs(then.obs()),
            goes_on=then.goes_on,
        )

    def valid(self, indices: Tensor) -> Tensor:
        return self._valid[indices].float()

    def last(self) -> dict[str, Tensor]:
        """What is seen after the last step."""
        shown: dict[str, Tensor] = self._inputs(self._outlook.after)
        return shown


def _mean_size(reward: Tensor) -> float:
    return float(reward.abs().mean())
