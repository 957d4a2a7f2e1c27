"""Conformance (``conform``, ``subjects check``, ``subjects probe``): cases that subjects pass or fail."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.experiments.definition import Definition, Judging, Planning, Presentation
from httpdyno.experiments.experiment import Beginning, Begun, Setting
from httpdyno.experiments.plan import ListedPlan, Plan
from httpdyno.judge.scripted.case_file import ChosenCases, nearest, read_cases
from httpdyno.judge.scripted.stimuli import SCRIPTED_WEB, count_processes
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
    TrialPlan,
    Workload,
)
from httpdyno.report.conformance import matrix_of_runs, render_matrix
from httpdyno.store import Run, WebIdentity

_NAME: Final = "conformance"


class _CasePlan(ListedPlan):
    """The usual number of trials; cases decide their own, so that a run may have more or fewer."""

    __slots__ = ()

    def unplanned(self, finished: Sequence[Trial]) -> None:
        """Return None: which trials a case needs depends on the client."""
        del finished


@dataclass(frozen=True, slots=True)
class Conformance:
    """Cases of a run: those of the contract and the claims, or the claims alone; each case decides its own trials."""

    contract: bool
    """Whether each clause of the contract is tried; else only the claims are."""
    scripted: ChosenCases | None = None
    """Scripted cases that are tried instead of those."""
    web: WebIdentity | None = None
    """The web around the hosts of scripted cases."""
    name = _NAME
    seed = 1

    def conditions(self) -> Sequence[Condition]:
        """Return no condition: each case has its own."""
        return ()

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Plan the usual number of trials of scripted cases; none of others."""
        if self.scripted is None:
            return ListedPlan(())
        files, tries = self.scripted.files, self.scripted.tries
        usual = [subject for subject in subjects for _ in range(count_processes(subject, files) * tries)]
        condition = Condition("contract", "", Workload(()))
        return _CasePlan(tuple(TrialPlan(n, n, 0, subject, condition) for n, subject in enumerate(usual)))

    def webs(self) -> Sequence[WebIdentity]:
        """Return the web of scripted cases; others have webs of their own."""
        return (self.web,) if self.web else ()

    def settings(self) -> Mapping[str, Setting]:
        """Return which cases are tried."""
        return {"contract": self.contract, **(self.scripted.settings if self.scripted else {})}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None) -> Self:
        """Restore a run of scripted cases; raise ``NotResumable`` for one of other cases."""
        del urls
        return cls(contract=False, scripted=ChosenCases.of_settings(settings), web=next(iter(webs), None))


def _unknown_cases(subjects: Sequence[Subject]) -> Iterator[str]:
    """Describe each known failure whose scripted case does not exist."""
    known = list(read_cases())
    for subject in subjects:
        for failure in subject.known_failures:
            if failure.is_scripted and failure.case not in known:
                near = nearest(failure.case, known)
                yield f"{subject.id}: known_failure.case: there is no case {failure.case!r}; {near}"


def _begin(beginning: Beginning, names: Sequence[str], contract: Any) -> Begun:  # noqa: ANN401
    catalogue = beginning.catalogue
    if isinstance(contract, ChosenCases):
        chosen = catalogue.with_profiles(names)
        for line in _unknown_cases(chosen):
            beginning.tell(line)
        web = beginning.place.engine.web(SCRIPTED_WEB, seed=Conformance.seed)
        return Begun(Conformance(contract=False, scripted=contract, web=web), chosen)
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

    def page(self, run: Run) -> str | None:
        """Return the matrix of a run of scripted cases; None for other cases."""
        return render_matrix(matrix_of_runs([run])) if "scripted_cases" in run.manifest.settings else None


_FAILED: Final = Metric(
    Column("failed_cases", ColumnKind.INTEGER, description="cases that the subject fails"),
    _failed,
    Direction.LOWER,
)
DEFINITION: Final = Definition(
    _NAME,
    "Do subjects fulfil their contract and their claims?",
    _ConformancePresentation((_FAILED,), tabulate=_case_table),
    Planning(_begin, Conformance.restore),
    Judging(figures=(LinesSummary, Cases), found=lambda trial: trial.get(Cases) is not None),
    own_verb="conform",
)
