"""Shapes of the buffers a vector steps into, learnt from one env."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from spotter.envs.backends.slices import Buffers, EnvInstance, fault_of, report
from spotter.envs.signals import Kind
from spotter.envs.spaces import encode_mask
from spotter.types import Obs, Spaces, UserError


@dataclass(frozen=True)
class Layout:
    """Shapes and dtypes of `Buffers`, learnt from one env."""

    spaces: Spaces
    kinds: tuple[Kind, ...]
    has_mask: bool

    @classmethod
    def of(cls, instance: EnvInstance) -> "Layout":
        try:
            obs, info = instance.env.reset()
            instance.obs_codec.check(obs)
        except UserError:
            raise
        except Exception as error:
            raise report(fault_of(instance, 0, error)) from error
        has_mask = instance.use_mask and "action_mask" in info
        if has_mask and encode_mask(info["action_mask"]).size != instance.spaces.action.mask_size:
            raise UserError(
                f"info['action_mask'] has {encode_mask(info['action_mask']).size} entries, "
                f"but {instance.spaces.action.mask_size} actions exist"
            )
        instance.snapshot()  # which teaches the names of its attributes; see envs/replay.py
        return cls(instance.spaces, instance.meter.kinds, has_mask)

    def fields(self, count: int) -> dict[str, tuple[tuple[int, ...], str]]:
        """name -> (shape, dtype) of every array, in a fixed order."""
        fields: dict[str, tuple[tuple[int, ...], str]] = {}
        for group in ("obs", "final_obs"):
            for path, leaf in self.spaces.observation.items():
                fields[f"{group}:{path}"] = ((count, *leaf.shape), leaf.dtype)
        action = self.spaces.action
        fields["action"] = ((count, *action.shape), action.dtype)
        fields["reward"] = ((count,), "float64")
        fields["terminated"] = fields["truncated"] = fields["lost"] = ((count,), "bool")
        fields["signals"] = fields["signals_start"] = ((count, len(self.kinds)), "float64")
        fields["active"] = ((count,), "bool")
        fields["at"] = ((count, 3), "int64")
        if self.has_mask:
            fields["mask"] = ((count, action.mask_size), "bool")
        return fields


def assemble(arrays: Mapping[str, npt.NDArray[Any]]) -> Buffers:
    """Arrays named by `Layout.fields` as `Buffers`."""

    def group(name: str) -> Obs:
        start = f"{name}:"
        return {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}

    return Buffers(
        obs=group("obs"),
        final_obs=group("final_obs"),
        action=arrays["action"],
        reward=arrays["reward"],
        terminated=arrays["terminated"],
        truncated=arrays["truncated"],
        lost=arrays["lost"],
        signals=arrays["signals"],
        signals_start=arrays["signals_start"],
        mask=arrays.get("mask"),
    )
