"""Plan a crawl (`bench`): its subjects, URLs, concurrency and blocks."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Final, Protocol, TypeVar

import httpdyno
from httpdyno.errors import EmptyList, Interrupted, InvalidValue, NothingMeasured, UnknownName, UsageError
from httpdyno.experiments.against import agreed, refuse_beside
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY
from httpdyno.experiments.crawl.options import (
    AUTO,
    NAME,
    TIME_S,
    TRIAL_URLS,
    WEB,
    AskedUrls,
    BenchOptions,
    CrawlOptions,
    block_count,
)
from httpdyno.experiments.experiment import Beginning, Begun, Experiment, Tell
from httpdyno.experiments.options import WEBS, stored_options
from httpdyno.experiments.plan import ListedPlan, Plan, RepeatingPlan, TimeBudget, schedule, usual_repeat
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.judge import find_metric
from httpdyno.judge.comparison import find_rankable
from httpdyno.judge.limit import SATURATED_SHARE, Limit, limited_by, own_cpu_share
from httpdyno.judge.rankable import disturbed
from httpdyno.judge.validity.stretch import LEAST_TURNS, Stretch
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.engine import Engine, ServedWeb
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.lab.planned_time import OVERHEAD_S, PlannedTime, guess_s
from httpdyno.lab.proof import prove_all
from httpdyno.lab.room import Pinning
from httpdyno.lab.web_answers import Answers, WebAnswers
from httpdyno.model import LIVE, Condition, Link, Outcome, Subject, SubjectKind, Trial, TrialPlan, counted, parse_cpus
from httpdyno.published import find_preset, parse_scale
from httpdyno.store import NotTuned, TunedFor, WebIdentity, describe_machine, find_tuned
from httpdyno.subjects.build import BuildEvent, BuildState, build_place, build_subjects
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.preparation import prepare_urls
from httpdyno.urls.source import (
    HOSTS_COUNTED,
    QUICK_LIMIT,
    STANDARD_INPUT,
    UrlFile,
    count_hosts,
    file_at_origin,
    urls_of_web,
    with_slow_first,
)

__all__ = [
    "HEADLINE",
    "USUAL_DEADLINE_S",
    "Crawl",
    "ShortList",
    "begin_bench",
    "begin_crawl",
    "check_live",
    "find_short",
    "found_for",
    "lasting_web",
    "live_user_agent",
    "open_urls",
    "options_found_for",
    "quick_deadline_s",
    "remark_on",
    "saturation_after",
    "sent",
    "settle_against",
    "traffic_lines",
    "tuned_for",
]


def open_urls(engine: Engine, options: AskedUrls, interruption: Interruption, *, piped: bool = False) -> UrlFile:
    """Open the list of URLs.

    ``piped``: what is piped in is a list, too; an empty one is none when ``limit`` says how many URLs of the web are
    wanted instead, since commands that run unattended inherit such pipes. A signal ends the reading at once, as a pipe
    may stay open for ever.
    """
    if options.on_live_web and options.urls is None and not (piped and _is_piped()):
        raise UsageError(
            "--web live: the real internet has no list of its own;"
            " give one with --urls: a file or https://..., of URLs or a table of domains"
        )
    with interruption, interruption.at_once("the list of URLs was being read"):
        listed = _listed(engine, options, piped=piped)
        return listed if options.against is None else file_at_origin(listed, options.against)


def remark_on(urls: UrlFile, tell: Tell) -> None:
    """Report the unusable lines of a list; raise if no line is usable."""
    if urls.no_urls == urls.count:
        raise NothingMeasured(f"{urls.remark}; nothing was run: give one URL or domain a line")
    if urls.remark:
        tell(urls.remark)


def _listed(engine: Engine, options: AskedUrls, *, piped: bool) -> UrlFile:
    if options.urls is not None:
        return prepare_urls(options.urls, limit=options.limit)
    if piped and _is_piped():
        try:
            return prepare_urls(STANDARD_INPUT, limit=options.limit)
        except EmptyList:
            if options.limit is None or options.on_live_web:
                raise
    return urls_of_web(engine, web=options.web or WEB, seed=options.seed, limit=options.limit)


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file, not a terminal or ``/dev/null``."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


USUAL_DEADLINE_S: Final = 600.0
_START_S: Final = 30.0
"""Time for the start of a runtime on a busy machine."""
_URL_S: Final = 0.01
"""Own time of the slowest client for a URL: twice the largest known."""
_TIMES: Final = 3
_STEP_S: Final = 10


def quick_deadline_s(planned: PlannedTime, in_flight: int) -> float:
    """Return a deadline for a list that only a stalled client misses, at most the usual one.

    ``in_flight`` is the least that any client has.
    """
    list_s = max(planned.total_s / in_flight, planned.urls * _URL_S) + planned.longest_s
    return min(float(ceil((_START_S + _TIMES * list_s) / _STEP_S) * _STEP_S), USUAL_DEADLINE_S)


HEADLINE: Final = (
    "bun-fetch",
    "deno-fetch",
    "dotnet-httpclient",
    "go-net-http",
    "java-httpclient",
    "node-fetch",
    "node-reqwest",
    "node-undici-request",
    "python-aiohttp",
    "ruby-async-http-rb",
    "rust-reqwest",
)
"""Default clients: those of the first table of the published crawl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl(BenchOptions, OfOneWeb):
    """A crawl: one condition, and the same list of URLs for every subject."""

    file: Path
    """The list of URLs of every subject."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """The engine's default web and seed; None on the real internet."""
    concurrency: int | None = None
    deadline_s: float = USUAL_DEADLINE_S
    per_host: int = 1
    per_host_interval_s: float = 0.0
    time_budget_s: float | None = None
    """Time budget of its blocks; None: unlimited."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        _ = self.condition

    @property
    def condition(self) -> Condition:
        """The single point of the grid."""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=self.workload(self.file),
            seed=self.seed,
            concurrency=self.concurrency,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            per_host=self.per_host,
            per_host_interval_s=self.per_host_interval_s,
        )

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def conditions(self) -> tuple[Condition]:
        """Return the grid: a single point."""
        return (self.condition,)

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects in blocks, and repeat those that other programs disturb.

        Trials on the live internet are not repeated: the user has confirmed the number of requests.
        """
        repeat = usual_repeat(len(subjects), quick=self.quick) if self.repeat is None else self.repeat
        plans = schedule(subjects, self.conditions(), repeat=repeat, seed=self.seed)
        listed = ListedPlan(plans, {"repeat": repeat})
        if self.no_again or self.on_live_web:
            return listed
        (ranked_by,) = (metric for metric in CRAWL_METRICS if metric.name == RANKED_BY)
        budget = None if self.time_budget_s is None else TimeBudget(self.time_budget_s, _took_s)
        return RepeatingPlan(listed, disturbed, ranked_by.figure, self.seed, budget)


