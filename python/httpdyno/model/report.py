"""A report as data: what a page about a run holds, in the order in which it is read."""

from dataclasses import dataclass

from httpdyno.model.chart import Chart
from httpdyno.model.table import Table

__all__ = ["Report"]


@dataclass(frozen=True, slots=True)
class Report:
    """What is told about one run, whatever its experiment, before any format has seen it."""

    title: str
    question: str
    """What the experiment answers."""
    headline: str
    """One sentence that answers it, with its doubt."""
    reservations: tuple[str, ...]
    """With what reservations all of it has to be read: a run that was stopped, a first look."""
    facts: tuple[tuple[str, str], ...]
    """The machine, the web, the versions, when it was made: a name and what it was."""
    command: str
    """Repeats the run."""
    subjects: tuple[tuple[str, str], ...]
    """Id and name of each subject, the best first: the order of rows and colours everywhere."""
    table: Table
    """The ranking, a row a subject."""
    comparisons: Table
    """Every pair: ratio, interval, what may be said."""
    rules: Table
    """A row for each rule that the trials are held against: what it allows, and the worst that was found."""
    validity: Table
    """A row a trial: outcome, validity, the reason, and the number of each rule."""
    errors: Table
    """What subjects reported that was no status: by name, and what the web had done."""
    charts: tuple[Chart, ...]
    published: Table | None = None
    """Published figures beside what was measured, with what differs in its notes."""
    figures: str = "Medians over the trials of each subject."
    """What the figures of the table are."""
    findings: tuple[str, ...] = ()
    """What follows from the figures, in sentences that stand below the headline."""
    evidence: tuple[Table, ...] = ()
    """Further tables that the answer rests on, each under its title, after all figures."""
