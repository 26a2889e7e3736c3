"""Networks: the actor-critic policy, its heads and normalisers, and one file per image encoder."""
