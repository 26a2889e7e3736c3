"""`spotter compare` and `spotter diff`."""

import re

import pytest

from spotter.rundir.files import read_json, write_json
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    return maker(make_config)


def rows(out: str) -> dict[str, list[str]]:
    cells = (line.split("\t") for line in out.splitlines() if "\t" in line)
    return {name: rest for name, *rest in cells}


def test_outcomes_then_settings(spotter, make_run):
    one = make_run(scores=[10.0, 12.0, 14.0], env_steps=5000, steps_to_threshold=4000)
    slow = {"algo": {"name": "ppo", "lr": 1e-5}, "seed": 3}
    two = make_run(scores=[20.0], seeds="eval", config=slow)
    two.metrics_path.write_text('{"time/fps": 1234.5, "time/wall_fps": 900}\n')
    ran = spotter("compare", one.id, two.id)
    assert ran.code == 0
    table = rows(ran.out)
    assert table["run"][3] == "over episodes"
    assert table[one.id][:7] == [
        "CartPole-v1:ppo",
        "1",
        "12",
        "± 4.97 (95 %, 3)",
        "test",
        "4,000",
        "5,000",
    ]
    assert table[two.id][1:6] == ["3", "20", "-", "eval", "-"]
    assert table[two.id][-3:-1] == ["1,234", "900"]
    assert table["run"][-1] == "differs" and table[two.id][-1] == "lr 1e-05"
    assert table["setting"] == [one.id, two.id]
    assert table["algo.lr"][1] == "1e-05"
    assert table["seed"] == ["1", "3"]
    assert "an eval score is the best of several" in ran.out


def test_p37_several_seeds_get_an_interval_over_seeds(spotter, make_run):
    scores = {1: [10.0, 20.0], 2: [20.0, 30.0], 3: [30.0, 40.0]}
    runs = [make_run(scores=found, config={"seed": seed}) for seed, found in scores.items()]
    out = spotter("compare", *(run.id for run in runs)).out
    assert "CartPole-v1:ppo: 25 ± 24.84 (95 % over 3 seeds: 1, 2, 3)\n" in out
    apart = spotter("compare", runs[0].id, make_run(scores=[1.0]).id).out
    assert "over episodes" in apart
    assert "over 2 seeds" not in apart, "the same seed twice is no second opinion"


@pytest.mark.parametrize("width", [120, 60])
def test_a_column_per_run_while_they_fit_the_terminal(spotter, make_run, monkeypatch, width):
    runs = [make_run(scores=[1.0, 2.0]) for _ in range(3)]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = spotter("compare", *(run.id for run in runs)).out
    lines = re.sub(r"\x1b\[\d*m", "", out).splitlines()
    if width == 120:
        assert lines[0].split() == ["run", *(run.id for run in runs)]
        assert lines[3].split() == ["score", "1.5", "1.5", "1.5"]
    else:
        assert [line[:15] for line in lines[1:4]] == [run.id[:15] for run in runs]


def test_other_environments_do_not_compare(spotter, make_run):
    out = spotter("compare", make_run(scores=[1.0]).id, make_run("Acrobot-v1").id).out
    assert "note: these are different environments (Acrobot-v1, CartPole-v1)" in out


def test_one_run_cannot_be_compared(spotter, make_run):
    run = make_run()
    ran = spotter("compare", run.id, str(run.folder))
    assert (ran.code, ran.err) == (2, "spotter: compare needs two different runs or more\n")
    assert "there is no run 'zzz'" in spotter("compare", run.id, "zzz").err


def test_diff_is_settings_and_versions_and_nothing_else(spotter, make_run):
    one, same = make_run(), make_run()
    other = make_run(config={"seed": 7, "env": {"kwargs": {"sutton_barto_reward": True}}})
    path = other.folder / "run.json"
    info = read_json(path)
    write_json(path, info | {"versions": info["versions"] | {"torch": "1.0"}})
    ran = spotter("diff", one.id, other.id)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "env.kwargs.sutton_barto_reward\t-\ttrue",
        "seed\t1\t7",
        f'versions.torch\t"{info["versions"]["torch"]}"\t"1.0"',
    ]
    assert spotter("diff", one.id, same.id) == type(ran)(0, "", "")


def test_a_setting_that_a_resume_changed_is_told_with_all_its_values(spotter, make_run):
    one, other = make_run(env_steps=33_280), make_run()
    path, last = one.folder / "run.json", one.settings()["algo"]["gamma"]
    info = read_json(path)
    resume = {"time": info["created"], "stopped": info["created"], "env_steps": 30_208}
    resume |= {"changes": {"algo.gamma": [0.3, last]}}
    write_json(path, info | {"resumes": [resume]})
    line = f"algo.gamma\t0.3 for 30,208 env steps then {last} for 3,072\t{last}"
    assert spotter("diff", one.id, other.id).out.splitlines() == [line]
    out = spotter("compare", one.id, other.id).out.splitlines()
    assert line in out
    assert f"note: {one.id} trained 30,208 of 33,280 env steps with algo.gamma=0.3" in out


def test_groups_are_compared_by_name(spotter, make_run):
    slow = {"algo": {"name": "ppo", "lr": 1e-5}}
    for seed in (1, 2, 3):
        make_run(scores=[10.0 * seed], config={"seed": seed}, group="base")
        make_run(scores=[10.0 * seed + 5], config={"seed": seed, **slow}, group="slow")
    ran = spotter("compare", "base", "slow")
    assert ran.code == 0
    base, other, better = ran.out.splitlines()[7:10]
    assert base.startswith("CartPole-v1:ppo with lr ")
    assert base.endswith(": 20 ± 24.84 (95 % over 3 seeds: 1, 2, 3)")
    assert other.startswith("CartPole-v1:ppo with lr 1e-05: 25 ± 24.84")
    assert re.match(
        r"CartPole-v1:ppo with lr 1e-05: probability of improvement 0.67 "
        r"\(95 % interval 0\.\d\d to 1\.00\) over CartPole-v1:ppo with lr 0\.",
        better,
    )
    table = rows(ran.out)
    assert table["setting"] == ["base", "slow"], "a column per group"
    assert table["algo.lr"][1] == "1e-05" and "seed" not in table
    assert spotter("compare", "base", "base").code == 0, "one group is several runs"
    assert "did you mean 'base'" in spotter("compare", "bas", "slow").err


def test_two_seeds_give_no_interval(spotter, make_run):
    for seed in (1, 2):
        make_run(scores=[1.0], config={"seed": seed}, group="a")
        make_run(scores=[1.0], config={"seed": seed, "budget": {"env_steps": 7}}, group="b")
    out = spotter("compare", "a", "b").out
    assert "improvement 0.50 (an interval needs 3 seeds)" in out
    assert " (2 seeds: 1, 2; an interval needs 3 seeds)\n" in out
