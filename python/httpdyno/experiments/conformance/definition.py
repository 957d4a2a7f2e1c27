"""Conformance (``conform``, ``subjects check``, ``subjects probe``): cases that subjects pass or fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from httpdyno.experiments.definition import Definition, Judging, Planning, Presentation
from httpdyno.experiments.experiment import Beginning, Begun, Setting
from httpdyno.experiments.plan import ListedPlan, Plan
from httpdyno.model import (
    CaseResult,
    Cases,
    Cell,
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
    """Cases of a run: those of the contract and the claims, or the claims alone; each case decides its own trials."""

    contract: bool
    """Whether each clause of the contract is tried; else only the claims are."""
    scripted: tuple[str, ...] = ()
    """Scripted cases that are tried instead of those, by id."""
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
        return {"contract": self.contract, **({"scripted_cases": len(self.scripted)} if self.scripted else {})}


def _begin(beginning: Beginning, names: Sequence[str], contract: Any) -> Begun:  # noqa: ANN401
    catalogue = beginning.catalogue
    if isinstance(contract, tuple):
        chosen = catalogue.select_of_kind(names, SubjectKind.CLIENT) or tuple(catalogue.of_kind(SubjectKind.CLIENT))
        return Begun(Conformance(contract=False, scripted=contract), chosen)
    if contract:
        instead = {SubjectKind.SERVER: "subjects probe"}
        return Begun(Conformance(contract=True), catalogue.select_of_kind(names, SubjectKind.CLIENT, instead=instead))
    return Begun(Conformance(contract=False), catalogue.claimants(names))


_CELLS: Final[Mapping[Column, Callable[[CaseResult], Cell]]] = {
    Column("case"): lambda result: result.case,
    Column("level", description="how strongly the clause asks for it", shown=False): lambda result: str(result.level),
    Column("outcome", description="what the subject did"): lambda result: str(result.outcome),
    Column(
        "claimed", ColumnKind.BOOLEAN, description="whether the subject claims it; empty: every subject has to"
    ): lambda result: result.claimed,
    Column("right", ColumnKind.BOOLEAN, description="whether nothing has to change"): lambda result: result.is_right,
    Column("known", description="the known failure that explains the difference", shown=False): (
        lambda result: result.known
    ),
    Column("seen", description="the differences"): lambda result: "; ".join(one.seen for one in result.breaches),
    Column("clause", description="where the rule is written", shown=False): lambda result: result.clause,
    Column("tries", description="outcome of each try in a fresh process; empty: one try", shown=False): (
        lambda result: ", ".join(result.tries or ()) or None
    ),
    Column("code", description="code of the client's last row, unless it is right", shown=False): (
        lambda result: result.code
    ),
    Column("length", ColumnKind.INTEGER, description="bytes of content in that row", shown=False): (
        lambda result: result.length
    ),
}


def _case_table(trials: Sequence[Trial]) -> Table:
    """Return a row for each case of each subject; failed cases come first."""
    results = [(trial.subject, result) for trial in trials if (shown := trial.get(Cases)) for result in shown.cases]
    results.sort(key=lambda one: one[1].is_right)
    rows = ((subject, *(cell(result) for cell in _CELLS.values())) for subject, result in results)
    return Table((Column("subject"), *_CELLS), tuple(rows))


def _failed(trial: Trial) -> float | None:
    shown = trial.get(Cases)
    return None if shown is None else sum(not result.is_right for result in shown.cases)


class _ConformancePresentation(Presentation):
    __slots__ = ()

    def passes(self, trial: Trial) -> bool | None:
        """Return whether every case of a trial is right."""
        failed = _failed(trial)
        return None if failed is None else failed == 0


_FAILED: Final = Metric(
    Column("failed_cases", ColumnKind.INTEGER, description="cases that the subject fails"),
    _failed,
    Direction.LOWER,
)
DEFINITION: Final = Definition(
    _NAME,
    "Do subjects fulfil their contract and their claims?",
    _ConformancePresentation((_FAILED,), tabulate=_case_table),
    Planning(_begin),
    Judging(figures=(LinesSummary, Cases), found=lambda trial: trial.get(Cases) is not None),
)