def _took_s(trial: Trial) -> float:
    """Return the total seconds of a trial: the wait before it, the client's time, and the rest."""
    own_ns = (trial.summary.time_ns if trial.summary else None) or 0
    return ((trial.cool_down_ns or 0) + own_ns) / 1e9 + OVERHEAD_S


_NO_COMMENT: Final = frozenset("()\\")
"""Characters that end or change the comment of a user agent (RFC 9110, section 5.6.5)."""


def check_live(options: CrawlOptions) -> None:
    """Refuse a limit per host on an emulated web, and an emulated link to the real internet."""
    if options.on_live_web:
        if options.link != "direct":
            raise UsageError("--link conflicts with --web live, which uses a real network; leave one out")
        return
    for option, value in (("--per-host", options.per_host), ("--per-host-interval", options.per_host_interval_s)):
        if value is not None:
            raise UsageError(f"{option} requires --web live")


def live_user_agent(contact: str) -> str:
    """Return the user agent: this program, and the contact if given."""
    contact = contact.strip()
    if not contact.isascii() or not contact.isprintable() or _NO_COMMENT & set(contact):
        raise InvalidValue(f"--contact: {contact[:60]!r} cannot stand in a user agent; give a mail address or a page")
    about = f"HTTP client benchmark; +{contact}" if contact else "HTTP client benchmark"
    return f"httpdyno/{httpdyno.__version__} ({about})"


