"""Plan a crawl (`bench`): its subjects, URLs, concurrency and blocks."""

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, TypeVar

import httpdyno
from httpdyno.errors import EmptyList, Interrupted, InvalidValue, NothingMeasured, UnknownName, UsageError
from httpdyno.experiments.against import negotiate_web
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY, in_flight_per_core, right_per_core
from httpdyno.experiments.crawl.options import (
    AUTO,
    NAME,
    TIME_S,
    TRIAL_URLS,
    WEB,
    BenchOptions,
    UrlOptions,
    block_count,
)
from httpdyno.experiments.experiment import Beginning, Begun, Experiment, Tell
from httpdyno.experiments.option_fields import stored_options
from httpdyno.experiments.options import WEBS
from httpdyno.experiments.plan import Plan, RepeatingPlan, TimeBudget, usual_repeat
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.judge import find_metric
from httpdyno.judge.comparison import find_rankable
from httpdyno.judge.limit import SATURATED_SHARE, Limit, limited_by, own_cpu_share
from httpdyno.judge.rankable import disturbed
from httpdyno.judge.validity import RULES
from httpdyno.judge.validity.stretch import LEAST_TURNS, Stretch
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.conformance import prove_all
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.lab.planned_time import OVERHEAD_S, PlannedTime, guess_s
from httpdyno.lab.web_answers import Answers, WebAnswers
from httpdyno.model import (
    LIVE,
    Condition,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    TrialPlan,
    Workload,
    counted,
    parse_cpus,
)
from httpdyno.published import find_preset, parse_scale
from httpdyno.store import NotTuned, TunedFor, WebIdentity, describe_machine, find_tuned
from httpdyno.subjects.build import BuildState, build_place, build_subjects
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.preparation import prepare_urls
from httpdyno.urls.source import (
    HOSTS_COUNTED,
    QUICK_LIMIT,
    STANDARD_INPUT,
    UrlFile,
    file_at_origin,
    urls_of_web,
    with_slow_first,
)


def open_urls(engine: Engine, options: UrlOptions, interruption: Interruption, *, piped: bool = False) -> UrlFile:
    """Open the list of URLs.

    ``piped``: if standard input is a pipe or a file, it is a list, too. An empty one is ignored if ``limit`` gives the
    number of URLs of the web, because commands without a terminal inherit such pipes. A signal ends the reading at
    once, because a pipe may stay open forever.
    """
    source = STANDARD_INPUT if options.urls is None and piped and _is_piped() else options.urls
    if options.on_live_web and source is None:
        raise UsageError(
            "--web live: the real internet has no list;"
            " give one with --urls: a file or https://..., of URLs or a table of domains"
        )
    with interruption, interruption.at_once("the list of URLs was being read"):
        listed = None
        if source is not None:
            try:
                listed = prepare_urls(source, limit=options.limit)
            except EmptyList:
                if options.urls is not None or options.limit is None or options.on_live_web:
                    raise
        listed = listed or urls_of_web(engine, web=options.web or WEB, seed=options.seed, limit=options.limit)
        return listed if options.against is None else file_at_origin(listed, options.against)


def _is_piped() -> bool:
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def remark_on(urls: UrlFile, tell: Tell) -> None:
    """Report the unusable lines of a list; raise if no line is usable."""
    if urls.no_urls == urls.count:
        raise NothingMeasured(f"{urls.remark}; nothing was run: give one URL or domain a line")
    if urls.remark:
        tell(urls.remark)


USUAL_DEADLINE_S: Final = 600.0


