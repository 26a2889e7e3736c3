"""The digest: one Markdown page about a run, for a model and a person.

Everything comes from the files of the run and of its neighbours; the same files give the same page.
Neither torch nor the environment is needed, and no path, machine or account is named.
"""

from typing import Final

from spotter.diagnose.doctor.run import diagnose
from spotter.pages.digest import curves, findings, questions, sections, settings
from spotter.pages.digest.budget import page
from spotter.pages.digest.facts import gather
from spotter.pages.digest.others import look
from spotter.pages.digest.others import section as other_runs
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.types import UserError

TOKENS: Final = 4000
OTHERS: Final = 5
FEWEST_TOKENS: Final = 400


def digest(run: Run, *, tokens: int = TOKENS, others: int = OTHERS) -> str:
    """Markdown of at most so many `tokens`; `others` runs of the same environment beside it."""
    if tokens < FEWEST_TOKENS:
        raise UserError(
            f"{tokens} tokens are too few for a digest; give it {FEWEST_TOKENS} or more"
        )
    view = RunView(run)
    facts = gather(view)
    diagnosis = diagnose(view, trusted=False)
    beside = look(facts, max(others, OTHERS))
    return page(
        [
            sections.head(facts),
            findings.section(facts, diagnosis),
            curves.section(facts),
            sections.evaluations(facts),
            sections.alerts(facts),
            settings.section(facts),
            other_runs(facts, beside[:others]),
            sections.lineage(facts),
            sections.happenings(facts),
            questions.section(facts, beside, diagnosis.not_checked),
        ],
        tokens,
    )
