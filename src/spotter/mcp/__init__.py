"""Spotter for language models: tools over the Model Context Protocol. `server` puts them together.

`desk` is what every tool works at; `look`, `watch`, `see` and `act` are the tools; `safe` says
which requests could run code or reach files, `budgets` what a run may spend; `answers` keeps
answers within a budget of tokens.
"""
