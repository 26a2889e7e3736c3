"""`spotter digest`."""

from spotter.pages.digest.tokens import tokens
from tests.pages.digest.making import make


def test_a_page_is_printed_for_the_last_run(spotter):
    run = make()
    ran = spotter("digest")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("# CartPole-v1 · ppo: solved")
    assert run.id in ran.out


def test_the_budget_and_the_neighbours_can_be_chosen(spotter):
    first, run = make(score=470.0), make()
    short = spotter("digest", run.id, "--tokens", "600")
    assert tokens(short.out) <= 600
    assert "Left out to stay within 600 tokens" in short.out
    assert first.id in spotter("digest", run.id, "--runs", "1").out
    assert first.id not in spotter("digest", run.id, "--runs", "0").out.partition("## Open")[0]


def test_mistakes_are_one_sentence(spotter):
    assert spotter("digest").code == 2
    make()
    assert spotter("digest", "--runs", "-3").code == 2
    ran = spotter("digest", "--tokens", "5")
    assert ran.code == 2
    assert ran.err == "spotter: 5 tokens are too few for a digest; give it 400 or more\n"
