"""Conformance (``subjects check``, ``subjects probe``): cases that subjects pass or fail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from httpdyno.experiments.definition import Definition, Judging, Planning, Presentation
from httpdyno.experiments.experiment import Beginning, Begun, Setting
from httpdyno.experiments.plan import ListedPlan, Plan
from httpdyno.model import (
    Cases,
    Column,
    ColumnKind,
    Condition,
    Direction,
    LinesSummary,
    Metric,
    Subject,
    SubjectKind,
    Table,
    Trial,
)
from httpdyno.store import WebIdentity

_NAME: Final = "conformance"


@dataclass(frozen=True, slots=True)
class Conformance:
    """Which cases are tried; what a case needs decides the trials while the run is made."""

    contract: bool
    """Whether each clause of the contract is tried; otherwise the claims alone."""
    name = _NAME
    seed = 1

    def conditions(self) -> Sequence[Condition]:
        """Return no condition: each case has its own."""
        return ()

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Plan nothing in advance."""
        del subjects
        return ListedPlan(())

    def webs(self) -> Sequence[WebIdentity]:
        """Return no web: each case has its own."""
        return ()

    def settings(self) -> Mapping[str, Setting]:
        """Return which cases are tried."""
        return {"contract": self.contract}


def _begin(beginning: Beginning, names: Sequence[str], contract: Any) -> Begun:  # noqa: ANN401
    catalogue = beginning.catalogue
    if contract:
        instead = {SubjectKind.SERVER: "subjects probe"}
        return Begun(Conformance(contract=True), catalogue.select_of_kind(names, SubjectKind.CLIENT, instead=instead))
    return Begun(Conformance(contract=False), catalogue.claimants(names))


def _failed(trial: Trial) -> float | None:
    shown = trial.get(Cases)
    return None if shown is None else sum(not result.is_right for result in shown.cases)


_COLUMNS: Final = (
    Column("subject"),
    Column("case"),
    Column("level", description="how strongly the clause asks for it", shown=False),
    Column("outcome", description="what the subject did"),
    Column("claimed", ColumnKind.BOOLEAN, description="whether the subject claims it; empty: every subject has to"),
    Column("right", ColumnKind.BOOLEAN, description="whether nothing has to change"),
    Column("known", description="the known failure that explains the difference", shown=False),
    Column("seen", description="the differences"),
)


def _case_table(trials: Sequence[Trial]) -> Table:
    """Return a row for each case of each subject; those that fail come first."""
    results = [(trial.subject, result) for trial in trials if trial.get(Cases) for result in trial[Cases].cases]
    rows = (
        (
            subject,
            result.case,
            str(result.level),
            str(result.outcome),
            result.claimed,
            result.is_right,
            result.known,
            "; ".join(breach.seen for breach in result.breaches),
        )
        for subject, result in sorted(results, key=lambda one: one[1].is_right)
    )
    return Table(_COLUMNS, tuple(rows))


class _ConformancePresentation(Presentation):
    __slots__ = ()

    def passes(self, trial: Trial) -> bool | None:
        """Return whether every case of a trial is right."""
        failed = _failed(trial)
        return None if failed is None else failed == 0


_FAILED: Final = Metric(
    Column("failed_cases", ColumnKind.INTEGER, description="cases in which something has to change"),
    _failed,
    Direction.LOWER,
)
DEFINITION: Final = Definition(
    _NAME,
    "Do subjects keep their contract, and do what they claim?",
    _ConformancePresentation((_FAILED,), tabulate=_case_table),
    Planning(_begin),
    Judging(figures=(LinesSummary, Cases), found=lambda trial: trial.get(Cases) is not None),
)