def sent(crawl: Crawl, urls: UrlFile, trials: int) -> tuple[str, str]:
    """Describe the traffic of a crawl's trials to the real internet."""
    with urls.file.path.open("rb") as lines:
        return traffic_lines(trials, urls.count, count_hosts(lines), crawl.per_host, crawl.user_agent)


def traffic_lines(trials: int, urls: int, hosts: int, per_host: int, user_agent: str) -> tuple[str, str]:
    """Describe the traffic of trials by their URLs, hosts, and requests per host."""
    named = f"{'at least ' if hosts >= HOSTS_COUNTED else ''}{counted(hosts, 'host')}"
    contact = "" if "+" in user_agent or "@" in user_agent else "; add your contact with --contact"
    return (
        f"this will send {counted(trials * urls, 'request')} to {named} of the real internet: "
        f"{counted(urls, 'URL')} in {'each of ' if trials > 1 else ''}{counted(trials, 'trial')}; "
        "redirects are extra",
        f"they go out as {user_agent!r}, {per_host} at a time to a host{contact}",
    )


@dataclass(frozen=True, slots=True)
class ShortList:
    """A list that is too short for a concurrency."""

    urls: int
    in_flight: int
    who: str
    """The subject whose own concurrency that is; empty where one concurrency is asked of all."""

    def __str__(self) -> str:
        whose = f" ({self.who})" if self.who else ""
        few = "1 URL is" if self.urls == 1 else f"{self.urls:,} URLs are"
        return f"{few} too few for {self.in_flight:,} in flight{whose}: a rate needs {self.needed:,}"

    @property
    def needed(self) -> int:
        """Number of URLs needed."""
        return LEAST_TURNS * self.in_flight

    @property
    def remark(self) -> str:
        """Return the hint for a run of one client."""
        return f"no rate is given of {counted(self.urls, 'URL')}; it needs {self.needed:,}"

    def refusal(self, source: str | None) -> str:
        """Return the error message with its cure; ``source`` is the list that was given whole."""
        where = "--limit" if source is None else f"--urls {source}"
        possible = self.urls // LEAST_TURNS
        instead = f", or a --concurrency of {possible:,} or less" if possible else ""
        return f"{where}: {self}; give so many{instead}"


def find_short(urls: int, concurrency: int | None, subjects: Sequence[Subject]) -> ShortList | None:
    """Return the error if the list is too short for the concurrency of a client; else None.

    ``concurrency`` is that of all subjects; None: each subject's own.
    """
    if concurrency is not None:
        short = ShortList(urls, concurrency, "")
    else:
        widest = max(subjects, key=lambda subject: subject.concurrency)
        short = ShortList(urls, widest.concurrency, widest.id)
    return short if urls < short.needed else None


class OfUrls(Experiment, Protocol):
    """An experiment with one list of URLs on one web."""

    @property
    def link(self) -> str:
        """Its path."""

    @property
    def against(self) -> str | None:
        """The origin of another machine."""

    @property
    def http_version(self) -> str:
        """The HTTP version of all clients; empty: their default."""

    @property
    def memory_bytes(self) -> int | None:
        """Memory limit of the subject."""


@dataclass(frozen=True, slots=True)
class TunedSubject:
    """A subject with its concurrency and the source of that."""

    subject: Subject
    line: str
    """Says it in one line."""


def tuned_for(
    subject: Subject,
    cache: Path,
    pinning: Pinning,
    *,
    memory_bytes: int | None,
    link: str,
    web: WebIdentity,
    http_version: str = "",
) -> TunedFor:
    """Return the key of a found concurrency: the subject's version, this machine, a web.

    An empty ``http_version`` is the subject's default.
    """
    pinned = pinning.subject_cpus
    return TunedFor(
        subject=subject.id,
        fingerprint=build_place(subject, cache).fingerprint,
        cpu=describe_machine().cpu,
        cpus=len(os.sched_getaffinity(0) if pinned is None else parse_cpus(pinned)),
        pinned=pinned is not None,
        memory_bytes=memory_bytes,
        link=link,
        web=web.name,
        seed=web.seed,
        web_digest=web.digest,
        http_version=http_version,
    )


def with_tuned(subjects: Sequence[Subject], place: Place, crawl: OfUrls) -> tuple[TunedSubject, ...]:
    """Set each subject's concurrency to the one found on this machine; without one, it keeps its own."""
    return tuple(_tuned(subject, place, crawl) for subject in subjects)