def quick_deadline_s(planned: PlannedTime, in_flight: int) -> float:
    """Return a deadline for a list that only a stalled client misses, at most the default deadline.

    ``in_flight`` is the smallest concurrency of all clients.
    """
    # 10 ms: twice the largest known time that a client itself needs for a URL.
    list_s = max(planned.total_s / in_flight, planned.urls * 0.01) + planned.longest_s
    # 30 s: the start of a runtime on a busy machine. Deadlines are multiples of 10 s.
    return min(float(ceil((30 + 3 * list_s) / 10) * 10), USUAL_DEADLINE_S)


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

    name: ClassVar[str] = NAME
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
        workload = Workload(self.file, self.timeout_s, self.user_agent, http_version=self.http_version)
        return replace(
            self.base_condition(NAME, workload, self.link, self.concurrency),
            deadline_s=self.deadline_s,
            per_host=self.per_host,
            per_host_interval_s=self.per_host_interval_s,
        )

    def conditions(self) -> tuple[Condition]:
        """Return the grid: a single point."""
        return (self.condition,)

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects in blocks, and repeat those that other programs disturb.

        Trials on the live internet are not repeated: the user has confirmed the number of requests.
        """
        listed = self.listed_blocks(subjects)
        if self.no_again or self.on_live_web:
            return listed
        budget = None if self.time_budget_s is None else TimeBudget(self.time_budget_s, _took_s)
        figure = find_metric(CRAWL_METRICS, RANKED_BY).figure
        return RepeatingPlan(
            listed.trials, listed.settings, seed=self.seed, budget=budget, disturbed=disturbed, figure=figure
        )


def _took_s(trial: Trial) -> float:
    """Return the total seconds of a trial: the wait before it, the client's time, and the rest."""
    own_ns = (trial.summary.time_ns if trial.summary else None) or 0
    return ((trial.cool_down_ns or 0) + own_ns) / 1e9 + OVERHEAD_S


def check_conflicts(options: BenchOptions) -> None:
    """Refuse options that require or exclude the real internet, and options that set the concurrency twice."""
    if options.on_live_web and options.link != "direct":
        raise UsageError("--link conflicts with --web live, which uses a real network; leave one out")
    for flag, value in (("--per-host", options.per_host), ("--per-host-interval", options.per_host_interval_s)):
        if value is not None and not options.on_live_web:
            raise UsageError(f"{flag} requires --web live")
    for flag, given in (("--concurrency", options.concurrency is not None), ("--preset", options.preset is not None)):
        if given and options.saturate:
            raise UsageError(
                f"conflicts with {flag}: both set the concurrency; leave one out", option="--saturate", joint=" "
            )
    if options.saturate and options.on_live_web:
        raise UsageError(
            "conflicts with --web live: it would overload the real internet; choose another web",
            option="--saturate",
            joint=" ",
        )


def live_user_agent(contact: str) -> str:
    """Return the user agent: this program, and the contact if given."""
    contact = contact.strip()
    # Parentheses and backslashes end or change the comment of a user agent (RFC 9110, section 5.6.5).
    if not contact.isascii() or not contact.isprintable() or {*"()\\"} & set(contact):
        raise InvalidValue(
            f"{contact[:60]!r} is not valid in a user agent; give a mail address or a page", option="--contact"
        )
    about = f"HTTP client benchmark; +{contact}" if contact else "HTTP client benchmark"
    return f"httpdyno/{httpdyno.__version__} ({about})"


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
    """The subject with that concurrency of its own; empty if all subjects have the same."""

    def __str__(self) -> str:
        whose = f" ({self.who})" if self.who else ""
        few = "1 URL is" if self.urls == 1 else f"{self.urls:,} URLs are"
        return f"{few} too few for {self.in_flight:,} in flight{whose}: a rate needs {self.needed:,}"

    @property
    def needed(self) -> int:
        """Number of URLs needed."""
        return LEAST_TURNS * self.in_flight

    def refusal(self, source: str | None) -> UsageError:
        """Return the error with its cure; ``source`` is the list that was given whole."""
        where = "--limit" if source is None else f"--urls {source}"
        possible = self.urls // LEAST_TURNS
        instead = f", or a --concurrency of {possible:,} or less" if possible else ""
        return UsageError(f"{self}; give so many{instead}", option=where)


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


def found_for(subject: Subject, place: Place, experiment: Experiment) -> TunedFor:
    """Return the key of a concurrency that ``tune`` found: the subject's version, this machine, the condition."""
    (web,), (condition,) = experiment.webs(), experiment.conditions()
    pinned = place.pinning.subject_cpus
    return TunedFor(
        subject=subject.id,
        fingerprint=build_place(subject, place.cache).fingerprint,
        cpu=describe_machine().cpu,
        cpus=len(os.sched_getaffinity(0) if pinned is None else parse_cpus(pinned)),
        pinned=pinned is not None,
        memory_bytes=condition.memory_bytes,
        link=condition.link_name,
        web=web.name,
        seed=web.seed,
        web_digest=web.digest,
        http_version=condition.workload.http_version,
    )


