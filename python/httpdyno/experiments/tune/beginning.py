"""Begins a search: of whose concurrency, on which list, and for how long a trial lasts."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.beginning import Beginning, Begun, Tell
from httpdyno.experiments.crawl.asked_urls import open_urls, remark_on
from httpdyno.experiments.crawl.beginning import lasting_web, settle_against
from httpdyno.experiments.crawl.options import WEB
from httpdyno.experiments.crawl.short_list import find_short
from httpdyno.experiments.options import stored_options
from httpdyno.experiments.tune.list_size import SAMPLED, urls_needed
from httpdyno.experiments.tune.options import TuneOptions
from httpdyno.experiments.tune.tune import Tune
from httpdyno.experiments.tune.tuning import HIGHEST, MOST_TRIALS, QUICK_TRIALS
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Subject, SubjectKind
from httpdyno.urls.source import UrlFile

__all__ = ["begin_search"]

_TIMEOUTS: Final = 2
_QUICK_TIMEOUTS: Final = 1
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""


def begin_search(beginning: Beginning, names: Sequence[str], options: TuneOptions) -> Begun:
    """Begin the search that is asked for."""
    if not names:
        raise UsageError("tune: name the SUBJECT whose concurrency is to be found, such as go-net-http")
    subjects = beginning.catalogue.select_of_kind(names, SubjectKind.CLIENT)
    beginning.install(subjects)
    if options.on_live_web:
        raise UsageError("tune: a search sends far too much to the real internet; tune on a web of ours")
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
