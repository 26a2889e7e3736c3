"""Spotter on EnvPool's environments, which have to be asked for."""

from peer_spotter import main

if __name__ == "__main__":
    main(backend="envpool")
