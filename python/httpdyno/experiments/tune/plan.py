"""Plan the search for the best concurrency (`tune`), evaluate it, and save the result."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.crawl.options import WEB
from httpdyno.experiments.crawl.plan import (
    find_short,
    found_for,
    lasting_web,
    open_urls,
    options_found_for,
    remark_on,
    settle_against,
)
from httpdyno.experiments.experiment import Beginning, Begun, Ended, Tell
from httpdyno.experiments.options import stored_options
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.experiments.tune.options import NAME, TuneOptions
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.planned_time import read_planned_time
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Link, Outcome, Subject, SubjectKind, Trial, Validity
from httpdyno.stats import Conclusion, NotEnoughPoints, Observation, OptimumSearch, Point, ScalabilityLaw, Standing
from httpdyno.stats import fit_scalability as fit
from httpdyno.store import Tuned, keep_tuned
from httpdyno.urls.source import UrlFile

__all__ = [
    "HIGHEST",
    "Tune",
    "begin_search",
    "chosen_words",
    "concluded",
    "contention_begins",
    "disturbed_words",
    "end_search",
    "law_of",
    "law_words",
    "lawful",
    "observed",
    "searches_of",
    "uncertain_words",
]

MOST_TRIALS: Final = 12
QUICK_TRIALS: Final = 6
"""With ``--quick``: enough for the order of magnitude."""
HIGHEST: Final = 1024
"""Requests in flight: as many as a client opens connections for without asking the system for more descriptors."""
_DISTURBED: Final = 0.25
"""What a trial counts that the machine has disturbed: it says something, but four of them no more than a quiet one."""
_POOR: Final = 0.20
"""A law that misses the values by more than this says little about them."""
_MANY_FAULTS: Final = 0.1
_UNCERTAIN: Final = 3.0
"""Ratio from which a possible difference makes a figure useless for the comparison."""
_NOT_ITS_OWN: Final = frozenset({Validity.DISTURBED, Validity.UNSTEADY, Validity.ORIGIN_LIMITED})
"""What a trial is in which other programs, or the engine, had a share in its figures."""


def search_from(start: int, highest: int = HIGHEST, budget: int = MOST_TRIALS) -> OptimumSearch:
    """Return the search for the best concurrency, about the one that is known to work.

    ``start`` is the subject's own concurrency; one that is beyond ``highest`` moves that bound.
    """
    return OptimumSearch(start, high=max(highest, start), budget=budget)


def observed(trial: Trial) -> Observation:
    """Read from a trial what the search looks at: right answers a second, and how many answers were errors or late.

    What a known failure explains counts, too: it comes up at every concurrency alike, unless there is more to it.
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


def concluded(trials: Sequence[Trial]) -> Conclusion:
    """Return what the trials say, however many of them there are."""
    # What is concluded depends on the trials only: where the search began decides which of them were made.
    return search_from(1).conclude([observed(trial) for trial in trials])


