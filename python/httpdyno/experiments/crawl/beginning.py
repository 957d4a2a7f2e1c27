"""Begins a crawl: who is measured, on which list, and what was not said made definite."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from httpdyno.errors import InvalidValue, UnknownName, UsageError
from httpdyno.experiments.against import agreed, refuse_beside
from httpdyno.experiments.beginning import Beginning, Begun, Tell
from httpdyno.experiments.crawl.asked_urls import open_urls, remark_on
from httpdyno.experiments.crawl.budget import TIME_S, TRIAL_URLS, block_count
from httpdyno.experiments.crawl.crawl import HEADLINE, Crawl
from httpdyno.experiments.crawl.deadline import USUAL_DEADLINE_S, quick_deadline_s
from httpdyno.experiments.crawl.live import check_live, live_user_agent
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.options import AUTO, NAME, WEB, AskedUrls, BenchOptions
from httpdyno.experiments.crawl.saturating import FIRST_URLS, check_saturate, saturated
from httpdyno.experiments.crawl.short_list import ShortList, find_short
from httpdyno.experiments.crawl.tuned import with_tuned
from httpdyno.experiments.options import WEBS, stored_options
from httpdyno.experiments.schedule import usual_repeat
from httpdyno.judge.comparison import find_rankable
from httpdyno.lab.engine import Engine, ServedWeb
from httpdyno.lab.planned_time import guess_s
from httpdyno.lab.web_answers import Answers, WebAnswers
from httpdyno.model import LIVE, Subject, SubjectKind, TrialPlan
from httpdyno.published import find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.source import QUICK_LIMIT, STANDARD_INPUT, UrlFile, with_slow_first

__all__ = ["begin_bench", "begin_crawl", "choose_subjects", "lasting_web", "settle_against"]

_FEW_IN_FLIGHT: Final = 10
_LONGEST_REORDERED: Final = 100_000
"""A longer list keeps its order: of its five minutes and more, a timeout at the end is nothing."""
_Asked = TypeVar("_Asked", bound=AskedUrls)


def begin_bench(beginning: Beginning, names: Sequence[str], options: BenchOptions) -> Begun:
    """Begin the crawls that are asked for; refuse an unknown figure to rank by before anything is built."""
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
    """Begin a crawl of at most ``limit`` URLs, which lengthens itself where nobody said how many.

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
    """Open as many URLs as are needed, where nobody said how many and there are so many."""
    if options.limit is not None or urls.source == STANDARD_INPUT:
        return None
    longer = open_urls(beginning.place.engine, replace(options, limit=short.needed), beginning.interruption)
    if longer.count == short.needed:
        return longer
    longer.file.close()
    return None


def _make_crawl(options: BenchOptions, urls: UrlFile, engine: Engine) -> Crawl:
    """Make the crawl that is asked for; the engine says which seed a web has of its own."""
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
    """Return the path of a web's model such that it is found from everywhere, as a run may be resumed there."""
    return str(Path(web).absolute()) if web not in {*WEBS, LIVE} and Path(web).is_file() else web


def settle_against(options: _Asked, engine: Engine, tell: Tell) -> _Asked:
    """Ask another machine's origin who it is; where no web was named here, its own is taken.

    Options without ``against`` come back as they are.
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
        raise UsageError(f"--all: {'a SUBJECT' if names else '--preset'} says who is measured, too; give one of them")
    if preset is None and scale is not None:
        raise UsageError("--scale: there is nothing to take a share of; give a --preset, too, or --limit instead")
    if scale is not None and limit is not None:
        raise UsageError("--limit: --scale says how many URLs, too; leave one of the two out")
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