def options_found_for(experiment: Experiment) -> str:
    """Return the options that identify a concurrency found by ``tune``, each after a space; empty for the defaults."""
    (condition,) = experiment.conditions()
    link, against, version = str(condition.link), condition.against, condition.workload.http_version
    given = {"link": None if link == "direct" else link, "against": against, "http-version": version}
    return "".join(f" --{name} {value}" for name, value in given.items() if value)


def _with_tuned(subjects: Sequence[Subject], beginning: Beginning, crawl: Crawl) -> list[Subject]:
    tuned = []
    for subject in subjects:
        concurrency = subject.concurrency
        found = find_tuned(beginning.place.cache, found_for(subject, beginning.place, crawl))
        if isinstance(found, NotTuned):
            cure = f"httpdyno tune {subject.id}{options_found_for(crawl)} would find the best"
            text = f"{found.reason}: its own concurrency, {concurrency}, is used; {cure}"
        else:
            concurrency = found.concurrency
            text = f"{concurrency} in flight, as found on {found.found_at:%Y-%m-%d}"
        beginning.tell(f"{subject.id}: {text}")
        tuned.append(replace(subject, concurrency=concurrency))
    return tuned


HIGHEST: Final = 1024
"""Maximum concurrency: with more, a client may need more descriptors than the system grants by default."""
_TRIALS: Final = 2


class Saturation(NamedTuple):
    """A concurrency with its reason."""

    concurrency: int
    why: str


def saturation_after(seen: Sequence[Trial], *, highest: int = HIGHEST) -> Saturation:
    """Return the concurrency that saturates the CPUs of a client, according to its trials.

    The first trial, at the client's own concurrency, gives the cost of an answer and, by Little's law, the concurrency
    that saturates its CPUs. The second trial, at that concurrency, gives the share of the CPUs that it used.
    """
    first, last = seen[0], seen[-1]
    own, concurrency = first.concurrency, last.concurrency
    unknown = last.outcome.value if last.outcome is not Outcome.OK else "no CPU time was counted"
    if len(seen) == 1:
        cpus = len(first.counters.subject_cpus) or 1
        per_core, in_flight = right_per_core(first), in_flight_per_core(first)
        if first.outcome is not Outcome.OK or per_core is None or in_flight is None:
            return Saturation(own, f"its own: the cost of an answer is unknown ({unknown})")
        rate = f"{cpus * per_core:,.0f} right answers a second have CPU time, by the cost of an answer at {own:,}"
        return Saturation(min(max(ceil(cpus * in_flight), 1), highest), rate)
    stretch = Stretch.of(last)
    share = own_cpu_share(last, stretch) if stretch else None
    if last.outcome is not Outcome.OK or not share:
        return Saturation(own, f"its own; with {concurrency:,}: {unknown}")
    used = f"with {concurrency:,} it used {100 * share:.0f} % of its CPU time"
    if share >= SATURATED_SHARE or concurrency >= highest:
        return Saturation(concurrency, used)
    if disturbed(last):
        return Saturation(concurrency, f"{used}, but other programs disturbed that")
    if limited_by(last) is Limit.ORIGIN:
        return Saturation(concurrency, f"{used}, and the origin was exhausted")
    # A correction by more than two is due to a trial with another limit.
    return Saturation(min(ceil(concurrency * min(1 / share, 2)), highest), used)


