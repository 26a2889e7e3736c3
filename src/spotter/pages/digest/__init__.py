"""One page about a run, for a model and a person, within a budget of tokens."""
