"""Consoles for tests: each takes most of a second to boot, so they are shared where they can be."""

import pytest

pytest.importorskip("stable_retro")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """A folder with our own NES cartridge."""
    from tests.envs.games.emulator import cartridge

    return cartridge.write(tmp_path_factory.mktemp("roms"))