def _with_saturating(
    subjects: Sequence[Subject], crawl: Crawl, urls: UrlFile, options: BenchOptions, beginning: Beginning
) -> list[Subject]:
    """Return the clients, each with the concurrency that saturates its CPUs; clients that cannot run keep their own.

    The short trials that find it have enough URLs of a web for every concurrency, or all URLs of a given list.
    """
    place, stop, tell = beginning.place, beginning.interruption, beginning.tell
    given = options.limit is not None or options.urls is not None or urls.source == STANDARD_INPUT
    # By then, URLs that never answer have freed their slots for a while.
    crawl = replace(crawl, deadline_s=2 * crawl.timeout_s + 2)

    def building(subject: Subject, state: BuildState) -> None:
        if state is BuildState.BUILDING:
            tell(f"{subject.id}: is built")

    found, longest = [], replace(options, limit=LEAST_TURNS * HIGHEST)
    with nullcontext(urls) if given else open_urls(place.engine, longest, stop) as first:
        if short := find_short(first.count, 1, subjects):
            raise short.refusal(urls.source if options.limit is None else None)
        tell(
            f"--saturate: {_TRIALS} short trials of each of {counted(len(subjects), 'client')} find its concurrency "
            f"first, in {crawl.deadline_s:.0f} s at most each"
        )
        with stop:
            built = build_subjects(subjects, place.cache, tell=building, stop=lambda: stop.requested)
            executor = LocalExecutor(place.engine, place.pinning, stop, urls=first.file)
            executor.builds = prove_all(built, place.engine, place.pinning, stop)
            for subject in subjects:
                if executor.builds[subject.id].build is not None:
                    saturation = _find_saturation(subject, executor, crawl, first.count // LEAST_TURNS)
                    tell(f"{subject.id}: {saturation.concurrency:,} in flight: {saturation.why}")
                    subject = replace(subject, concurrency=saturation.concurrency)
                found.append(subject)
    return found


def _find_saturation(subject: Subject, executor: LocalExecutor, crawl: Crawl, highest: int) -> Saturation:
    seen: list[Trial] = []
    saturation = Saturation(min(subject.concurrency, highest), "its own")
    while len(seen) < _TRIALS:
        plan = TrialPlan(len(seen), 0, 0, subject, replace(crawl, concurrency=saturation.concurrency).condition)
        seen.append(executor.run(plan, CRAWL, RULES).trial)
        if executor.interruption.requested:
            raise Interrupted(f"interrupted during the search for the concurrency of {subject.id}")
        saturation = saturation_after(seen, highest=min(highest, HIGHEST))
        if saturation.concurrency == seen[-1].concurrency:
            break
    return saturation


_Options = TypeVar("_Options", bound=UrlOptions)


def begin_bench(beginning: Beginning, names: Sequence[str], options: BenchOptions) -> Begun:
    """Begin the crawls; refuse an unknown ranking metric before anything is built."""
    if options.rank_by is not None:
        try:
            find_rankable(CRAWL_METRICS, options.rank_by)
        except (InvalidValue, UnknownName) as error:
            raise type(error)(error.line, option="--rank-by") from None
    clients, limit = choose_subjects(beginning.catalogue, names, options)
    beginning.install(clients)
    return begin_crawl(beginning, clients, options, limit=limit)


def begin_crawl(
    beginning: Beginning,
    subjects: Sequence[Subject],
    options: BenchOptions,
    *,
    limit: int | None = None,
    piped: bool = False,
) -> Begun:
    """Begin a crawl of at most ``limit`` URLs; without a given number, the list grows as needed.

    ``piped``: piped input is its list, too. A list that is too short is refused if several subjects would be compared.
    """
    engine = beginning.place.engine
    options = settle_against(options, engine, beginning.tell)
    check_conflicts(options)
    with ExitStack() as refused:
        limited = replace(options, limit=options.limit or limit)
        urls = refused.enter_context(open_urls(engine, limited, beginning.interruption, piped=piped))
        remark_on(urls, beginning.tell)
        crawl = _make_crawl(options, urls, engine)
        if options.concurrency == AUTO:
            subjects = _with_tuned(subjects, beginning, crawl)
        if options.saturate:
            subjects = _with_saturating(subjects, crawl, urls, options, beginning)
        short = None if options.on_live_web else find_short(urls.count, crawl.concurrency, subjects)
        if short:
            longer = _longer(short, urls, options, beginning)
            if longer is not None:
                urls.file.close()
                urls = refused.enter_context(longer)
                crawl = replace(crawl, file=urls.file.path)
            elif len(subjects) > 1:
                raise short.refusal(urls.source if options.limit is None else None)
            alone = f"no rate is computed for {counted(short.urls, 'URL')}; it needs {short.needed:,}"
            beginning.tell(f"{short}; {urls.count:,} are used" if longer else alone)
        # A published list, or a list for the real internet, is not changed.
        if not crawl.on_live_web and crawl.preset is None:
            # In the five minutes and more of a longer list, a timeout at the end is nothing.
            if urls.count <= 100_000:
                slow = compute_answers(crawl.condition, urls, beginning).planned.slow
                urls = refused.enter_context(with_slow_first(urls, slow, timeout_s=crawl.timeout_s))
                crawl = replace(crawl, file=urls.file.path)
            crawl = _in_time(crawl, urls, subjects, beginning, given_s=options.deadline_s)
        refused.pop_all()
    return Begun(crawl, subjects, urls)


def compute_answers(condition: Condition, urls: UrlFile, beginning: Beginning) -> Answers:
    """Compute the answers of a condition's web to a list."""
    return WebAnswers(beginning.place.engine, beginning.interruption).of(condition, urls.file)


def _in_time(
    crawl: Crawl, urls: UrlFile, subjects: Sequence[Subject], beginning: Beginning, *, given_s: float | None
) -> Crawl:
    """Set the number of blocks, or the deadline of ``--quick``, unless they are given; ``given_s`` is a deadline."""
    if not crawl.quick:
        if crawl.repeat is not None:
            return crawl
        # A list of the user gets all of its blocks, and no fewer than any experiment.
        least, budget_s = (0, TIME_S) if urls.source is None else (usual_repeat(len(subjects)), None)
        planned = compute_answers(crawl.condition, urls, beginning).planned
        trials_s = (guess_s(TrialPlan(0, 0, 0, subject, crawl.condition), planned) for subject in subjects)
        return replace(crawl, repeat=block_count(trials_s, least=least), time_budget_s=budget_s)
    # The web's planned times do not include a link or a distance.
    if given_s is not None or crawl.against is not None or crawl.link != "direct":
        return crawl
    # The deadline depends little on the subjects: it is a setting of runs that are compared.
    least = min(crawl.condition.concurrency or subject.concurrency for subject in subjects)
    deadline_s = quick_deadline_s(compute_answers(crawl.condition, urls, beginning).planned, min(least, 10))
    beginning.tell(f"--quick: trials end after {deadline_s:.0f} s; --duration sets another time")
    return replace(crawl, deadline_s=deadline_s)


def _longer(short: ShortList, urls: UrlFile, options: BenchOptions, beginning: Beginning) -> UrlFile | None:
    """Open as many URLs as needed, if no number was given and the web has them."""
    if options.limit is None and urls.source != STANDARD_INPUT:
        longer = open_urls(beginning.place.engine, replace(options, limit=short.needed), beginning.interruption)
        if longer.count == short.needed:
            return longer
        longer.file.close()
    return None


def _make_crawl(options: BenchOptions, urls: UrlFile, engine: Engine) -> Crawl:
    name, seed = options.web or WEB, options.seed
    web = engine.web(name, seed=seed) if name != LIVE else WebIdentity(LIVE, 1 if seed is None else seed, None)
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


def settle_against(options: _Options, engine: Engine, tell: Tell) -> _Options:
    """Identify another machine's origin; without a named web, use the origin's.

    Options without ``against`` are returned unchanged.
    """
    if options.against is None:
        return options
    there = negotiate_web(options.against, engine, tell, web=options.web, seed=options.seed, link=options.link)
    return replace(options, against=there.url, web=there.web, seed=there.seed)


def choose_subjects(
    catalogue: Catalogue, names: Sequence[str] | None, options: BenchOptions
) -> tuple[tuple[Subject, ...], int | None]:
    """Choose subjects and a number of URLs: the named, else the preset's, else the default clients; or every client.

    Without ``--limit`` the number is that of the preset, of ``--quick`` or of a web; None: all of a list.
    """
    preset, scale, limit = options.preset, options.scale, options.limit
    if options.every and (names or preset is not None):
        raise UsageError(
            f"--all conflicts with {'a SUBJECT' if names else '--preset'}: both choose the clients; give one of them"
        )
    if preset is None and scale is not None:
        raise UsageError("--scale requires --preset; give one, or --limit instead")
    if scale is not None and limit is not None:
        raise UsageError(
            "conflicts with --scale: both set the number of URLs; leave one out", option="--limit", joint=" "
        )
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
