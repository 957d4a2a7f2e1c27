"""The crawl (``bench``)."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.crawl.options import NAME
from httpdyno.experiments.crawl.plan import Crawl, begin_bench, traffic_lines
from httpdyno.experiments.crawl.present import PRESENTATION
from httpdyno.experiments.definition import Definition, Planning
from httpdyno.experiments.experiment import Experiment
from httpdyno.urls.source import UrlFile, count_hosts


class _CrawlPlanning(Planning):
    __slots__ = ()

    def traffic(self, experiment: Experiment, urls: UrlFile, trials: int) -> Sequence[str]:
        assert isinstance(experiment, Crawl), "the run of another experiment"
        with urls.file.path.open("rb") as lines:
            hosts = count_hosts(lines)
        return traffic_lines(trials, urls.count, hosts, experiment.per_host, experiment.user_agent)


DEFINITION: Final = Definition(
    NAME,
    "Which client fetches a list of URLs fastest, and how many results are right?",
    PRESENTATION,
    _CrawlPlanning(begin_bench, Crawl.restore),
)
