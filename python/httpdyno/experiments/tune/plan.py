"""Plan the search for the best concurrency (`tune`), evaluate it, and save the result."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final, Self

from httpdyno.errors import UsageError
from httpdyno.experiments.crawl.options import WEB
from httpdyno.experiments.crawl.plan import (
    HIGHEST,
    compute_answers,
    find_short,
    found_for,
    lasting_web,
    open_urls,
    options_found_for,
    remark_on,
    settle_against,
)
from httpdyno.experiments.experiment import Beginning, Begun, Ended, Tell
from httpdyno.experiments.option_fields import stored_options
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.experiments.tune.options import NAME, TuneOptions
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.model import Condition, Outcome, Subject, SubjectKind, Trial, Validity, Workload
from httpdyno.stats import (
    NotEnoughPoints,
    Observation,
    OptimumSearch,
    Point,
    ScalabilityLaw,
    Standing,
    fit_scalability,
    summarise_loads,
)
from httpdyno.store import Tuned, keep_tuned
from httpdyno.urls.source import UrlFile

_MOST_TRIALS: Final = 12
_QUICK_TRIALS: Final = 6
"""With ``--quick``: enough for the order of magnitude."""
_DISTURBED: Final = 0.25
"""Weight of a disturbed trial: four of them count as much as an undisturbed one."""
_POOR: Final = 0.20
"""Residual above which a law does not describe the trials."""
_MANY_FAULTS: Final = 0.1
_UNCERTAIN: Final = 3.0
"""Ratio from which a possible difference makes a figure useless for the comparison."""
_NOT_ITS_OWN: Final = frozenset({Validity.DISTURBED, Validity.UNSTEADY, Validity.ORIGIN_LIMITED})
"""Validities of a trial whose figures other programs, or the engine, influenced."""


def observed(trial: Trial) -> Observation:
    """Read from a trial the observation of the search: right answers a second, and errors and late answers.

    Wrong answers that a known failure explains count, too, because they occur equally at every concurrency.
    """
    tally, summary = trial.tally, trial.summary
    value = summary.right_per_s if summary is not None else None
    return Observation(
        load=trial.concurrency,
        value=max(value or 0.0, 0.0),
        answers=tally.right + tally.wrong_in_all if tally else 0,
        faults=tally.wrong_in_all if tally else 0,
        failed=trial.outcome is not Outcome.OK,
        weight=_DISTURBED if trial.validity in {Validity.DISTURBED, Validity.UNSTEADY} else 1.0,
    )


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of the search of one subject, complete or partial."""

    trials: Sequence[Trial]
    points: Sequence[Point]
    """The result at each concurrency that was tried, ascending."""
    fitted_loads: Sequence[int]
    """Concurrencies in ascending order, without failures, and without those where timeouts decide instead of
    contention."""
    law: ScalabilityLaw | NotEnoughPoints
    """The law of scalability for right answers a second, fitted to the trials at ``fitted_loads``."""

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> Self:
        """Conclude from all existing trials of a subject."""
        points = summarise_loads(map(observed, trials))
        loads = [
            point.load
            for point in points
            if point.standing is not Standing.FAILED and point.faults <= _MANY_FAULTS * point.answers
        ]
        fitted = [(trial.concurrency, observed(trial).value) for trial in trials if trial.concurrency in loads]
        law = fit_scalability([load for load, _ in fitted], [value for _, value in fitted])
        return cls(trials, points, loads, law)

    @property
    def best(self) -> Point | None:
        """The chosen concurrency; None if no concurrency works."""
        return next((point for point in self.points if point.standing is Standing.CHOSEN), None)

    @property
    def contention_begins(self) -> float | None:
        """The concurrency from which each further request adds less than half of the rate of the first one.

        None without a law, if the law fits badly, and beyond the highest concurrency that was tried.
        """
        if isinstance(self.law, NotEnoughPoints) or self.law.residual > _POOR or self.law.half_gain is None:
            return None
        return self.law.half_gain if self.law.half_gain <= self.fitted_loads[-1] else None

    @property
    def law_text(self) -> str:
        """Describe where contention begins, up to the highest concurrency that was tried, and the fit of the law."""
        law, unknown = self.law, "where contention begins is unknown"
        if isinstance(law, NotEnoughPoints):
            return f"{unknown}: {law}"
        misses = f"misses the trials by {100 * law.residual:.0f} %"
        if law.residual > _POOR:
            return f"{unknown}: the law of scalability {misses}"
        highest, further = self.fitted_loads[-1], "each further request in flight adds"
        fit = f"(sigma {law.contention:.2g}, kappa {law.coherency:.2g}; the law {misses})"
        if self.contention_begins is None:
            return f"no contention up to {highest}: {further} over half of the first one's {fit}"
        less = f"{further} less than half of the {law.rate:.3g} a second of the first one"
        falls = (
            f"; beyond about {law.peak:.0f} it reduces the rate" if law.peak is not None and law.peak <= highest else ""
        )
        return f"contention begins at about {self.contention_begins:.0f}: from there {less}{falls} {fit}"

    def at(self, load: int | None) -> Point | None:
        """Return the result at a concurrency; None if it was not tried."""
        return next((point for point in self.points if point.load == load), None)

    def compared_text(self, subject: str, own: int) -> str:
        """Describe the result in one line, compared with the concurrency of ``subject.toml``, which is ``own``."""
        best, there = self.best, self.at(own)
        assert best is not None, "a concurrency was chosen"
        if best.load == own:
            return f"{subject}: its own concurrency, {own}, is the best"
        if there is None or there.value == 0:
            return f"{subject}: {best.load} in flight is the best; its own is {own}"
        difference = f"{best.value / there.value:.2f} times the rate at its own concurrency, {own}"
        return f"{subject}: {best.load} in flight is the best: {difference} ({there.standing.value})"

    @property
    def disturbance(self) -> str | None:
        """A warning if something other than the subject decided at least half of the trials; else None."""
        found = Counter(trial.validity.value for trial in self.trials if trial.validity in _NOT_ITS_OWN)
        if not found or 2 * found.total() < len(self.trials):
            return None
        counts = ", ".join(f"{count} {validity}" for validity, count in found.most_common())
        decided = f"the machine, not the subject, decided {found.total()} of {len(self.trials)} trials ({counts})"
        return f"{decided}: search again when the machine is quiet"

    @property
    def uncertainty(self) -> str | None:
        """The reason why the result is too uncertain; None if it is certain or missing."""
        interval = self.best.interval if self.best else None
        if interval is None or interval.high <= _UNCERTAIN * interval.estimate:
            return None
        return (
            f"the result is too uncertain to be saved: {interval.estimate:.1f} right answers a second may be"
            f" {interval.low:.1f} or {interval.high:.1f}"
        )


