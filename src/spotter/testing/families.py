"""What a file in envs/families/ declares about an environment, checked against the environment
itself.

    from spotter.testing.families import check_family
    check_family(EnvConfig(id="MyGame-v0", family="my_package.envs"))

The checks raise an `AssertionError` with one sentence; `spotter doctor` uses the same ones.
"""

from spotter.envs.checkup import (
    check_description,
    check_family,
    check_picture,
    check_plays,
    check_repeats,
)

__all__ = ["check_description", "check_family", "check_picture", "check_plays", "check_repeats"]
