"""The crawl (``bench``)."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.crawl.options import NAME
from httpdyno.experiments.crawl.plan import Crawl, begin_bench, sent
from httpdyno.experiments.crawl.present import PRESENTATION
from httpdyno.experiments.definition import Definition, Planning
from httpdyno.experiments.experiment import Experiment
from httpdyno.urls.source import UrlFile

__all__ = ["DEFINITION"]


class _CrawlPlanning(Planning):
    __slots__ = ()

    def traffic(self, experiment: Experiment, urls: UrlFile, trials: int) -> Sequence[str]:
        """Describe the requests that go out, to how many hosts, and under which name."""
        assert isinstance(experiment, Crawl), "the run of another experiment"
        return sent(experiment, urls, trials)


DEFINITION: Final = Definition(
    NAME,
    "Which client fetches a list of URLs fastest, and how many of them does it get right?",
    PRESENTATION,
    _CrawlPlanning(begin_bench, Crawl.restore),
)