def searches_of(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the trials of each subject, whose best brings most first."""
    found = {
        name: [trial for trial in trials if trial.subject == name] for name in dict.fromkeys(t.subject for t in trials)
    }
    best = {name: concluded(own).best for name, own in found.items()}
    return dict(sorted(found.items(), key=lambda of: (-(one.value if (one := best[of[0]]) else 0.0), of[0])))


def lawful(point: Point) -> bool:
    """Return whether the law of scalability can speak of a concurrency.

    Not where a trial failed, nor where so many answers are errors or late that timeouts decide, and not contention.
    """
    return point.standing is not Standing.FAILED and point.faults <= _MANY_FAULTS * point.answers


def law_of(trials: Sequence[Trial], conclusion: Conclusion) -> ScalabilityLaw | NotEnoughPoints:
    """Fit the law of scalability to right answers a second, of all concurrencies that it can speak of."""
    used = {point.load for point in conclusion.points if lawful(point)}
    values = [(trial.concurrency, observed(trial).value) for trial in trials if trial.concurrency in used]
    return fit([load for load, _ in values], [value for _, value in values])


def contention_begins(law: ScalabilityLaw | NotEnoughPoints, conclusion: Conclusion) -> float | None:
    """Return the concurrency from which each further request brings less than half of what the first one does.

    None where there is no law, it misses the trials by too much, or the place lies beyond what was tried.
    """
    if isinstance(law, NotEnoughPoints) or law.residual > _POOR or law.half_gain is None:
        return None
    highest = max(point.load for point in conclusion.points if lawful(point))
    return law.half_gain if law.half_gain <= highest else None


def law_words(law: ScalabilityLaw | NotEnoughPoints, conclusion: Conclusion) -> str:
    """Describe in words where contention begins, and what the law rests on.

    Nothing is said of what lies beyond what was tried.
    """
    if isinstance(law, NotEnoughPoints):
        return f"where contention begins is not known: {law}"
    if law.residual > _POOR:
        return f"where contention begins is not known: the law of scalability misses the trials by {_percent(law)}"
    highest = max(point.load for point in conclusion.points if lawful(point))
    fit = f"(sigma {law.contention:.2g}, kappa {law.coherency:.2g}; the law misses the trials by {_percent(law)})"
    begins = contention_begins(law, conclusion)
    if begins is None:
        return (
            f"no contention up to {highest}: each further request in flight brings over half of the first one's {fit}"
        )
    less = f"each further request in flight brings less than half of the {law.rate:.3g} a second of the first one"
    falls = f"; beyond about {law.peak:.0f} it takes away" if law.peak is not None and law.peak <= highest else ""
    return f"contention begins at about {begins:.0f}: from there {less}{falls} {fit}"


def disturbed_words(trials: Sequence[Trial]) -> str | None:
    """Return a warning if at least half of the trials were not decided by the subject; else None."""
    found = Counter(trial.validity.value for trial in trials if trial.validity in _NOT_ITS_OWN)
    if not found or 2 * found.total() < len(trials):
        return None
    counted = ", ".join(f"{count} {validity}" for validity, count in found.most_common())
    said = f"in {found.total()} of {len(trials)} trials the machine decided, not the subject ({counted})"
    return f"{said}: search again when the machine is quiet"


def uncertain_words(conclusion: Conclusion) -> str | None:
    """Return the reason why the result is too uncertain; None if it is certain or missing."""
    best = conclusion.best
    if best is None or best.interval is None or best.interval.high <= _UNCERTAIN * best.interval.estimate:
        return None
    interval = best.interval
    return (
        f"the result is too uncertain to be saved: {interval.estimate:.1f} right answers a second may be"
        f" {interval.low:.1f} or {interval.high:.1f}"
    )


def chosen_words(subject: str, own: int, conclusion: Conclusion) -> str:
    """Describe in one line the result of a subject, compared with its own concurrency.

    ``subject`` is its id, ``own`` what its ``subject.toml`` has.
    """
    best = conclusion.best
    if best is None:
        return f"{subject}: works at no concurrency"
    if best.load == own:
        return f"{subject}: its own concurrency, {own}, is the best"
    there = next((point for point in conclusion.points if point.load == own), None)
    if there is None or there.value == 0:
        return f"{subject}: {best.load} in flight is the best; its own is {own}"
    difference = f"{best.value / there.value:.2f} times the rate at its own concurrency, {own}"
    return f"{subject}: {best.load} in flight is the best: {difference} ({there.standing.value})"


def _percent(law: ScalabilityLaw) -> str:
    return f"{100 * law.residual:.0f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune(TuneOptions, OfOneWeb):
    """A search for the best concurrency of each client: the same web and list in all trials."""

    file: Path
    """The list of URLs of every trial."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """The engine's default web and seed."""
    deadline_s: float = 12.0
    """Deadline of a trial."""
    highest: int = HIGHEST
    most_trials: int = MOST_TRIALS
    """Of each client."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, concurrency: int | None) -> Condition:
        """Return the condition of one concurrency; None: each subject's own."""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=self.workload(self.file),
            seed=self.seed,
            concurrency=concurrency,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            name="" if concurrency is None else f"{concurrency} in flight",
        )

    def conditions(self) -> tuple[Condition]:
        """Return the condition that the search is about: that of a subject's own concurrency."""
        return (self.condition(None),)

    def plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan a search for each subject, in turns; of one that is not available, a trial that says why."""
        most = self.most_trials * len(subjects)
        return SearchPlan(tuple(subjects), self.condition(None), most, self._choose, self.seed)

    def _choose(self, subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        search = search_from(subject.concurrency, self.highest, self.most_trials)
        step = search.next([observed(trial) for trial in seen])
        return None if step is None else NextTrial(self.condition(step.load), step.reason.value)


SAMPLED: Final = 500
"""URLs that a web is asked about."""
_FASTEST_PER_S: Final = 5_000
"""No client gets through more in a second here: the origin itself has a CPU or two."""
_FEWEST: Final = LEAST_TURNS * HIGHEST


def urls_needed(
    sample: UrlFile,
    engine: Engine,
    *,
    web: str,
    seed: int | None,
    timeout_s: float,
    deadline_s: float,
    against: str | None = None,
) -> int:
    """Return how many URLs the fastest client could get through.

    With N in flight, of a web that takes T for each, no client gets more than N / T in a second.

    ``sample`` is the beginning of the list. ``timeout_s`` is what a client gives one URL, ``deadline_s`` when a trial
    is ended.
    """
    with ScratchFile() as file:
        known = engine.web(web, seed=seed)
        engine.expect(
            web=web,
            seed=known.seed,
            timeout_s=timeout_s,
            urls=sample.file.path,
            into=file.file,
            against=against,
        )
        planned = read_planned_time(file.path, timeout_s=timeout_s)
    mean_s = planned.total_s / max(sample.count, 1)
    per_s = min(HIGHEST / mean_s, _FASTEST_PER_S) if mean_s > 0 else _FASTEST_PER_S
    return max(round(per_s * deadline_s), _FEWEST)


_TIMEOUTS: Final = 2
_QUICK_TIMEOUTS: Final = 1
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""


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
        timeouts = _QUICK_TIMEOUTS if options.quick else _TIMEOUTS
        options = replace(options, deadline_s=timeouts * options.timeout_s + _BEYOND_TIMEOUTS_S)
    web = engine.web(options.web or WEB, seed=options.seed)
    with ExitStack() as refused:
        urls = refused.enter_context(_open_urls(options, engine, beginning.interruption))
        remark_on(urls, beginning.tell)
        highest = _highest(urls, options, subjects, beginning.tell)
        search = Tune(
            **(stored_options(options) | {"seed": web.seed}),
            file=urls.file.path,
            web=lasting_web(options.web or WEB),
            web_digest=web.digest,
            highest=highest,
            most_trials=QUICK_TRIALS if options.quick else MOST_TRIALS,
        )
        refused.pop_all()
    return Begun(search, subjects, urls)


def _highest(urls: UrlFile, options: TuneOptions, subjects: Sequence[Subject], tell: Tell) -> int:
    """Return the highest concurrency that a list is long enough for; say so where it bounds the search."""
    short = find_short(urls.count, None, subjects)
    if short:
        where = f"--urls {urls.source}" if options.limit is None else "--limit"
        raise UsageError(f"{where}: {short}; give so many")
    most = urls.count // LEAST_TURNS
    if most < HIGHEST:
        why = f"a rate needs {LEAST_TURNS} for each"
        tell(f"{urls.count:,} URLs: no more than {most:,} in flight are tried, since {why}")
    return min(most, HIGHEST)


def _open_urls(options: TuneOptions, engine: Engine, interruption: Interruption) -> UrlFile:
    """Get the list ready: of the size that is asked for, else as many as a fast client can get through in a trial."""
    if options.limit is None:
        assert options.deadline_s is not None, "a trial has an end"
        # Standard input can be read once only: nothing is known of its URLs beforehand.
        source = None if options.urls == "-" else options.urls
        with open_urls(engine, replace(options, urls=source, limit=SAMPLED), interruption) as sample:
            limit = urls_needed(
                sample,
                engine,
                web=options.web or WEB,
                seed=options.seed,
                timeout_s=options.timeout_s,
                deadline_s=options.deadline_s,
                against=options.against,
            )
        options = replace(options, limit=limit)
    return open_urls(engine, options, interruption)


def end_search(ended: Ended) -> bool:
    """Save the result of each client; return whether there is any."""
    search, place = ended.experiment, ended.place
    assert isinstance(search, Tune), "only a search finds a concurrency"
    kept = []
    found_quickly = False
    for subject in ended.subjects:
        trials = [trial for trial in ended.trials if trial.subject == subject.id]

        def tell(words: str, whose: str = subject.id) -> None:
            ended.tell(words if len(ended.subjects) == 1 else f"{whose}: {words}")

        if disturbed := disturbed_words(trials):
            tell(disturbed)
        conclusion = concluded(trials)
        best = conclusion.best
        if not ended.whole or best is None:
            continue
        if search.quick:
            ended.tell(chosen_words(subject.id, subject.concurrency, conclusion))
            found_quickly = True
            continue
        if uncertain := uncertain_words(conclusion):
            tell(uncertain)
            continue
        found = Tuned(best.load, best.value, datetime.now(UTC), ended.run.folder.name)
        keep_tuned(place.cache, found_for(subject, place, search), found)
        ended.tell(chosen_words(subject.id, subject.concurrency, conclusion))
        kept.append(subject.id)
    if not ended.whole:
        ended.tell("the search was interrupted: its result is not saved for --concurrency auto")
    if kept:
        use = f"httpdyno bench {' '.join(kept)}{options_found_for(search)} --concurrency auto"
        ended.tell(f"saved for this machine; use it with: {use}")
    if found_quickly:
        names = " ".join(subject.id for subject in ended.subjects)
        ended.tell(f"the result of a quick look is not saved for --concurrency auto; for that: httpdyno tune {names}")
    return bool(kept) or found_quickly