def searches_of(trials: Sequence[Trial]) -> dict[str, SearchResult]:
    """Return the search of each subject, the one with the best rate first."""
    own: dict[str, list[Trial]] = {}
    for trial in trials:
        own.setdefault(trial.subject, []).append(trial)
    found = {name: SearchResult.of(group) for name, group in own.items()}
    return dict(sorted(found.items(), key=lambda one: (-one[1].best.value if one[1].best else 0.0, one[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune(TuneOptions, OfOneWeb):
    """A search for the best concurrency of each client: the same web and list in all trials."""

    name: ClassVar[str] = NAME
    file: Path
    """The list of URLs of every trial."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """The engine's default web and seed."""
    deadline_s: float = 12.0
    """Deadline of a trial."""
    highest: int = HIGHEST
    most_trials: int = _MOST_TRIALS
    """Of each client."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        _ = self.conditions()

    def condition(self, concurrency: int | None) -> Condition:
        """Return the condition of one concurrency; None: each subject's own."""
        workload = Workload(self.file, self.timeout_s, self.user_agent, http_version=self.http_version)
        return replace(
            self.base_condition(NAME, workload, self.link, concurrency),
            deadline_s=self.deadline_s,
            name="" if concurrency is None else f"{concurrency} in flight",
        )

    def conditions(self) -> tuple[Condition]:
        """Return the condition of the search: that of a subject's own concurrency."""
        return (self.condition(None),)

    def plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan a search for each subject, in turns."""
        most = self.most_trials * len(subjects)
        return SearchPlan(tuple(subjects), self.condition(None), most, self._choose, self.seed)

    def _choose(self, subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        start = subject.concurrency
        search = OptimumSearch(start, high=max(self.highest, start), budget=self.most_trials)
        step = search.next([observed(trial) for trial in seen])
        return None if step is None else NextTrial(self.condition(step.load), step.reason.value)


_SAMPLED: Final = 500
"""URLs of the sample from which the time of a URL is estimated."""
_FASTEST_PER_S: Final = 5_000
"""Most URLs that any client fetches in a second here: the origin has only one or two CPUs."""
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and this long: for a while, URLs without an answer no longer occupy the concurrency."""


def begin_search(beginning: Beginning, names: Sequence[str], options: TuneOptions) -> Begun:
    """Begin the search."""
    if not names:
        raise UsageError("tune: name a SUBJECT, such as go-net-http")
    subjects = beginning.catalogue.select_of_kind(names, SubjectKind.CLIENT)
    beginning.install(subjects)
    if options.on_live_web:
        raise UsageError(
            "tune conflicts with --web live: a search would overload the real internet; choose another web"
        )
    engine = beginning.place.engine
    options = settle_against(options, engine, beginning.tell)
    if options.deadline_s is None:
        timeouts = 1 if options.quick else 2
        options = replace(options, deadline_s=timeouts * options.timeout_s + _BEYOND_TIMEOUTS_S)
    web = engine.web(options.web or WEB, seed=options.seed)
    with ExitStack() as refused:
        urls = refused.enter_context(_open_urls(options, beginning))
        remark_on(urls, beginning.tell)
        search = Tune(
            **(stored_options(options) | {"seed": web.seed}),
            file=urls.file.path,
            web=lasting_web(options.web or WEB),
            web_digest=web.digest,
            highest=_highest(urls, options, subjects, beginning.tell),
            most_trials=_QUICK_TRIALS if options.quick else _MOST_TRIALS,
        )
        refused.pop_all()
    return Begun(search, subjects, urls)


def _highest(urls: UrlFile, options: TuneOptions, subjects: Sequence[Subject], tell: Tell) -> int:
    """Return the highest concurrency for which a list is long enough; print it if it limits the search."""
    short = find_short(urls.count, None, subjects)
    if short:
        where = f"--urls {urls.source}" if options.limit is None else "--limit"
        raise UsageError(f"{short}; give so many", option=where)
    most = urls.count // LEAST_TURNS
    if most < HIGHEST:
        reason = f"a rate needs {LEAST_TURNS} URLs for each request in flight"
        tell(f"{urls.count:,} URLs: at most {most:,} in flight are tried, because {reason}")
    return min(most, HIGHEST)


def _open_urls(options: TuneOptions, beginning: Beginning) -> UrlFile:
    """Open the list: of the requested size, else as many URLs as the fastest client could fetch in a trial.

    If a URL takes T on this web, a client with N in flight fetches at most N / T a second. T is the mean of a sample.
    """
    engine, interruption = beginning.place.engine, beginning.interruption
    if options.limit is not None:
        return open_urls(engine, options, interruption)
    assert options.deadline_s is not None, "a trial has an end"
    # Standard input can be read only once, so nothing is known about its URLs beforehand.
    source = None if options.urls == "-" else options.urls
    web, timeout_s = options.web or WEB, options.timeout_s
    with open_urls(engine, replace(options, urls=source, limit=_SAMPLED), interruption) as sample:
        seed = engine.web(web, seed=options.seed).seed
        condition = Condition(NAME, web, Workload((), timeout_s), seed=seed, against=options.against)
        mean_s = compute_answers(condition, sample, beginning).planned.total_s / max(sample.count, 1)
    per_s = min(HIGHEST / mean_s, _FASTEST_PER_S) if mean_s > 0 else _FASTEST_PER_S
    limit = max(round(per_s * options.deadline_s), LEAST_TURNS * HIGHEST)
    return open_urls(engine, replace(options, limit=limit), interruption)


def end_search(ended: Ended) -> bool:
    """Save the result of each client; return whether there is any."""
    search, place = ended.experiment, ended.place
    assert isinstance(search, Tune), "only a search finds a concurrency"
    found: list[str] = []
    for subject in ended.subjects:
        result = SearchResult.of([trial for trial in ended.trials if trial.subject == subject.id])
        prefix = "" if len(ended.subjects) == 1 else f"{subject.id}: "
        if result.disturbance:
            ended.tell(f"{prefix}{result.disturbance}")
        if not ended.whole or result.best is None:
            continue
        if not search.quick:
            if result.uncertainty:
                ended.tell(f"{prefix}{result.uncertainty}")
                continue
            tuned = Tuned(result.best.load, result.best.value, datetime.now(UTC), ended.run.folder.name)
            keep_tuned(place.cache, found_for(subject, place, search), tuned)
        ended.tell(result.compared_text(subject.id, subject.concurrency))
        found.append(subject.id)
    if not ended.whole:
        ended.tell("the search was interrupted: its result is not saved for --concurrency auto")
    elif found and search.quick:
        names = " ".join(subject.id for subject in ended.subjects)
        ended.tell(f"the result of a quick look is not saved for --concurrency auto; for that: httpdyno tune {names}")
    elif found:
        use = f"httpdyno bench {' '.join(found)}{options_found_for(search)} --concurrency auto"
        ended.tell(f"saved for this machine; use it with: {use}")
    return bool(found)
