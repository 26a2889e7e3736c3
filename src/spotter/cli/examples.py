"""Examples of commands that have few; longer lists stand beside their commands."""

from typing import Final

LIST: Final = """\
  spotter list                     every recipe
  spotter list lunar               recipes with a word in them
  spotter list algos               also envs, families, wrappers, signals, encoders, sinks …
  spotter list settings clip       every setting with a word in its name or meaning
  spotter list metrics loss        every number that a run may write
"""
SHOW: Final = """\
  spotter show @last
  spotter show @best-of:CartPole-v1
"""
REPORT: Final = """\
  spotter report @last             writes report.html and report.md into its folder
"""
COMPARE: Final = """\
  spotter compare @last 20261115-1045
  spotter compare baseline wider   two tags, or two groups of `train --seeds`
"""
DIFF: Final = """\
  spotter diff @last @best-of:CartPole-v1
"""
TAG: Final = """\
  spotter tag @last baseline       from now on `spotter show baseline` finds it
  spotter tag baseline baseline --remove
"""
NOTE: Final = """\
  spotter note @last "entropy falls too early"
"""
STOP: Final = """\
  spotter stop @last
"""
RM: Final = """\
  spotter rm 20261115-1045         asks first
  spotter rm @last --yes
"""
EXPORT: Final = """\
  spotter export @last             writes <id>.zip
  spotter export baseline baseline.zip
"""
IMPORT: Final = """\
  spotter import baseline.zip
"""
REINDEX: Final = """\
  spotter reindex
"""
EVAL: Final = """\
  spotter eval @last               the episodes of its evaluation record, again
  spotter eval @last/@latest       its last weights instead of its best
  spotter eval @last --episodes 100
  spotter eval @last/step=20224    a checkpoint that `spotter show` lists
  spotter eval @last env.sticky=0.25
"""
BLACKBOX: Final = """\
  spotter blackbox runs/20261115-104500-1a2b/blackbox/copy-3
"""
CONFIG_SHOW: Final = """\
  spotter config CartPole-v1:ppo
  spotter config CartPole-v1:ppo algo.lr=1e-4 --origin
  spotter config MountainCar-v0 --algo a2c --json
"""
CONFIG_CHECK: Final = """\
  spotter config check
  spotter config check recipes/MyEnv-v0.yaml
"""
CONFIG_FMT: Final = """\
  spotter config fmt
  spotter config fmt --check       exit 1 if a file is not in order
"""
CONFIG_SCHEMA: Final = """\
  spotter config schema > recipe.schema.json
"""
COMPLETION: Final = """\
  eval "$(spotter completion bash)"              now; in ~/.bashrc: always
  eval "$(spotter completion zsh)"               after compinit in ~/.zshrc
  spotter completion fish | source
"""