def options_found_for(asked: OfUrls) -> str:
    """Return the options that identify a found concurrency, a space before each; empty for the defaults."""
    link = "" if asked.link == "direct" else f" --link {asked.link}"
    against = "" if asked.against is None else f" --against {asked.against}"
    version = asked.http_version
    return f"{link}{against}" + (f" --http-version {version}" if version else "")


def found_for(subject: Subject, place: Place, asked: OfUrls) -> TunedFor:
    """Return for what a concurrency is found when so much is asked."""
    (web,), (condition,) = asked.webs(), asked.conditions()
    return tuned_for(
        subject,
        place.cache,
        place.pinning,
        memory_bytes=asked.memory_bytes,
        link=condition.link_name,
        web=web,
        http_version=asked.http_version,
    )


def _tuned(subject: Subject, place: Place, crawl: OfUrls) -> TunedSubject:
    found = find_tuned(place.cache, found_for(subject, place, crawl))
    if isinstance(found, NotTuned):
        own = f"{subject.id}: {found.reason}: its own concurrency, {subject.concurrency}, is used"
        again = f"httpdyno tune {subject.id}{options_found_for(crawl)}"
        return TunedSubject(subject, f"{own}; {again} would find the best")
    line = f"{subject.id}: {found.concurrency} in flight, as found on {found.found_at:%Y-%m-%d}"
    return TunedSubject(replace(subject, concurrency=found.concurrency), line)


HIGHEST: Final = 1024
"""Requests in flight: as many as a client opens connections for without asking the system for more descriptors."""
TRIALS: Final = 2
_MOST_TIMES: Final = 2
"""Largest correction; a larger one is due to a trial with another limit."""
_PER_CORE, _IN_FLIGHT = (find_metric(CRAWL_METRICS, name) for name in ("right_per_core_s", "in_flight_per_core"))


@dataclass(frozen=True, slots=True)
class Saturation:
    """A concurrency with its reason."""

    concurrency: int
    why: str


def saturation_after(seen: Sequence[Trial], *, highest: int = HIGHEST) -> Saturation:
    """Return the concurrency that saturates the CPUs of a client, according to its trials.

    The first trial, at the client's own concurrency, gives the cost of an answer and, by Little's law, the concurrency
    that saturates its CPUs. The second trial, at that concurrency, gives the share of the CPUs that it used.
    """
    first, *others = seen
    if others:
        return _corrected(first, others[-1], highest)
    cpus, per_core, in_flight = _cpus(first), _PER_CORE.figure(first), _IN_FLIGHT.figure(first)
    if first.outcome is not Outcome.OK or per_core is None or in_flight is None:
        return Saturation(first.concurrency, f"its own: the cost of an answer is unknown ({_reason(first)})")
    rate = f"{cpus * per_core:,.0f} right answers a second have CPU time, by what one costs at {first.concurrency:,}"
    return Saturation(min(max(ceil(cpus * in_flight), 1), highest), rate)


def _corrected(first: Trial, second: Trial, highest: int) -> Saturation:
    concurrency, stretch = second.concurrency, Stretch.of(second)
    share = own_cpu_share(second, stretch) if stretch else None
    if second.outcome is not Outcome.OK or not share:
        return Saturation(first.concurrency, f"its own; with {concurrency:,}: {_reason(second)}")
    used = f"with {concurrency:,} it used {100 * share:.0f} % of its CPU time"
    if share >= SATURATED_SHARE or concurrency >= highest:
        return Saturation(concurrency, used)
    if disturbed(second):
        return Saturation(concurrency, f"{used}, but other programs disturbed that")
    if limited_by(second) is Limit.ORIGIN:
        return Saturation(concurrency, f"{used}, and the origin was exhausted")
    return Saturation(min(ceil(concurrency * min(1 / share, _MOST_TIMES)), highest), used)


def _reason(trial: Trial) -> str:
    return trial.outcome.value if trial.outcome is not Outcome.OK else "no CPU time was counted"


def _cpus(trial: Trial) -> int:
    return len(trial.counters.subject_cpus) or 1


FIRST_URLS: Final = LEAST_TURNS * HIGHEST
"""URLs of a trial, enough for every concurrency tried."""
_TIMEOUTS: Final = 2
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""


