"""Spotter's side with `policy.core=gru`, whose gradient through time is derived by hand."""

from peer_spotter import main

if __name__ == "__main__":
    main(core="gru")
