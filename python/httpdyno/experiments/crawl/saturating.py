"""Finds by two short trials each at which concurrency clients use their CPUs up (``bench --saturate``)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.errors import Interrupted, UsageError
from httpdyno.experiments.beginning import Beginning
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.options import BenchOptions
from httpdyno.experiments.crawl.saturation import HIGHEST, TRIALS, Saturation, saturation_after
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.proof import prove_all
from httpdyno.model import Subject, Trial, TrialPlan, counted
from httpdyno.subjects.build import BuildEvent, BuildState, build_subjects
from httpdyno.urls.source import UrlFile

__all__ = ["FIRST_URLS", "check_saturate", "saturated"]

FIRST_URLS: Final = LEAST_TURNS * HIGHEST
"""So many are enough for every concurrency that is tried."""
_TIMEOUTS: Final = 2
_BEYOND_TIMEOUTS_S: Final = 2
"""A trial lasts two timeouts and two seconds: URLs that never answer have then given their places back for a while."""


def check_saturate(options: BenchOptions) -> None:
    """Refuse what says how many requests are in flight, too."""
    if not options.saturate:
        return
    beside = {"--concurrency": options.concurrency, "--preset": options.preset}
    if said := next((flag for flag, value in beside.items() if value is not None), None):
        raise UsageError(f"--saturate: {said} says how many requests are in flight, too; leave one of the two out")
    if options.on_live_web:
        raise UsageError("--saturate: that sends far too much to the real internet; take a web of ours")


def saturated(subjects: Sequence[Subject], crawl: Crawl, urls: UrlFile, beginning: Beginning) -> list[Subject]:
    """Return the clients, each with the concurrency at which it uses its CPUs up; who cannot run keeps its own.

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
            raise Interrupted(f"interrupted while the concurrency of {subject.id} was looked for")
        seen.append(judged.trial)
        saturation = saturation_after(seen, highest=min(highest, HIGHEST))
        if saturation.concurrency == seen[-1].concurrency:
            break
    return saturation