def check_saturate(options: BenchOptions) -> None:
    """Refuse options that also set the concurrency."""
    if not options.saturate:
        return
    conflicting = {"--concurrency": options.concurrency, "--preset": options.preset}
    if flag := next((flag for flag, value in conflicting.items() if value is not None), None):
        raise UsageError(f"--saturate conflicts with {flag}: both set the concurrency; leave one out")
    if options.on_live_web:
        raise UsageError(
            "--saturate conflicts with --web live: it would overload the real internet; choose another web"
        )


def saturated(subjects: Sequence[Subject], crawl: Crawl, urls: UrlFile, beginning: Beginning) -> list[Subject]:
    """Return the clients, each with the concurrency that saturates its CPUs; clients that cannot run keep their own.

    ``urls`` is the list of the short trials that find it.
    """
    place, stop, tell = beginning.place, beginning.interruption, beginning.tell
    crawl = replace(crawl, deadline_s=_TIMEOUTS * crawl.timeout_s + _BEYOND_TIMEOUTS_S)
    tell(
        f"--saturate: {TRIALS} short trials of each of {counted(len(subjects), 'client')} find its concurrency first,"
        f" in {crawl.deadline_s:.0f} s at most each"
    )

    def building(event: BuildEvent) -> None:
        if event.state is BuildState.BUILDING:
            tell(f"{event.subject.id}: is built")

    found = []
    with stop:
        built = build_subjects(subjects, place.cache, tell=building, stop=lambda: stop.requested)
        executor = LocalExecutor(place.engine, place.pinning, stop, urls=urls.file)
        executor.builds = prove_all(built, place.engine, place.pinning, stop)
        for subject in subjects:
            if executor.builds[subject.id].build is None:
                found.append(subject)
                continue
            saturation = _find(subject, executor, crawl, urls.count // LEAST_TURNS)
            tell(f"{subject.id}: {saturation.concurrency:,} in flight: {saturation.why}")
            found.append(replace(subject, concurrency=saturation.concurrency))
    return found


def _find(subject: Subject, executor: LocalExecutor, crawl: Crawl, highest: int) -> Saturation:
    """Run the trials of one client, one after the other."""
    seen: list[Trial] = []
    saturation = Saturation(min(subject.concurrency, highest), "its own")
    while len(seen) < TRIALS:
        condition = replace(crawl, concurrency=saturation.concurrency).condition
        judged = executor.run(TrialPlan(len(seen), 0, 0, subject, condition), CRAWL)
        if executor.interruption.requested:
            raise Interrupted(f"interrupted during the search for the concurrency of {subject.id}")
        seen.append(judged.trial)
        saturation = saturation_after(seen, highest=min(highest, HIGHEST))
        if saturation.concurrency == seen[-1].concurrency:
            break
    return saturation


_FEW_IN_FLIGHT: Final = 10
_LONGEST_REORDERED: Final = 100_000
"""A longer list keeps its order: of its five minutes and more, a timeout at the end is nothing."""
_Asked = TypeVar("_Asked", bound=AskedUrls)


def begin_bench(beginning: Beginning, names: Sequence[str], options: BenchOptions) -> Begun:
    """Begin the crawls; refuse an unknown ranking metric before anything is built."""
    if options.rank_by is not None:
        _check_rank_by(options.rank_by)
    clients, limit = choose_subjects(beginning.catalogue, names, options)
    beginning.install(clients)
    return begin_crawl(beginning, clients, options, limit=limit)


def _check_rank_by(name: str) -> None:
    try:
        find_rankable(CRAWL_METRICS, name)
    except UnknownName as error:
        raise UnknownName(f"--rank-by: {error}") from None
    except InvalidValue as error:
        raise InvalidValue(f"--rank-by: {error}") from None


def begin_crawl(
    beginning: Beginning,
    subjects: Sequence[Subject],
    options: BenchOptions,
    *,
    limit: int | None = None,
    piped: bool = False,
) -> Begun:
    """Begin a crawl of at most ``limit`` URLs; without a given number, the list grows as needed.

    ``piped``: what is piped in is its list, too. One that is too short is refused where several would be compared.
    """
    engine = beginning.place.engine
    options = settle_against(options, engine, beginning.tell)
    check_live(options)
    check_saturate(options)
    with ExitStack() as refused:
        asked = replace(options, limit=options.limit or limit)
        urls = refused.enter_context(open_urls(engine, asked, beginning.interruption, piped=piped))
        remark_on(urls, beginning.tell)
        crawl = _make_crawl(options, urls, engine)
        if options.concurrency == AUTO:
            tuned = with_tuned(subjects, beginning.place, crawl)
            for one in tuned:
                beginning.tell(one.line)
            subjects = [one.subject for one in tuned]
        if options.saturate:
            with _first_urls(urls, options, beginning) as first:
                if none_in_flight := find_short(first.count, 1, subjects):
                    raise UsageError(none_in_flight.refusal(urls.source if options.limit is None else None))
                subjects = saturated(subjects, crawl, first, beginning)
        short = None if options.on_live_web else find_short(urls.count, crawl.concurrency, subjects)
        if short:
            longer = _longer(short, urls, options, beginning)
            if longer is not None:
                urls.file.close()
                urls = refused.enter_context(longer)
                crawl = replace(crawl, file=urls.file.path)
            elif len(subjects) > 1:
                raise UsageError(short.refusal(urls.source if options.limit is None else None))
            beginning.tell(f"{short}; {urls.count:,} are taken" if longer else short.remark)
        urls = refused.enter_context(_reordered(crawl, urls, beginning))
        crawl = _in_time(replace(crawl, file=urls.file.path), urls, subjects, beginning, given_s=options.deadline_s)
        refused.pop_all()
    return Begun(crawl, subjects, urls)


def _ask_web(crawl: Crawl, urls: UrlFile, beginning: Beginning) -> Answers:
    """Ask what the web answers to a list."""
    return WebAnswers(beginning.place.engine, beginning.interruption).of(crawl.condition, urls.file)


def _reordered(crawl: Crawl, urls: UrlFile, beginning: Beginning) -> UrlFile:
    """Put the slowest URLs early; a published list, or one for the live internet, stays as it is."""
    if crawl.on_live_web or crawl.preset is not None or urls.count > _LONGEST_REORDERED:
        return urls
    slow = _ask_web(crawl, urls, beginning).slow
    return with_slow_first(urls, slow, timeout_s=crawl.timeout_s)


def _in_time(
    crawl: Crawl, urls: UrlFile, subjects: Sequence[Subject], beginning: Beginning, *, given_s: float | None
) -> Crawl:
    """Set the number of blocks and the deadline of ``--quick`` unless they are given; ``given_s`` is a deadline."""
    if crawl.repeat is None and crawl.preset is None and not (crawl.quick or crawl.on_live_web):
        # A list of the user's own gets all of its blocks.
        budget_s = TIME_S if urls.source is None else None
        crawl = replace(crawl, repeat=_blocks_in_budget(crawl, urls, subjects, beginning), time_budget_s=budget_s)
    if crawl.quick and given_s is None:
        return _with_quick_deadline(crawl, urls, subjects, beginning)
    return crawl


def _blocks_in_budget(crawl: Crawl, urls: UrlFile, subjects: Sequence[Subject], beginning: Beginning) -> int:
    """Return how many blocks fit into the usual time; a list of the user's own gets no fewer than any experiment."""
    least = 0 if urls.source is None else usual_repeat(len(subjects))
    planned = _ask_web(crawl, urls, beginning).planned
    trials = (TrialPlan(0, 0, 0, subject, crawl.condition) for subject in subjects)
    return block_count((guess_s(trial, planned) for trial in trials), least=least)


def _with_quick_deadline(crawl: Crawl, urls: UrlFile, subjects: Sequence[Subject], beginning: Beginning) -> Crawl:
    """Set a deadline by what the web plans for the list, and say so; what a link or a distance adds is in no plan."""
    if crawl.on_live_web or crawl.preset is not None or crawl.against is not None or crawl.link != "direct":
        return crawl
    planned = _ask_web(crawl, urls, beginning).planned
    # Not of the subjects where it need not be: it is a setting of runs that are compared.
    least = min(crawl.condition.concurrency or subject.concurrency for subject in subjects)
    deadline_s = quick_deadline_s(planned, min(least, _FEW_IN_FLIGHT))
    beginning.tell(f"--quick: trials end after {deadline_s:.0f} s; --duration sets another time")
    return replace(crawl, deadline_s=deadline_s)


@contextmanager
def _first_urls(urls: UrlFile, options: BenchOptions, beginning: Beginning) -> Iterator[UrlFile]:
    """Open the list of the trials before the crawl: enough of a web for every concurrency, of a list what there is."""
    if options.limit is not None or options.urls is not None or urls.source == STANDARD_INPUT:
        yield urls
        return
    with open_urls(beginning.place.engine, replace(options, limit=FIRST_URLS), beginning.interruption) as first:
        yield first


def _longer(short: ShortList, urls: UrlFile, options: BenchOptions, beginning: Beginning) -> UrlFile | None:
    """Open as many URLs as needed, if no number was given and the web has them."""
    if options.limit is not None or urls.source == STANDARD_INPUT:
        return None
    longer = open_urls(beginning.place.engine, replace(options, limit=short.needed), beginning.interruption)
    if longer.count == short.needed:
        return longer
    longer.file.close()
    return None


def _make_crawl(options: BenchOptions, urls: UrlFile, engine: Engine) -> Crawl:
    """Build the crawl; the engine gives the default seed of a web."""
    name, seed = options.web or WEB, options.seed
    live = ServedWeb(LIVE, 1 if seed is None else seed, None)
    web = live if options.on_live_web else engine.web(name, seed=seed)
    found = {
        "deadline_s": USUAL_DEADLINE_S if options.deadline_s is None else options.deadline_s,
        "concurrency": None if options.concurrency == AUTO else options.concurrency,
        "user_agent": options.user_agent or (live_user_agent(options.contact) if options.on_live_web else ""),
        "per_host": options.per_host or 1,
        "per_host_interval_s": options.per_host_interval_s or 0.0,
        "seed": web.seed,
    }
    return Crawl(**(stored_options(options) | found), file=urls.file.path, web=lasting_web(name), web_digest=web.digest)


def lasting_web(web: str) -> str:
    """Return the absolute path of a web's model, so that a run can resume from any folder."""
    return str(Path(web).absolute()) if web not in {*WEBS, LIVE} and Path(web).is_file() else web


def settle_against(options: _Asked, engine: Engine, tell: Tell) -> _Asked:
    """Identify another machine's origin; without a named web, use the origin's.

    Options without ``against`` are returned unchanged.
    """
    if options.against is None:
        return options
    refuse_beside(link=options.link)
    url, web, seed = agreed(options.against, engine, tell, web=options.web, seed=options.seed)
    return replace(options, against=url, web=web, seed=seed)


def choose_subjects(
    catalogue: Catalogue, names: Sequence[str] | None, options: BenchOptions
) -> tuple[tuple[Subject, ...], int | None]:
    """Choose subjects and a number of URLs: the named ones, else the preset's, else the usual clients; or every client.

    Without ``--limit`` the number is the preset's, that of ``--quick`` or of a web; None: all of a list.
    """
    preset, scale, limit = options.preset, options.scale, options.limit
    if options.every and (names or preset is not None):
        raise UsageError(
            f"--all conflicts with {'a SUBJECT' if names else '--preset'}: both choose the clients; give one of them"
        )
    if preset is None and scale is not None:
        raise UsageError("--scale requires --preset; give one, or --limit instead")
    if scale is not None and limit is not None:
        raise UsageError("--limit conflicts with --scale: both set the number of URLs; leave one out")
    if limit is None and options.quick and scale is None:
        limit = QUICK_LIMIT
    elif limit is None and preset is None and options.urls is None:
        limit = TRIAL_URLS
    if options.every:
        return catalogue.of_kind(SubjectKind.CLIENT), limit
    named = catalogue.select_of_kind(names or (), SubjectKind.CLIENT)
    if preset is None:
        return named or catalogue.usual(HEADLINE), limit
    found = find_preset(preset, NAME)
    there = [name for name in found.subjects if name in catalogue.subjects]
    subjects = named or catalogue.select_of_kind(there, SubjectKind.CLIENT)
    share = parse_scale(scale or "1")
    return found.with_concurrency(subjects), found.scaled_urls(share) if limit is None else limit
